//! The body of a backend's answer, streamed to the client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};
use weir_net::BodyAbortError;

use crate::backend::{Backend, InstanceGuard, Lease};
use crate::header_fields::clean_response_trailers;
use crate::record::OpenRecord;
use crate::route::changes::RouteChanges;

/// The body of an answer. It holds the connection to the backend until the body ends, then
/// completes the record of the request.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    body: Incoming,
    limits: AnswerLimits,
    deadline: Option<Pin<Box<Sleep>>>,
    is_broken: bool,
    end: Option<AnswerEnd>,
}

/// The time limits of an answer's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLimits {
    /// The longest pause of the backend.
    pub(crate) idle: Duration,
    /// The deadline of the whole answer.
    pub(crate) end: Option<Instant>,
}

/// The resources that are released at the end of an answer.
#[derive(Debug)]
pub(crate) struct AnswerEnd {
    pub(crate) lease: Option<Lease>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) instance: InstanceGuard,
    pub(crate) record: Box<OpenRecord>,
    /// What the route changes, if anything.
    pub(crate) changes: Option<Arc<RouteChanges>>,
}

/// The way in which a backend has failed during an answer, by its name in records.
struct FailedAnswer(&'static str);

impl fmt::Display for FailedAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            "backend_idle" => "an answer did not go on in time",
            _ => "an answer ended before its end",
        })
    }
}

impl AnswerBody {
    pub(crate) fn new(body: Incoming, limits: AnswerLimits, end: AnswerEnd) -> Self {
        let mut answer = Self { body, limits, deadline: None, is_broken: false, end: Some(end) };
        if answer.body.is_end_stream() {
            answer.complete();
        }
        answer
    }

    /// Ends the answer after the backend has sent all of it.
    fn complete(&mut self) {
        let Some(AnswerEnd { lease, instance, record, .. }) = self.end.take() else { return };
        instance.instance().note_success();
        if let Some(lease) = lease {
            lease.give_back();
        }
        record.complete();
    }

    /// Ends the answer after a failure of the backend.
    fn break_off(&mut self, reason: &'static str) {
        if let Some(end) = &self.end {
            end.backend.note_failure(end.instance.instance(), &FailedAnswer(reason));
        }
        self.end_early(reason);
    }

    /// Polls the next frame of the body, driving the connection if none is ready.
    fn poll_body(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = Pin::new(&mut self.body).poll_frame(context);
        if next.is_pending()
            && let Some(lease) = self.end.as_mut().and_then(|end| end.lease.as_mut())
            && lease.drive(context)
        {
            return Pin::new(&mut self.body).poll_frame(context);
        }
        next
    }

    fn end_early(&mut self, reason: &'static str) {
        if let Some(AnswerEnd { record, .. }) = self.end.take() {
            record.break_off(reason);
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BodyAbortError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyAbortError>>> {
        let this = &mut *self;
        if this.limits.end.is_some_and(|end| Instant::now() >= end) {
            this.end_early("answer_timeout");
            return Poll::Ready(Some(Err(BodyAbortError)));
        }
        if this.is_broken {
            this.break_off("backend_broke_off");
            return Poll::Ready(Some(Err(BodyAbortError)));
        }
        match this.poll_body(context) {
            Poll::Ready(Some(Ok(mut frame))) => {
                this.deadline = None;
                if let Some(trailers) = frame.trailers_mut() {
                    clean_response_trailers(trailers);
                    let changes = this.end.as_ref().and_then(|end| end.changes.as_ref());
                    for name in changes.iter().flat_map(|changes| changes.answer.replaced()) {
                        trailers.remove(name);
                    }
                }
                if let (Some(end), Some(data)) = (&mut this.end, frame.data_ref()) {
                    end.record.note_body(data.len());
                }
                // Hyper does not poll again after trailer fields.
                if frame.is_trailers() || this.body.is_end_stream() {
                    this.complete();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => {
                // An error discards all data that hyper has not written yet. Reporting it one poll
                // later lets the client receive that data first.
                this.is_broken = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => {
                this.complete();
                Poll::Ready(None)
            }
            Poll::Pending => {
                if let Some(end) = &mut this.end {
                    end.record.note_body_wait();
                }
                let AnswerLimits { idle, end } = this.limits;
                let sleep = || {
                    let deadline = Instant::now() + idle;
                    let deadline = end.map_or(deadline, |end| end.min(deadline));
                    Box::pin(tokio::time::sleep_until(deadline))
                };
                if this.deadline.get_or_insert_with(sleep).as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                match end.is_some_and(|end| Instant::now() >= end) {
                    true => this.end_early("answer_timeout"),
                    false => this.break_off("backend_idle"),
                }
                Poll::Ready(Some(Err(BodyAbortError)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        // The client disconnected before the end.
        if let Some(AnswerEnd { record, .. }) = self.end.take() {
            record.break_off("client_gone");
        }
    }
}
