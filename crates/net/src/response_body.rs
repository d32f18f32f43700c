//! The body of a response while it is sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use hyper::Version;
use hyper::body::{Body as _, Frame, SizeHint};

use crate::body::{Batch, Body, BodyAbortError};
use crate::idle::RequestInProgress;
use crate::stream_tasks::Http2Stream;

/// The maximum size of a batch for an HTTP/2 connection. hyper passes a batch to h2 as soon as one
/// byte of it may be sent, and does not track it afterwards. A large batch would evade the limit on
/// the time in which the client must read.
const STREAM_BYTES_MAX: usize = 64 << 10;

/// The body of a response. Dropping it ends its request.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    body: Body,
    owner: Owner,
    /// The rest of a batch that is too large for an HTTP/2 connection.
    rest: Option<Batch>,
}

/// The request or stream that a response belongs to. It ends with the response.
#[derive(Debug)]
enum Owner {
    Http1(#[expect(dead_code, reason = "ends the request when dropped")] RequestInProgress),
    /// HTTP/1.0: the end of the connection ends a body without a length (RFC 9112 section 6.3).
    Http10(RequestInProgress),
    Http2(Http2Stream),
}

impl ResponseBody {
    pub(crate) fn http1(body: Body, request: RequestInProgress, version: Version) -> Self {
        let owner = match version {
            Version::HTTP_10 => Owner::Http10(request),
            _ => Owner::Http1(request),
        };
        Self { body, owner, rest: None }
    }

    pub(crate) fn http2(body: Body, mut stream: Http2Stream) -> Self {
        stream.is_complete = body.is_end_stream();
        Self { body, owner: Owner::Http2(stream), rest: None }
    }

    /// Returns the next batch of an HTTP/2 stream, of at most [`STREAM_BYTES_MAX`] bytes.
    fn poll_limited(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Batch>, BodyAbortError>>> {
        let mut batch = match self.rest.take() {
            Some(rest) => rest,
            None => match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(batch) => batch,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            },
        };
        if batch.remaining() > STREAM_BYTES_MAX {
            let first = batch.split_to(STREAM_BYTES_MAX);
            self.rest = Some(std::mem::replace(&mut batch, first));
        }
        Poll::Ready(Some(Ok(Frame::data(batch))))
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Batch;
    type Error = BodyAbortError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Batch>, BodyAbortError>>> {
        let this = self.get_mut();
        match &this.owner {
            Owner::Http1(_) => return Pin::new(&mut this.body).poll_frame(context),
            Owner::Http10(request) => {
                let next = Pin::new(&mut this.body).poll_frame(context);
                if let Poll::Ready(Some(Err(_))) = next {
                    request.abort();
                }
                return next;
            }
            Owner::Http2(_) => {}
        }
        let next = this.poll_limited(context);
        let is_complete = matches!(next, Poll::Ready(None | Some(Err(_)))) || this.is_end_stream();
        if let Owner::Http2(stream) = &mut this.owner {
            stream.is_complete = is_complete;
            stream.set_blocked(matches!(next, Poll::Ready(Some(Ok(_)))));
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map_or(0, Batch::remaining) as u64;
        match self.body.size_hint().exact() {
            Some(bytes) => SizeHint::with_exact(bytes + rest),
            None => SizeHint::default(),
        }
    }
}
