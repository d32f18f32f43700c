//! A connection as the task that serves it sees it: what the task waits for, and the end.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::Activity;
use crate::close_reason::CloseReason;
use crate::socket::SendingSide;

/// The number of parts into which [`IdleEntry::wait_quiet`] divides its timeout. It checks the
/// connection at the end of each part.
pub(super) const TIMEOUT_PARTS: u32 = 5;

/// One connection in [`IdleConnections`]. Dropping it removes the connection, which has ended or
/// been upgraded and so cannot make room.
#[derive(Debug)]
pub(crate) struct IdleEntry {
    pub(super) activity: Arc<Activity>,
    pub(super) key: u64,
}

impl IdleEntry {
    /// Returns the activity of the connection, for its requests and its socket.
    pub(crate) fn activity(&self) -> Arc<Activity> {
        self.activity.clone()
    }

    /// Whether a request has ever arrived.
    pub(crate) fn has_served(&self) -> bool {
        self.activity.state().has_served
    }

    /// Whether no request is in progress and all responses are written.
    pub(crate) fn is_waiting(&self) -> bool {
        self.activity.is_waiting()
    }

    /// Marks the connection as HTTP/2, which has its own limit.
    pub(crate) fn set_http2(&self) {
        self.activity.is_http2.store(true, Ordering::SeqCst);
    }

    /// Makes each request check whether its client has left. Call it before the first request, for
    /// [`wait_abandoned`](Self::wait_abandoned).
    pub(crate) fn watch_client(&self) {
        self.activity.watches_client.store(true, Ordering::SeqCst);
    }

    /// Waits until the client abandons the request in progress: it resets the connection, or it has
    /// closed its sending side and no byte is sent to it for `timeout`. The task must poll the
    /// connection first, which checks the socket.
    pub(crate) async fn wait_abandoned(&self, timeout: Duration) {
        let written = || self.activity.written_bytes.load(Ordering::Relaxed);
        let mut wait: Option<(SendingSide, u64, Pin<Box<Sleep>>)> = None;
        poll_fn(|context| {
            loop {
                let side = match self.activity.sending_side_of_request() {
                    Some(SendingSide::Reset) => return Poll::Ready(()),
                    Some(side @ (SendingSide::Closed | SendingSide::Unread)) => side,
                    Some(SendingSide::Open) | None => {
                        wait = None;
                        return Poll::Pending;
                    }
                };
                wait.take_if(|(waited, ..)| *waited != side);
                // The socket wakes the task only after unread bytes are read, so a timer does.
                let (_, before, timer) =
                    wait.get_or_insert_with(|| (side, written(), Box::pin(sleep(timeout))));
                ready!(timer.as_mut().poll(context));
                if side == SendingSide::Closed && *before == written() {
                    return Poll::Ready(());
                }
                wait = None;
            }
        })
        .await;
    }

    /// Waits until the connection has been quiet for `timeout`: no request is in progress, and the
    /// client reads no bytes. Bytes written in the first part do not count, because they announce
    /// the end of the connection.
    pub(crate) async fn wait_quiet(&self, timeout: Duration) {
        let mut quiet_parts = 0;
        let mut is_first = true;
        while quiet_parts < TIMEOUT_PARTS {
            let before = self.activity.written_bytes.load(Ordering::Relaxed);
            tokio::time::sleep(timeout / TIMEOUT_PARTS).await;
            let has_written = self.activity.written_bytes.load(Ordering::Relaxed) != before;
            let is_quiet = is_first || !has_written;
            let has_requests = self.activity.state().requests > 0;
            quiet_parts = if is_quiet && !has_requests { quiet_parts + 1 } else { 0 };
            is_first = false;
        }
    }

    /// Waits until the connection is asked to close. Returns the first reason.
    pub(crate) async fn wait_close_request(&self) -> CloseReason {
        poll_fn(|context| {
            self.activity.waker.register(context.waker());
            let reason = self.activity.close_reason.load(Ordering::SeqCst);
            CloseReason::from_number(reason).map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl Drop for IdleEntry {
    fn drop(&mut self) {
        self.activity.idle.open.lock().connections.remove(&self.key);
    }
}
