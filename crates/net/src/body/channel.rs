//! A body whose parts a task or thread produces while it is sent.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::sync::Notify;
use weir_sync::{Condition, Lock};

use super::batch::Batch;

/// Feeds a [`Body::channel`](super::Body::channel).
///
/// If a sender is dropped without [`finish`](BodySender::finish), by an error or a panic, the
/// response is aborted. The client then sees a truncated response and not one that looks complete.
#[derive(Debug)]
pub struct BodySender {
    queue: Arc<Queue>,
}

impl BodySender {
    /// Sends the next part, waiting while the queue is full.
    ///
    /// # Errors
    /// If the client is gone.
    pub async fn send(&self, part: impl Into<Bytes>) -> Result<(), ClientGoneError> {
        let mut part = part.into();
        loop {
            // Created before the push, so that no wake-up between the two is missed.
            let room = self.queue.room.notified();
            match self.queue.push(part) {
                PushResult::Done => return Ok(()),
                PushResult::Gone => return Err(ClientGoneError),
                PushResult::Full(returned) => part = returned,
            }
            room.await;
        }
    }

    /// Sends the next part, blocking the thread while the queue is full.
    ///
    /// # Errors
    /// If the client is gone.
    pub fn send_blocking(&self, part: impl Into<Bytes>) -> Result<(), ClientGoneError> {
        let mut part = part.into();
        loop {
            match self.queue.push(part) {
                PushResult::Done => return Ok(()),
                PushResult::Gone => return Err(ClientGoneError),
                PushResult::Full(returned) => part = returned,
            }
            self.queue.wait_for_room();
        }
    }

    /// Ends the body successfully.
    ///
    /// # Errors
    /// If the client is gone.
    pub fn finish(self) -> Result<(), ClientGoneError> {
        let mut state = self.queue.state.lock();
        state.end = Some(End::Finished);
        state.wake_reader();
        if state.is_abandoned { Err(ClientGoneError) } else { Ok(()) }
    }

    /// Whether the connection has not taken all parts yet. Over HTTP/2 it takes what the client has
    /// room for, and 128 KiB.
    pub fn has_queued(&self) -> bool {
        !self.queue.state.lock().parts.is_empty()
    }

    /// Waits until the body is dropped, because the client is gone or has received all of it.
    pub async fn closed(&self) {
        loop {
            let room = self.queue.room.notified();
            if self.queue.state.lock().is_abandoned {
                return;
            }
            room.await;
        }
    }
}

impl Drop for BodySender {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.end.get_or_insert(End::Aborted);
        state.wake_reader();
    }
}

/// The error of a [`Body::channel`](super::Body::channel) whose client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientGoneError;

impl fmt::Display for ClientGoneError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the client went away before the whole response was sent")
    }
}

impl std::error::Error for ClientGoneError {}

/// The error of a body whose producer ended before the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyAbortError;

impl fmt::Display for BodyAbortError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the response ended before all of its body was produced")
    }
}

impl std::error::Error for BodyAbortError {}

/// The receiving end of a channel.
#[derive(Debug)]
pub(super) struct Parts {
    queue: Arc<Queue>,
}

/// Creates a channel whose queue accepts parts while they cost less than `bytes_max` bytes.
pub(super) fn channel(bytes_max: usize) -> (BodySender, Parts) {
    let queue = Arc::new(Queue {
        state: Lock::default(),
        bytes_max: bytes_max.max(1),
        room: Notify::new(),
        room_blocking: Condition::new(),
    });
    (BodySender { queue: queue.clone() }, Parts { queue })
}

impl Parts {
    /// Returns the parts that are ready, as a batch. Pending only if none is ready.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Batch, BodyAbortError>>> {
        let mut state = self.queue.state.lock();
        if let Some(batch) = Batch::take(&mut state.parts) {
            state.bytes -= batch.remaining();
            drop(state);
            self.queue.notify_producers();
            return Poll::Ready(Some(Ok(batch)));
        }
        match state.end {
            Some(End::Finished) => Poll::Ready(None),
            Some(End::Aborted) => Poll::Ready(Some(Err(BodyAbortError))),
            None => {
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether the whole body has been taken.
    pub(super) fn is_finished(&self) -> bool {
        let state = self.queue.state.lock();
        state.end == Some(End::Finished) && state.parts.is_empty()
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.is_abandoned = true;
        state.parts = VecDeque::new();
        drop(state);
        self.queue.notify_producers();
    }
}

/// The queue of parts between a producer and a connection.
#[derive(Debug)]
struct Queue {
    state: Lock<State>,
    bytes_max: usize,
    /// Notifies producers that there may be room, or that the reader is gone.
    room: Notify,
    /// The same for producers that block their threads.
    room_blocking: Condition,
}

#[derive(Debug, Default)]
struct State {
    parts: VecDeque<Bytes>,
    bytes: usize,
    end: Option<End>,
    /// Whether the reader is gone.
    is_abandoned: bool,
    reader: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The body is complete.
    Finished,
    /// The sender was dropped before it finished.
    Aborted,
}

/// The result of pushing a part.
enum PushResult {
    Done,
    /// The queue is full. The part is returned.
    Full(Bytes),
    /// The client is gone.
    Gone,
}

impl Queue {
    fn push(&self, part: Bytes) -> PushResult {
        let mut state = self.state.lock();
        if state.is_abandoned {
            return PushResult::Gone;
        }
        if part.is_empty() {
            return PushResult::Done;
        }
        if state.cost_bytes() >= self.bytes_max {
            return PushResult::Full(part);
        }
        state.bytes += part.len();
        state.parts.push_back(part);
        state.wake_reader();
        PushResult::Done
    }

    fn wait_for_room(&self) {
        let state = self.state.lock();
        let is_full =
            |state: &mut State| !state.is_abandoned && state.cost_bytes() >= self.bytes_max;
        // A poisoned lock ends the wait; the caller tries again in any case.
        drop(self.room_blocking.wait_while(state, is_full));
    }

    fn notify_producers(&self) {
        self.room.notify_waiters();
        self.room_blocking.notify_all();
    }
}

/// The cost of a part beside its bytes, so that the memory of many small parts is bounded too.
const PART_BYTES: usize = 64;

impl State {
    /// Returns the cost of the queued parts.
    fn cost_bytes(&self) -> usize {
        self.bytes + PART_BYTES * self.parts.len()
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}
