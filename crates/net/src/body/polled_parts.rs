//! A body whose parts are produced when the connection polls for them.

use std::collections::VecDeque;
use std::fmt;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};

use super::batch::{BATCH_BYTES_MAX, Batch};
use super::channel::BodyAbortError;

/// Produces the next part of a body: `None` at its end, an error if the rest cannot be produced.
pub(super) type PollPart =
    dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyAbortError>>> + Send;

/// The maximum time for which parts are gathered into a batch. Without it, parts that take long to
/// produce would hold back the first byte.
const GATHERING_MAX: Duration = Duration::from_millis(1);

/// The parts that are ready, and the function that produces the next ones.
pub(super) struct PolledParts {
    poll: Box<PollPart>,
    ready: VecDeque<Bytes>,
    ready_bytes: usize,
    end: Option<Result<(), BodyAbortError>>,
}

impl PolledParts {
    pub(super) fn new(poll: Box<PollPart>) -> Self {
        Self { poll, ready: VecDeque::new(), ready_bytes: 0, end: None }
    }

    /// Returns the parts that are ready, as a batch. Pending only if none is ready.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Batch, BodyAbortError>>> {
        self.gather(context);
        if let Some(batch) = Batch::take(&mut self.ready) {
            self.ready_bytes -= batch.remaining();
            return Poll::Ready(Some(Ok(batch)));
        }
        match self.end {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(aborted)) => Poll::Ready(Some(Err(aborted))),
            None => Poll::Pending,
        }
    }

    /// Produces parts until they fill a batch, none is ready, or [`GATHERING_MAX`] has passed.
    fn gather(&mut self, context: &mut Context<'_>) {
        let start = Instant::now();
        while self.end.is_none() && self.ready_bytes < BATCH_BYTES_MAX {
            match (self.poll)(context) {
                Poll::Ready(Some(Ok(part))) if part.is_empty() => {}
                Poll::Ready(Some(Ok(part))) => {
                    self.ready_bytes += part.len();
                    self.ready.push_back(part);
                    if start.elapsed() > GATHERING_MAX {
                        return;
                    }
                }
                Poll::Ready(Some(Err(aborted))) => self.end = Some(Err(aborted)),
                Poll::Ready(None) => self.end = Some(Ok(())),
                Poll::Pending => return,
            }
        }
    }

    /// Whether the whole body has been taken.
    pub(super) fn is_finished(&self) -> bool {
        self.end == Some(Ok(())) && self.ready.is_empty()
    }
}

impl fmt::Debug for PolledParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PolledParts").field("end", &self.end).finish_non_exhaustive()
    }
}
