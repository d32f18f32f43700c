//! Opens connections to a server.

use std::fmt;
use std::io;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::pool::Sender;
use crate::config::{BackendConfig, Origin};

/// What is needed to connect to one server.
#[derive(Debug)]
pub(crate) struct Connector {
    origin: Origin,
    is_http2: bool,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(origin: &Origin, config: &BackendConfig) -> Self {
        let timeout = config.timeouts.connect;
        Self { origin: origin.clone(), is_http2: config.is_http2, timeout }
    }

    /// Opens a connection. The task that drives it runs until either side closes it.
    ///
    /// # Errors
    /// If the server cannot be reached, or takes too long.
    pub(super) async fn connect(&self) -> Result<Sender, ConnectError> {
        match tokio::time::timeout(self.timeout, self.open()).await {
            Ok(opened) => opened,
            Err(_elapsed) => Err(ConnectError::Timeout(self.timeout)),
        }
    }

    async fn open(&self) -> Result<Sender, ConnectError> {
        let address = (self.origin.host(), self.origin.port());
        let stream = TcpStream::connect(address).await.map_err(ConnectError::Io)?;
        // Requests are written whole, so waiting for more to write only delays them.
        stream.set_nodelay(true).map_err(ConnectError::Io)?;
        let io = TokioIo::new(stream);
        if self.is_http2 {
            let handshake = http2::handshake(TokioExecutor::new(), io).await;
            let (sender, connection) = handshake.map_err(ConnectError::Protocol)?;
            tokio::spawn(connection);
            return Ok(Sender::Http2(sender));
        }
        let handshake = http1::handshake(io).await;
        let (sender, connection) = handshake.map_err(ConnectError::Protocol)?;
        tokio::spawn(connection.with_upgrades());
        Ok(Sender::Http1(sender))
    }
}

/// Why a server cannot be connected to.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Io(io::Error),
    Protocol(hyper::Error),
    Timeout(Duration),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "it cannot be reached: {error}"),
            Self::Protocol(error) => write!(formatter, "it does not speak HTTP: {error}"),
            Self::Timeout(timeout) => {
                write!(formatter, "it did not accept a connection within {timeout:?}")
            }
        }
    }
}
