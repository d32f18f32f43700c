//! An accepted connection, before its TLS handshake.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::handshake_error::TlsHandshakeError;
use super::peer::Peer;
use super::proxy_protocol::ProxyProtocol;
use super::stream::SocketStream;
use super::tls::{AcceptorPair, Acceptors};
use crate::scheme::Scheme;

/// An accepted connection. If its listener uses TLS, the handshake has not begun.
pub struct Connection {
    stream: SocketStream,
    peer: Peer,
    tls: Option<Acceptors>,
    /// Set until the PROXY header is read.
    proxy_protocol: Option<ProxyProtocol>,
    has_http2_prior_knowledge: bool,
}

impl Connection {
    pub(crate) fn new(
        stream: SocketStream,
        peer: Peer,
        tls: Option<Acceptors>,
        proxy_protocol: Option<ProxyProtocol>,
    ) -> Self {
        Self { stream, peer, tls, proxy_protocol, has_http2_prior_knowledge: false }
    }

    pub(crate) fn with_http2_prior_knowledge(self, has_http2_prior_knowledge: bool) -> Self {
        Self { has_http2_prior_knowledge, ..self }
    }

    /// Whether the client speaks HTTP/2 although no handshake chooses it.
    pub(crate) fn has_http2_prior_knowledge(&self) -> bool {
        self.has_http2_prior_knowledge
    }

    /// Moves the connection from the tokio runtime that accepted it to the current one.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub(crate) fn into_current_runtime(self) -> io::Result<Self> {
        Ok(Self { stream: self.stream.into_current_runtime()?, ..self })
    }

    /// Whether the client is unknown because the PROXY header is not read yet.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.proxy_protocol.is_some()
    }

    /// Reads the PROXY header, if one is due, and returns the connection with its client. Returns
    /// `None` if the connection must be closed. Await it outside the accept loop, because a proxy
    /// may take some seconds.
    pub(crate) async fn identify(mut self) -> Option<Self> {
        if let Some(protocol) = self.proxy_protocol.take() {
            self.peer = protocol.read_client(&mut self.stream, self.peer).await?;
        }
        Some(self)
    }

    /// Returns the stream and the client if a first request of HTTP/1 may follow at once: without
    /// TLS and without a PROXY header.
    pub(crate) fn into_plain(self) -> Result<(SocketStream, Peer), Box<Self>> {
        match self.is_anonymous() || self.tls.is_some() || self.has_http2_prior_knowledge {
            true => Err(Box::new(self)),
            false => Ok((self.stream, self.peer)),
        }
    }

    /// Returns the client, or the proxy until its PROXY header is read.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Returns the scheme of the connection's URLs.
    pub(crate) fn scheme(&self) -> Scheme {
        if self.tls.is_some() { Scheme::Https } else { Scheme::Http }
    }

    /// Performs the TLS handshake, if the listener uses TLS, and returns the stream. Await it
    /// outside the accept loop, because a client may take all of `handshake_timeout`.
    ///
    /// # Errors
    /// If the client does not speak TLS, if there is no common version or cipher, or if the
    /// handshake takes longer than `handshake_timeout`. Never without TLS.
    pub async fn open(
        self,
        handshake_timeout: Duration,
    ) -> Result<SocketStream, TlsHandshakeError> {
        self.open_with(|tls| tls.any, handshake_timeout).await
    }

    /// Like [`open`](Self::open), for an HTTP server: over TLS the client chooses HTTP/1.1 or
    /// HTTP/2 (RFC 9113 section 3.2). Without a choice it is HTTP/1.1.
    pub(crate) async fn open_http(
        self,
        handshake_timeout: Duration,
    ) -> Result<SocketStream, OpenHttpError> {
        let deadline = Instant::now() + handshake_timeout;
        if let (SocketStream::Tcp(tcp), Some(_)) = (&self.stream, &self.tls) {
            let is_plain_http = tokio::time::timeout_at(deadline, begins_plain_http(tcp)).await;
            if is_plain_http.map_err(|_| OpenHttpError::Tls(TlsHandshakeError::TimedOut))? {
                return Err(OpenHttpError::Plain(self.stream));
            }
        }
        let timeout = deadline.saturating_duration_since(Instant::now());
        self.open_with(|tls| tls.http, timeout).await.map_err(OpenHttpError::Tls)
    }

    async fn open_with(
        self,
        acceptor: fn(AcceptorPair) -> TlsAcceptor,
        handshake_timeout: Duration,
    ) -> Result<SocketStream, TlsHandshakeError> {
        let (tcp, tls) = match (self.stream, self.tls) {
            (SocketStream::Tcp(tcp), Some(tls)) => (tcp, tls),
            (stream, _) => return Ok(stream),
        };
        let handshake = acceptor(tls.current()).accept(tcp).into_fallible();
        let opened = tokio::time::timeout(handshake_timeout, handshake).await;
        match opened.map_err(|_| TlsHandshakeError::TimedOut)? {
            Ok(stream) => Ok(SocketStream::Tls(Box::new(stream))),
            Err((error, tcp)) => {
                let error = TlsHandshakeError::Failed(error);
                if error.is_of_client_certificate() {
                    // A client of TLS 1.3 has sent its request by now. Closing with unread bytes would
                    // reset the connection, and the client might lose the alert that says why.
                    let _ended = tokio::time::timeout(DISCARD_TIMEOUT, discard(tcp)).await;
                }
                Err(error)
            }
        }
    }

    /// Closes the connection with a line of text that states the reason. A TLS client receives no
    /// line, and neither does a client whose buffer is full.
    pub fn refuse(self, line: &str) {
        if self.tls.is_some() {
            return;
        }
        // The write must not wait. If the send buffer has no room, the connection just closes.
        let _ = match &self.stream {
            SocketStream::Tcp(stream) => stream.try_write(line.as_bytes()),
            #[cfg(unix)]
            SocketStream::Unix(stream) => stream.try_write(line.as_bytes()),
            SocketStream::Tls(_) => Ok(0),
        };
    }
}

/// How long, and how many bytes, are read from a client whose certificate is refused.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);
const DISCARD_BYTES_MAX: u64 = 64 << 10;

/// Ends the sending side, and reads what the client still sends.
async fn discard(mut tcp: TcpStream) {
    // If either fails, the client has gone.
    if tcp.shutdown().await.is_ok() {
        let _ = tokio::io::copy(&mut tcp.take(DISCARD_BYTES_MAX), &mut tokio::io::sink()).await;
    }
}

/// Waits for the first byte, and returns whether it begins the method of a request (RFC 9110
/// section 9.1). A TLS record begins with 22, its type (RFC 8446 section 5.1).
async fn begins_plain_http(tcp: &TcpStream) -> bool {
    let mut first = [0];
    // An error occurs again in the handshake, which reports it.
    matches!(tcp.peek(&mut first).await, Ok(1)) && first[0].is_ascii_alphabetic()
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

/// The reason for which a connection cannot carry HTTP.
pub(crate) enum OpenHttpError {
    /// The client sends a request without TLS. It can be told so on this stream.
    Plain(SocketStream),
    Tls(TlsHandshakeError),
}
