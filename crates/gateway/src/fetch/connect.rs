//! Connections to servers.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::url::FetchServer;

/// A byte stream of any transport.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Connection for S {}

/// Connects to a server, over TLS for https. The caller sets the timeout.
pub(super) async fn connect(
    server: &FetchServer,
    tls: Option<&Arc<ClientConfig>>,
) -> io::Result<Box<dyn Connection>> {
    match server {
        FetchServer::Https { host, port } => {
            let tls = tls.ok_or_else(|| io::Error::other("the client was made without TLS"))?;
            let name = ServerName::try_from(host.clone())
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
            Ok(Box::new(stream))
        }
        FetchServer::Loopback { host, port } => Ok(Box::new(connect_loopback(host, *port).await?)),
        #[cfg(unix)]
        FetchServer::Unix(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
        #[cfg(not(unix))]
        FetchServer::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Connects to a loopback address of a name. Other addresses, which `localhost` may have in an
/// unusual configuration, are not tried.
async fn connect_loopback(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no loopback address");
    for address in lookup_host((host, port)).await? {
        if !address.ip().is_loopback() {
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
