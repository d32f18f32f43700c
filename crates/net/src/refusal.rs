//! Responses to connections that are refused before any request is read.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::socket::{Connection, SocketStream};

/// The time in which a refused client must read its response. A TLS handshake before that has the
/// same limit.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum number of clients that are being told at a time that they have too many connections.
pub(crate) const REFUSALS_MAX: usize = 64;

/// The response to a refused client.
pub(crate) struct ConnectionRefusal {
    status: &'static str,
    retry_after_s: Option<u32>,
    text: &'static str,
}

/// The refusal if the server is full.
pub(crate) const SERVER_FULL: ConnectionRefusal = ConnectionRefusal {
    status: "503 Service Unavailable",
    retry_after_s: Some(1),
    text: "the server has reached its limit of open connections; try again later\n",
};

/// The refusal of a client that has too many connections (RFC 6585 section 4).
pub(crate) const TOO_MANY_FROM_ADDRESS: ConnectionRefusal = ConnectionRefusal {
    status: "429 Too Many Requests",
    retry_after_s: Some(1),
    text: "your address has too many connections to this server open; close some, then try again\n",
};

/// The response to a client that has not completed the head of its request in time (RFC 9110
/// section 15.5.9).
pub(crate) const LATE_HEAD: &str = "HTTP/1.1 408 Request Timeout\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 63\r\n\
    Connection: close\r\n\r\n\
    the header fields of the request did not arrive in time; retry\n";

/// The text of [`LATE_HEAD`].
pub(crate) const LATE_HEAD_TEXT: &str =
    "the header fields of the request did not arrive in time; retry\n";

/// The refusal of a request without TLS at an address that requires it.
pub(crate) const PLAIN_HTTP: ConnectionRefusal = ConnectionRefusal {
    status: "400 Bad Request",
    retry_after_s: None,
    text: "a plain HTTP request was sent to an HTTPS port; begin the address with https://\n",
};

impl ConnectionRefusal {
    /// Returns the response, in HTTP/1.1.
    fn response(&self) -> String {
        let Self { status, retry_after_s, text } = self;
        let bytes = text.len();
        let retry_after =
            retry_after_s.map(|s| format!("Retry-After: {s}\r\n")).unwrap_or_default();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {bytes}\r\n\
             {retry_after}Connection: close\r\n\r\n{text}"
        )
    }
}

/// Sends a refusal. Over TLS no protocol is negotiated, so the client expects HTTP/1.1.
pub(crate) async fn send(connection: Connection, refusal: &ConnectionRefusal) {
    let Ok(stream) = connection.open(TIMEOUT).await else { return };
    send_over(stream, refusal).await;
}

/// Sends a refusal over an open stream.
pub(crate) async fn send_over(mut stream: SocketStream, refusal: &ConnectionRefusal) {
    let answer = async {
        stream.write_all(refusal.response().as_bytes()).await.ok()?;
        stream.shutdown().await.ok()?;
        // Closing before the request is read would reset the connection, and the client might
        // not see the response.
        let mut request = [0; 4096];
        while stream.read(&mut request).await.ok()? > 0 {}
        Some(())
    };
    let _ = tokio::time::timeout(TIMEOUT, answer).await;
}

#[cfg(test)]
mod tests {
    use super::{LATE_HEAD, LATE_HEAD_TEXT};

    #[test]
    fn the_answer_to_a_late_head_has_its_length() {
        let (head, text) = LATE_HEAD.split_once("\r\n\r\n").unwrap();
        assert_eq!(text, LATE_HEAD_TEXT);
        assert!(head.contains(&format!("Content-Length: {}\r\n", text.len())), "{}", text.len());
    }
}
