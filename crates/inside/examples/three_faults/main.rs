//! A service with three faults to find with the pages of `--admin`; docs/profiling.md explains how.
//!
//!     cargo run --release -p weir-inside --example three_faults
//!     cargo run --release -p weir-inside --example three_faults -- --mended cache,log,socket

mod service;

use std::error::Error;

use service::{Faults, Service, clients};
use tokio::net::TcpListener;
use weir_inside::{AdminServer, Inside};

const USAGE: &str = "usage: three_faults [--admin ADDRESS] [--mended cache,log,socket]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut admin, mut faults) = ("127.0.0.1:9464".to_owned(), Faults::ALL);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match name.as_str() {
            "--admin" => admin = value,
            "--mended" => faults = faults.without(&value).ok_or(USAGE)?,
            _ => return Err(USAGE.into()),
        }
    }
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let service = Service::new(faults);
        let server = AdminServer::bind(&admin.parse()?, None, Default::default()).await?;
        let link = server.address().to_string().replacen("tcp://", "http://", 1);
        println!("a look inside at {link}; Ctrl-C ends it");
        let inside = Inside::default();
        inside.add(service.clone());
        runtime.spawn(service.serve(listener));
        let _clients = clients::start(address)?;
        let end = async {
            // If there is no signal handler, the service runs until it is killed.
            let _ = tokio::signal::ctrl_c().await;
        };
        server.serve(inside, end).await;
        Ok(())
    })
}
