//! A body that is forwarded from another server.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::batch::Batch;
use super::channel::BodyAbortError;

/// A body that passes on the frames of another body, trailer fields included.
pub(super) struct ForwardedBody(Box<dyn Body<Data = Bytes, Error = BodyAbortError> + Send + Unpin>);

impl ForwardedBody {
    pub(super) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error = BodyAbortError> + Send + Unpin + 'static,
    {
        Self(Box::new(body))
    }

    pub(super) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Batch>, BodyAbortError>>> {
        loop {
            let next = ready!(Pin::new(&mut *self.0).poll_frame(context));
            // An empty chunk would end the body.
            let is_empty = |frame: &Frame<Bytes>| frame.data_ref().is_some_and(Bytes::is_empty);
            if !matches!(&next, Some(Ok(frame)) if is_empty(frame)) {
                return Poll::Ready(
                    next.map(|frame| frame.map(|frame| frame.map_data(Batch::from))),
                );
            }
        }
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl fmt::Debug for ForwardedBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ForwardedBody").finish_non_exhaustive()
    }
}
