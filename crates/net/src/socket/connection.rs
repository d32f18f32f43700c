//! An accepted connection, before its TLS handshake.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio_rustls::TlsAcceptor;

use super::peer::Peer;
use super::proxy_protocol::ProxyProtocol;
use super::stream::SocketStream;
use super::tls::Acceptors;
use crate::scheme::Scheme;

/// An accepted connection. Its TLS handshake, if its listener is TLS, has not begun.
pub struct Connection {
    stream: SocketStream,
    peer: Peer,
    tls: Option<Acceptors>,
    /// Set until the header of the proxy is read.
    proxy_protocol: Option<ProxyProtocol>,
}

impl Connection {
    pub(crate) fn new(
        stream: SocketStream,
        peer: Peer,
        tls: Option<Acceptors>,
        proxy_protocol: Option<ProxyProtocol>,
    ) -> Self {
        Self { stream, peer, tls, proxy_protocol }
    }

    /// The connection, so that the runtime whose context this is wakes its tasks, in place of the runtime that
    /// has accepted it.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub(crate) fn into_this_runtime(self) -> io::Result<Self> {
        Ok(Self { stream: self.stream.into_this_runtime()?, ..self })
    }

    /// Whether a proxy has yet to say who the client is.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.proxy_protocol.is_some()
    }

    /// The connection with the client that its proxy names, if it comes from one; `None` if it has to be
    /// closed. Await it outside the accept loop, because a proxy may take some seconds.
    pub(crate) async fn identified(mut self) -> Option<Self> {
        if let Some(protocol) = self.proxy_protocol.take() {
            self.peer = protocol.client(&mut self.stream, self.peer).await?;
        }
        Some(self)
    }

    /// Its stream and client, if nothing has to be said before the first request: no header of a proxy, no
    /// TLS.
    pub(crate) fn into_open(self) -> Result<(SocketStream, Peer), Box<Self>> {
        match self.is_anonymous() || self.tls.is_some() {
            true => Err(Box::new(self)),
            false => Ok((self.stream, self.peer)),
        }
    }

    /// The client; the proxy until its header is read.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// The scheme of its URLs.
    pub(crate) fn scheme(&self) -> Scheme {
        if self.tls.is_some() { Scheme::Https } else { Scheme::Http }
    }

    /// Runs the TLS handshake, if the listener is TLS, and returns the stream. Await it outside
    /// the accept loop, because a client may take all of `handshake_timeout`.
    ///
    /// # Errors
    /// If the client does not speak TLS, no common version or cipher exists, or the handshake
    /// takes longer than `handshake_timeout`. Never without TLS.
    pub async fn open(
        self,
        handshake_timeout: Duration,
    ) -> Result<SocketStream, TlsHandshakeError> {
        self.open_by(|tls| &tls.any, handshake_timeout).await
    }

    /// Like [`open`](Self::open), for a server that speaks both versions of HTTP: over TLS the client
    /// chooses HTTP/1.1 or HTTP/2 (RFC 9113 section 3.2), by default the former.
    pub(crate) async fn open_http(
        self,
        handshake_timeout: Duration,
    ) -> Result<SocketStream, TlsHandshakeError> {
        self.open_by(|tls| &tls.http, handshake_timeout).await
    }

    async fn open_by(
        self,
        acceptor: fn(&Acceptors) -> &TlsAcceptor,
        handshake_timeout: Duration,
    ) -> Result<SocketStream, TlsHandshakeError> {
        let (tcp, tls) = match (self.stream, self.tls) {
            (SocketStream::Tcp(tcp), Some(tls)) => (tcp, tls),
            (stream, _) => return Ok(stream),
        };
        let handshake = acceptor(&tls).accept(tcp);
        let handshake = tokio::time::timeout(handshake_timeout, handshake).await;
        let stream = handshake.map_err(|_| TlsHandshakeError::TimedOut)?;
        Ok(SocketStream::Tls(Box::new(stream.map_err(TlsHandshakeError::Failed)?)))
    }

    /// Closes the connection with a line of text that says why, if the client can read it: a
    /// TLS client gets none, and neither does one whose buffer is full.
    pub fn refuse(self, line: &str) {
        if self.tls.is_some() {
            return;
        }
        // The write must not wait; a client that cannot take a line sees the connection close.
        let _ = match &self.stream {
            SocketStream::Tcp(stream) => stream.try_write(line.as_bytes()),
            #[cfg(unix)]
            SocketStream::Unix(stream) => stream.try_write(line.as_bytes()),
            SocketStream::Tls(_) => Ok(0),
        };
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("peer", &self.peer)
            .field("is_tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a TLS handshake failed.
#[derive(Debug)]
pub enum TlsHandshakeError {
    /// It took too long.
    TimedOut,
    /// The client does not speak TLS, or does not accept what the server offers.
    Failed(io::Error),
}

impl fmt::Display for TlsHandshakeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => formatter.write_str("the TLS handshake timed out"),
            Self::Failed(error) => write!(formatter, "the TLS handshake failed: {error}"),
        }
    }
}

impl std::error::Error for TlsHandshakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TimedOut => None,
            Self::Failed(error) => Some(error),
        }
    }
}
