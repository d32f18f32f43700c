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

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;

use atomic_waker::AtomicWaker;
use bytes::Bytes;
use weir_sync::Lock;

/// The maximum size of the interim responses to one request. Further ones are dropped: the client may
/// not read them, and another server may send them without end.
const BYTES_MAX: usize = 16 << 10;

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

    pub(crate) fn push(&self, request: u64, response: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

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
