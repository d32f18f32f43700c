//! Interim responses (RFC 9110 section 15.2) over HTTP/1.1, such as `103 Early Hints`.
//!
//! hyper's server sends none but `100 Continue`, so the connection writes the others itself. They must
//! not get between the bytes of other responses. Therefore:
//!
//! - They are accepted only while the handler of their request runs. hyper has no byte of its response
//!   then.
//! - They are written when hyper flushes the connection. It does so after each poll of the handler, and
//!   only if its own buffer is empty: all bytes of earlier responses are written then.
//! - One that has begun is written to its end before any byte of hyper's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;

use atomic_waker::AtomicWaker;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use weir_sync::Lock;

use crate::idle::Activity;

/// The maximum size of the interim responses to one request. Further ones are dropped: the client may
/// not read them, and another server may send them without end.
const BYTES_MAX: usize = 16 << 10;

/// Fields that frame a message or belong to a connection, which an interim response must not have
/// (RFC 9110 section 8.6, RFC 9112 section 6.1).
const FRAMING: [HeaderName; 5] = [CONNECTION, CONTENT_LENGTH, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// The interim responses of a connection that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct InterimQueue {
    /// The number of the request that may get some, while its handler runs; 0 for none.
    request: AtomicU64,
    waiting: Lock<Waiting>,
    /// Wakes the task of the connection.
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The size of all responses to the request so far.
    accepted_bytes: usize,
}

impl InterimQueue {
    /// Accepts responses to a request, whose handler runs.
    pub(crate) fn open(&self, request: u64) {
        self.request.store(request, Ordering::SeqCst);
    }

    /// Accepts no more, and drops those that are waiting. hyper must not have the response of the
    /// handler yet.
    pub(crate) fn close(&self) {
        if self.request.load(Ordering::SeqCst) > 0 {
            let mut waiting = self.waiting.lock();
            self.request.store(0, Ordering::SeqCst);
            *waiting = Waiting::default();
        }
    }

    fn push(&self, request: u64, response: &[u8]) -> bool {
        let mut waiting = self.waiting.lock();
        // The number is compared under the lock, so that nothing is added after the end.
        let is_current = self.request.load(Ordering::SeqCst) == request;
        let accepted_bytes = waiting.accepted_bytes + response.len();
        let is_accepted = is_current && accepted_bytes <= BYTES_MAX;
        if is_accepted {
            waiting.accepted_bytes = accepted_bytes;
            waiting.bytes.extend_from_slice(response);
            self.waker.wake();
        }
        is_accepted
    }

    /// Takes what is waiting. The task is woken when there is more.
    pub(crate) fn take(&self, context: &mut Context<'_>) -> Bytes {
        if self.request.load(Ordering::SeqCst) == 0 {
            return Bytes::new();
        }
        self.waker.register(context.waker());
        std::mem::take(&mut self.waiting.lock().bytes).into()
    }
}

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
    use std::task::Waker;

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

    #[test]
    fn only_the_request_whose_handler_runs_gets_responses() {
        let queue = InterimQueue::default();
        let take = || queue.take(&mut Context::from_waker(Waker::noop()));
        assert!(!queue.push(1, b"a"));
        queue.open(1);
        assert!(queue.push(1, b"a") && queue.push(1, b"b"));
        assert_eq!(take(), "ab");
        assert!(queue.push(1, b"c"));
        queue.close();
        assert!(!queue.push(1, b"d"));
        queue.open(2);
        assert!(!queue.push(1, b"e") && queue.push(2, b"f"));
        assert_eq!(take(), "f");
        assert!(queue.push(2, &[0; BYTES_MAX - 1]));
        assert_eq!(take().len(), BYTES_MAX - 1);
        assert!(!queue.push(2, b"g"));
        queue.close();
        queue.open(3);
        assert!(queue.push(3, b"g"));
    }
}
