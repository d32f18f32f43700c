//! A body whose parts are made while it is sent.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::sync::Notify;

use super::batch::Batch;

/// Feeds a [`Body::channel`](super::Body::channel).
///
/// A sender that is dropped without [`finish`](BodySender::finish), by an error or a panic,
/// aborts the response: the client sees a connection cut short instead of an answer that looks
/// whole.
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
            // Made before the look, so that no wake-up between the two is missed.
            let taken = self.queue.taken.notified();
            match self.queue.push(part) {
                Pushed::Done => return Ok(()),
                Pushed::Gone => return Err(ClientGoneError),
                Pushed::Full(returned) => part = returned,
            }
            taken.await;
        }
    }

    /// Sends the next part from a thread of its own, which waits while the queue is full.
    ///
    /// # Errors
    /// If the client is gone.
    pub fn send_blocking(&self, part: impl Into<Bytes>) -> Result<(), ClientGoneError> {
        let mut part = part.into();
        loop {
            match self.queue.push(part) {
                Pushed::Done => return Ok(()),
                Pushed::Gone => return Err(ClientGoneError),
                Pushed::Full(returned) => part = returned,
            }
            self.queue.wait_for_room();
        }
    }

    /// Ends the body: everything was sent.
    ///
    /// # Errors
    /// If the client went away before.
    pub fn finish(self) -> Result<(), ClientGoneError> {
        let mut state = self.queue.lock();
        state.end = Some(End::Finished);
        state.wake_reader();
        if state.is_abandoned { Err(ClientGoneError) } else { Ok(()) }
    }

    /// Waits until the body is dropped, because the client is gone or has it all.
    pub async fn closed(&self) {
        loop {
            let taken = self.queue.taken.notified();
            if self.queue.lock().is_abandoned {
                return;
            }
            taken.await;
        }
    }
}

impl Drop for BodySender {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.end.get_or_insert(End::Aborted);
        state.wake_reader();
    }
}

/// The client of a [`Body::channel`](super::Body::channel) went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientGoneError;

impl fmt::Display for ClientGoneError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the client went away before the whole response was sent")
    }
}

impl std::error::Error for ClientGoneError {}

/// The producer of a [`Body::channel`](super::Body::channel) went away before the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyAbortError;

impl fmt::Display for BodyAbortError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the response ended before all of its body was produced")
    }
}

impl std::error::Error for BodyAbortError {}

/// The receiving end.
#[derive(Debug)]
pub(super) struct Parts {
    queue: Arc<Queue>,
}

/// A channel whose queue takes parts while they cost fewer than `bytes_max` bytes.
pub(super) fn channel(bytes_max: usize) -> (BodySender, Parts) {
    let queue = Arc::new(Queue {
        state: Mutex::default(),
        bytes_max: bytes_max.max(1),
        taken: Notify::new(),
        taken_blocking: Condvar::new(),
    });
    (BodySender { queue: queue.clone() }, Parts { queue })
}

impl Parts {
    /// The parts that are ready now, as a batch; pending only if none is.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Batch, BodyAbortError>>> {
        let mut state = self.queue.lock();
        if let Some(batch) = Batch::take(&mut state.parts) {
            state.bytes -= batch.remaining();
            drop(state);
            self.queue.tell_producer();
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
        let state = self.queue.lock();
        state.end == Some(End::Finished) && state.parts.is_empty()
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.is_abandoned = true;
        state.parts = VecDeque::new();
        drop(state);
        self.queue.tell_producer();
    }
}

/// The parts between a producer and a connection.
#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    bytes_max: usize,
    /// Tells producers that parts were taken, or that the reader has gone.
    taken: Notify,
    /// The same for producers that block their threads.
    taken_blocking: Condvar,
}

#[derive(Debug, Default)]
struct State {
    parts: VecDeque<Bytes>,
    bytes: usize,
    end: Option<End>,
    /// Whether the reader has gone.
    is_abandoned: bool,
    reader: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The body is whole.
    Finished,
    /// The sender was dropped before it finished.
    Aborted,
}

/// What became of a part.
enum Pushed {
    Done,
    /// The queue is full, and this is the part.
    Full(Bytes),
    /// The client is gone.
    Gone,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, part: Bytes) -> Pushed {
        let mut state = self.lock();
        if state.is_abandoned {
            return Pushed::Gone;
        }
        if part.is_empty() {
            return Pushed::Done;
        }
        if state.cost_bytes() >= self.bytes_max {
            return Pushed::Full(part);
        }
        state.bytes += part.len();
        state.parts.push_back(part);
        state.wake_reader();
        Pushed::Done
    }

    fn wait_for_room(&self) {
        let state = self.lock();
        let is_full =
            |state: &mut State| !state.is_abandoned && state.cost_bytes() >= self.bytes_max;
        // A poisoned lock ends the wait; the next look decides.
        drop(self.taken_blocking.wait_while(state, is_full));
    }

    fn tell_producer(&self) {
        self.taken.notify_waiters();
        self.taken_blocking.notify_all();
    }
}

/// What a part costs beside its bytes, so that the memory of many small ones is bounded too.
const PART_BYTES: usize = 64;

impl State {
    /// The memory of the parts.
    fn cost_bytes(&self) -> usize {
        self.bytes + PART_BYTES * self.parts.len()
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}
