//! `respond SERVER FOLDER ADDRESS [CERTIFICATE KEY]` answers requests for `/KIND/KILOBYTES` until
//! it is ended. SERVER is `weir` or `hyper`; FOLDER holds the files that are sent.

use std::error::Error;

use contenders::respond::{Bodies, hyper, weir};
use weir_net::socket::{Address, BindOptions, TlsFiles};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, folder, address, tls @ ..] = arguments.as_slice() else {
        return Err("usage: respond SERVER FOLDER ADDRESS [CERTIFICATE KEY]".into());
    };
    let address: Address = address.parse()?;
    let tls = match tls {
        [certificate, key] => Some(TlsFiles { certificate: certificate.into(), key: key.into() }),
        _ => None,
    };
    let options = BindOptions { tls, ..BindOptions::default() };
    let bodies = Bodies::new(folder.into())?;
    match &server[..] {
        "weir" => weir(&address, &options, bodies).await?,
        "hyper" => hyper(&address, &options, bodies).await?,
        _ => return Err(format!("`{server}` is not a server: it is `weir` or `hyper`").into()),
    }
    Ok(())
}
