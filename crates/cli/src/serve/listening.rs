//! Listening at the addresses of the page.

use weir_server::{AccessToken, Address, BindError, Server, ServerOptions, StartError};

use crate::options::{default_address, reachable};
use crate::outcome::Failure;

/// Listens at the given addresses. Without any, listens at the default port, or at a free one if
/// that is in use. If other machines can reach an address and the options have no token, a new one
/// is made and returned. The token is made before listening, because a socket that another process
/// passed cannot be taken twice.
pub(super) async fn bind(
    requested: Vec<Address>,
    options: ServerOptions,
) -> Result<(Server, Option<AccessToken>), Failure> {
    let is_default = requested.is_empty();
    let listen = if is_default { vec![default_address()] } else { requested };
    let mut options = ServerOptions { listen, ..options };
    let has_no_token = options.token.is_none();
    if has_no_token {
        options.public_token = Some(AccessToken::random().map_err(Failure::new)?);
    }
    let mut bound = Server::bind(options.clone()).await;
    if is_default && bound.as_ref().is_err_and(StartError::is_address_in_use) {
        options.listen = vec![Address::Tcp("127.0.0.1:0".to_owned())];
        bound = Server::bind(options).await;
    }
    let server = bound.map_err(|error| cannot_listen(&error))?;
    let new_token = server.token().filter(|_| has_no_token).cloned();
    Ok((server, new_token))
}

/// Describes why the page cannot be served, and what to do.
fn cannot_listen(error: &StartError) -> Failure {
    let remedy = match error {
        StartError::Insecure(address) => {
            let address = address.to_string();
            let port = address.rsplit(':').next().unwrap_or_default();
            format!(
                ". Write tls://HOST:{port} with --tls-cert and --tls-key, or with --tls-self-signed; or listen on \
                 127.0.0.1:{port}, and forward the port from another machine with `ssh -L \
                 {port}:127.0.0.1:{port} SERVER` or put a reverse proxy with a log-in in front of it \
                 and name its address with --public-url; or allow it with --insecure-http"
            )
        }
        StartError::Bind(BindError::NoCertificate(_)) => {
            "; name its files with --tls-cert and --tls-key, or make one with --tls-self-signed"
                .to_owned()
        }
        _ => String::new(),
    };
    Failure::new(format_args!("--listen: {error}{remedy}"))
}

/// The beginning of the page's address on a socket; the path of a Unix socket.
pub(super) fn origin(address: &Address) -> String {
    match address {
        Address::Tcp(host) => format!("http://{}", reachable(host)),
        Address::Tls(host) => format!("https://{}", reachable(host)),
        address => address.to_string(),
    }
}
