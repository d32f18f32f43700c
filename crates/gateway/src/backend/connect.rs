//! Opens connections to a server.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::connection::{BACKEND_CONNECTION, Connection, Driver};
use crate::config::{BackendConfig, Origin};
use crate::fetch::{TrustError, client_config};
use crate::tls_error::ConnectionFault;

/// How often an HTTP/2 connection in use is pinged, and how long the reply may take. Without pings,
/// a connection that died silently would hold up all requests on it.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to one server.
#[derive(Debug)]
pub(crate) struct Connector {
    origin: Origin,
    is_http2: bool,
    timeout: Duration,
    tls: Option<Tls>,
}

/// The TLS client configuration of a backend, or the error that prevents TLS, which was reported
/// when the configuration was read. Certificate authorities are read once, and clones share them.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient(Arc<Result<Arc<ClientConfig>, TrustError>>);

impl TlsClient {
    /// Creates the TLS client of a backend, if any of its servers speaks TLS.
    pub(crate) fn for_backend(config: &BackendConfig) -> Option<Self> {
        config.instances.iter().any(Origin::is_tls).then(|| Self::new(config))
    }

    fn new(config: &BackendConfig) -> Self {
        let client =
            client_config(config.authorities.as_ref(), config.certificate.as_ref()).map(|client| {
                let protocol = if config.is_http2 { &b"h2"[..] } else { b"http/1.1" };
                let mut client = (*client).clone();
                client.alpn_protocols = vec![protocol.to_vec()];
                Arc::new(client)
            });
        Self(Arc::new(client))
    }

    /// The number of clones.
    #[cfg(test)]
    pub(crate) fn clones(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

/// The TLS client and name of one server.
#[derive(Debug)]
struct Tls {
    client: TlsClient,
    name: Option<ServerName<'static>>,
}

impl Connector {
    pub(super) fn new(origin: &Origin, config: &BackendConfig, tls: Option<&TlsClient>) -> Self {
        let timeout = config.timeouts.connect;
        let is_http2 = config.is_http2;
        let tls = tls.filter(|_| origin.is_tls()).map(|client| Tls::new(origin, client));
        Self { origin: origin.clone(), is_http2, timeout, tls }
    }

    /// Whether connections speak HTTP/2, so that one carries many requests.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// How long connecting may take.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// If the server cannot be reached, or takes too long.
    pub(super) async fn connect(&self) -> Result<Connection, ConnectError> {
        let opened = match tokio::time::timeout(self.timeout, self.open()).await {
            Ok(opened) => opened,
            Err(_elapsed) => Err(ConnectError::Timeout(self.timeout)),
        };
        let server = self.origin.authority();
        match &opened {
            Ok(_) => tracing::debug!(%server, "a connection to a server is open"),
            Err(error) => tracing::debug!(%server, %error, "a server cannot be connected to"),
        }
        opened
    }

    async fn open(&self) -> Result<Connection, ConnectError> {
        let address = (self.origin.host(), self.origin.port());
        let stream = TcpStream::connect(address).await.map_err(ConnectError::Io)?;
        // Requests are written whole, so Nagle's algorithm would only delay them.
        stream.set_nodelay(true).map_err(ConnectError::Io)?;
        match &self.tls {
            None => self.speak(stream).await,
            Some(tls) => self.speak(tls.connect(stream).await.map_err(ConnectError::Io)?).await,
        }
    }

    async fn speak<S>(&self, stream: S) -> Result<Connection, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = TokioIo::new(stream);
        if self.is_http2 {
            let handshake = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .keep_alive_interval(PING_INTERVAL)
                .keep_alive_timeout(PING_TIMEOUT)
                .handshake(io)
                .await;
            let (sender, connection) = handshake.map_err(ConnectError::Protocol)?;
            let server = self.origin.to_string();
            tokio::spawn(BACKEND_CONNECTION.observe(&*server, connection));
            return Ok(Connection::http2(sender));
        }
        let handshake = http1::handshake(io).await;
        let (sender, connection) = handshake.map_err(ConnectError::Protocol)?;
        let server = self.origin.authority().clone();
        let driver = Driver::new(async move {
            // The sender of the request or the reader of its answer gets the error.
            let ended = connection.with_upgrades().await;
            tracing::debug!(%server, error = ended.err().map(display), "a connection to a server has ended");
        });
        Ok(Connection::http1(sender, driver))
    }
}

impl Tls {
    fn new(origin: &Origin, client: &TlsClient) -> Self {
        Self { client: client.clone(), name: ServerName::try_from(origin.host().to_owned()).ok() }
    }

    async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let client = self.client.0.as_ref().as_ref();
        let client = client.map_err(|error| io::Error::other(error.to_string()))?;
        let name = self.name.clone();
        let name = name.ok_or_else(|| io::Error::other("its name cannot be in a certificate"))?;
        TlsConnector::from(client.clone()).connect(name, stream).await
    }
}

/// Why a server cannot be connected to.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Io(io::Error),
    Protocol(hyper::Error),
    Timeout(Duration),
    /// All permitted connections to the server are in use.
    Busy(Duration),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => {
                write!(formatter, "it cannot be reached: {}", ConnectionFault(error))
            }
            Self::Protocol(error) => write!(formatter, "it does not speak HTTP: {error}"),
            Self::Busy(timeout) => {
                write!(formatter, "none of its connections was free within {timeout:?}")
            }
            Self::Timeout(timeout) => {
                write!(formatter, "it did not accept a connection within {timeout:?}")
            }
        }
    }
}
