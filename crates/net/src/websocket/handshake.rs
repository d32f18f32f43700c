//! The opening handshake (RFC 6455 section 4.2).

use std::{fmt, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Version};
use sha1::{Digest, Sha1};

use super::error::SocketError;
use super::options::SocketOptions;
use super::socket::WebSocket;
use super::upgraded_stream::UpgradedStream;
use crate::body::Body;
use crate::incoming_body::IncomingBody;

/// The text that is appended to the key before hashing (section 1.3).
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION: HeaderValue = HeaderValue::from_static("13");
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// Checks a handshake and returns its `101` response, which accepts no extension and no
/// subprotocol. Before that, check with a [`HostGuard`](crate::HostGuard) that the page may
/// connect.
///
/// Return the response from the handler, and wait for the [`Upgrade`] in another task. It resolves
/// after the response is sent.
pub fn accept(
    request: &mut Request<IncomingBody>,
) -> Result<(Response<Body>, Upgrade), HandshakeError> {
    let key = check(request)?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, WEBSOCKET);
    headers.insert(SEC_WEBSOCKET_ACCEPT, key);
    Ok((response, Upgrade(hyper::upgrade::on(request))))
}

/// A connection that becomes a WebSocket after the `101` response is sent.
#[derive(Debug)]
pub struct Upgrade(OnUpgrade);

impl Upgrade {
    /// Waits until the response is sent and returns the byte stream. Fails if the connection broke
    /// before that, or if the response was not the one that [`accept`] returned. Must not be
    /// awaited in the handler, which has to return the response first.
    pub async fn stream(self) -> io::Result<UpgradedStream> {
        self.0.await.map(UpgradedStream::new).map_err(io::Error::other)
    }

    /// Like [`stream`](Upgrade::stream), but returns the WebSocket.
    pub async fn websocket(
        self,
        options: SocketOptions,
    ) -> Result<WebSocket<UpgradedStream>, SocketError> {
        Ok(WebSocket::new(self.stream().await?, options))
    }
}

/// The reason for which a request is not a valid WebSocket handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// The method is not `GET`.
    NotGet,
    /// The request's version is not HTTP/1.1.
    NotHttp11,
    /// `Connection` does not name `upgrade`, or `Upgrade` does not name `websocket`.
    NotUpgrade,
    /// `Sec-WebSocket-Version` is not 13.
    UnsupportedVersion,
    /// `Sec-WebSocket-Key` is not 16 bytes in base64, or does not occur exactly once.
    InvalidKey,
}

impl HandshakeError {
    /// Returns the status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            HandshakeError::NotGet => StatusCode::METHOD_NOT_ALLOWED,
            HandshakeError::NotHttp11 | HandshakeError::InvalidKey => StatusCode::BAD_REQUEST,
            HandshakeError::NotUpgrade | HandshakeError::UnsupportedVersion => {
                StatusCode::UPGRADE_REQUIRED
            }
        }
    }

    /// Sets the status of a response and the header fields that belong to it. `Upgrade` and
    /// `Sec-WebSocket-Version` tell the client which protocol and version the server accepts
    /// (section 4.4).
    pub fn set_on<B>(self, response: &mut Response<B>) {
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        match self {
            HandshakeError::NotGet => {
                headers.insert(hyper::header::ALLOW, HeaderValue::from_static("GET"));
            }
            HandshakeError::NotUpgrade | HandshakeError::UnsupportedVersion => {
                headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
                headers.insert(UPGRADE, WEBSOCKET);
                headers.insert(SEC_WEBSOCKET_VERSION, VERSION);
            }
            HandshakeError::NotHttp11 | HandshakeError::InvalidKey => {}
        }
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            HandshakeError::NotGet => "a WebSocket handshake must be a GET request",
            HandshakeError::NotHttp11 => "a WebSocket handshake must use HTTP/1.1",
            HandshakeError::NotUpgrade => "this address accepts only WebSocket connections",
            HandshakeError::UnsupportedVersion => {
                "the server supports only version 13 of WebSocket"
            }
            HandshakeError::InvalidKey => "Sec-WebSocket-Key must be 16 bytes in base64, once",
        })
    }
}

impl std::error::Error for HandshakeError {}

/// Checks all requirements of section 4.2.1 and returns the accept value.
fn check<B>(request: &Request<B>) -> Result<HeaderValue, HandshakeError> {
    if request.method() != Method::GET {
        return Err(HandshakeError::NotGet);
    }
    if request.version() != Version::HTTP_11 {
        return Err(HandshakeError::NotHttp11);
    }
    let headers = request.headers();
    if !has_token(headers, CONNECTION, "upgrade") || !has_token(headers, UPGRADE, "websocket") {
        return Err(HandshakeError::NotUpgrade);
    }
    if single_value(headers, SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        return Err(HandshakeError::UnsupportedVersion);
    }
    let key = single_value(headers, SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let key = key.filter(|key| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16));
    accept_value(key.ok_or(HandshakeError::InvalidKey)?)
}

/// Returns `Sec-WebSocket-Accept` for a key (section 4.2.2, item 5.4).
fn accept_value(key: &[u8]) -> Result<HeaderValue, HandshakeError> {
    HeaderValue::try_from(accept_text(key)).map_err(|_| HandshakeError::InvalidKey)
}

pub(crate) fn accept_text(key: &[u8]) -> String {
    let hash = Sha1::new().chain_update(key).chain_update(KEY_SUFFIX).finalize();
    STANDARD.encode(hash)
}

/// Returns the only value of a field; `None` if there is none or several.
fn single_value(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Whether a comma-separated field has a token, in any of its lines. Case is ignored.
fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|item| item.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn request(fields: &[(&str, &str)]) -> Request<()> {
        let mut builder = Request::builder();
        for (name, value) in fields {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    #[test]
    fn the_example_of_the_standard() {
        let accept = check(&request(&GOOD));
        assert_eq!(accept.unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn each_field_is_checked() {
        use HandshakeError::{InvalidKey, NotUpgrade, UnsupportedVersion};
        for (field, value, expected) in [
            (0, "keep-alive", NotUpgrade),
            (0, "upgraded", NotUpgrade),
            (1, "h2c", NotUpgrade),
            (2, "8", UnsupportedVersion),
            (2, "13, 8", UnsupportedVersion),
            (3, "", InvalidKey),
            (3, "dGhlIHNhbXBsZSBub25jZQ", InvalidKey),
            (3, "dG9vIHNob3J0", InvalidKey),
            (3, "dGhpcyBub25jZSBpcyB0b28gbG9uZw==", InvalidKey),
        ] {
            let mut fields = GOOD;
            fields[field].1 = value;
            assert_eq!(check(&request(&fields)), Err(expected), "{fields:?}");
            let without = [&fields[..field], &fields[field + 1..]].concat();
            assert_eq!(check(&request(&without)), Err(expected), "{without:?}");
        }
        let twice = [&GOOD[..], &GOOD[3..]].concat();
        assert_eq!(check(&request(&twice)), Err(InvalidKey));
    }

    #[test]
    fn method_and_version_are_checked() {
        let mut post = request(&GOOD);
        *post.method_mut() = Method::POST;
        assert_eq!(check(&post), Err(HandshakeError::NotGet));
        let mut old = request(&GOOD);
        *old.version_mut() = Version::HTTP_10;
        assert_eq!(check(&old), Err(HandshakeError::NotHttp11));
    }

    #[test]
    fn refusals_say_what_is_spoken() {
        let mut response = Response::new(());
        HandshakeError::UnsupportedVersion.set_on(&mut response);
        assert_eq!(response.status(), 426);
        assert_eq!(response.headers()[SEC_WEBSOCKET_VERSION], "13");
        assert_eq!(response.headers()[UPGRADE], "websocket");
    }
}
