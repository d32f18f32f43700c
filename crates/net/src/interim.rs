//! Sends interim responses (RFC 9110 section 15.2), such as `103 Early Hints`, before the response of a
//! handler. `idle/interim_queue.rs` says how they are written.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use crate::idle::Activity;

/// Fields that frame a message or belong to a connection, which an interim response must not have
/// (RFC 9110 section 8.6, RFC 9112 section 6.1).
const FRAMING: [HeaderName; 5] = [CONNECTION, CONTENT_LENGTH, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Sends interim responses to one request over HTTP/1.1, while its handler runs.
#[derive(Clone, Debug)]
pub struct InterimSender {
    activity: Arc<Activity>,
    request: u64,
}

impl InterimSender {
    pub(crate) fn new(activity: &Arc<Activity>) -> Self {
        let request = activity.open_interim();
        Self { activity: activity.clone(), request }
    }

    /// Sends a response without a body. Fields that frame a message are left out. Returns false if it is
    /// dropped: the status is not an interim one, is 100 or 101, which the server sends itself, the handler
    /// has returned, or there were 16 KiB of them.
    pub fn send(&self, status: StatusCode, fields: &HeaderMap) -> bool {
        let is_own = matches!(status, StatusCode::CONTINUE | StatusCode::SWITCHING_PROTOCOLS);
        status.is_informational()
            && !is_own
            && self.activity.interim.push(self.request, &encode(status, fields))
    }
}

/// Writes the head of a response.
fn encode(status: StatusCode, fields: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in fields.iter().filter(|(name, _)| !FRAMING.contains(name)) {
        // A `HeaderValue` has none of these, unless it was made by unsafe code.
        if value.as_bytes().iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            continue;
        }
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_response_is_a_head_without_framing() {
        let mut fields = HeaderMap::new();
        for (name, value) in [
            ("link", "</a.css>; rel=preload"),
            ("link", "</b.js>; rel=preload"),
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("connection", "close"),
            ("x-a", ""),
        ] {
            fields.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let head = String::from_utf8(encode(StatusCode::EARLY_HINTS, &fields)).unwrap();
        let expected = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\
                        link: </b.js>; rel=preload\r\nx-a: \r\n\r\n";
        assert_eq!(head, expected);
        let unknown = StatusCode::from_u16(104).unwrap();
        assert_eq!(encode(unknown, &HeaderMap::new()), b"HTTP/1.1 104 \r\n\r\n");
    }
}
