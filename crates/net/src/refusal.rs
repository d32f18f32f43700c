//! Connections that are refused before any request is read.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::socket::Connection;

/// How long a client that is refused may take to read why. A TLS handshake has as long before.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum number of clients that are told at a time that they have too many connections.
pub(crate) const REFUSALS_MAX: usize = 64;

/// The answer to a client that is refused.
pub(crate) struct ConnectionRefusal {
    status: &'static str,
    retry_after_s: u32,
    text: &'static str,
}

/// To a client that finds no room.
pub(crate) const SERVER_FULL: ConnectionRefusal = ConnectionRefusal {
    status: "503 Service Unavailable",
    retry_after_s: 1,
    text: "the server has reached its limit of open connections; try again later\n",
};

/// To a client that has too many connections itself (RFC 6585 section 4).
pub(crate) const TOO_MANY_OF_ONE: ConnectionRefusal = ConnectionRefusal {
    status: "429 Too Many Requests",
    retry_after_s: 1,
    text: "your address has too many connections to this server open; close some, then try again\n",
};

/// The answer to a client that has begun a request, and has not sent all of its head in time (RFC 9110
/// section 15.5.9).
pub(crate) const LATE_HEAD: &str = "HTTP/1.1 408 Request Timeout\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 63\r\n\
    Connection: close\r\n\r\n\
    the header fields of the request did not arrive in time; retry\n";

impl ConnectionRefusal {
    /// The answer, in HTTP/1.1.
    fn answer(&self) -> String {
        let Self { status, retry_after_s, text } = self;
        let bytes = text.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {bytes}\r\n\
             Retry-After: {retry_after_s}\r\nConnection: close\r\n\r\n{text}"
        )
    }
}

/// Tells a client why it is refused. Over TLS no protocol is agreed on, so it expects HTTP/1.1.
pub(crate) async fn send(connection: Connection, refusal: &ConnectionRefusal) {
    let answer = async {
        let mut stream = connection.open(TIMEOUT).await.ok()?;
        stream.write_all(refusal.answer().as_bytes()).await.ok()?;
        stream.shutdown().await.ok()?;
        // Closing before the request was read would reset the connection, and the client might
        // not see the answer.
        let mut request = [0; 4096];
        while stream.read(&mut request).await.ok()? > 0 {}
        Some(())
    };
    let _ = tokio::time::timeout(TIMEOUT, answer).await;
}

#[cfg(test)]
mod tests {
    use super::LATE_HEAD;

    #[test]
    fn the_answer_to_a_late_head_has_its_length() {
        let (head, text) = LATE_HEAD.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}\r\n", text.len())), "{}", text.len());
    }
}
