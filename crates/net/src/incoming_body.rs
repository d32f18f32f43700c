//! The body of a request as it arrives, and the rest of it after its handler has dropped it.
//!
//! A server may answer before it has read the body. Over HTTP/2 it may then reset the stream without
//! an error (RFC 9113 section 8.1), but some clients, curl 7.88 among them, report the reset in place
//! of the response that they have already received. Over HTTP/1 the next request comes after the
//! body, so a server that reads no further has to close the connection, and clients that keep it
//! lose their next request. Therefore the rest of the body is read and discarded within limits. If
//! it is certain that they are exceeded, the response says `Connection: close`.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use tokio::runtime::Handle;
use weir_observe::task::{TaskKind, TaskName};

use crate::framing::Framing;
use crate::idle::Activity;
use crate::linger::{BYTES_MAX, TIMEOUT};

/// The tasks that discard the rest of a request's body.
static DISCARD: TaskKind = TaskKind::short("discard");

/// The body of a request that a [`Server`](crate::Server) has received. A handler that does not
/// read it to the end just drops it. The client can then send the rest, up to 64 MiB in 5 s.
#[derive(Debug)]
pub struct IncomingBody {
    /// `None` after the drop has begun.
    body: Option<Incoming>,
    /// `None` if nothing asks for it.
    reading: Option<Arc<BodyReading>>,
}

/// How far a body over HTTP/1 was read.
#[derive(Debug)]
pub(crate) struct BodyReading {
    /// Whether the client waits for `100 Continue` before it sends the body. It is sent when the
    /// body is first read. A client that gets the response instead sends no body (RFC 9110 section
    /// 10.1.1).
    is_awaited: bool,
    is_begun: AtomicBool,
    bytes_left: AtomicU64,
}

impl BodyReading {
    pub(crate) fn of(request: &Request<Incoming>, activity: &Arc<Activity>) -> Option<Arc<Self>> {
        let body = request.body();
        activity.set_framing(match (body.is_end_stream(), body.size_hint().exact()) {
            (true, _) => Framing::Empty,
            (false, Some(bytes)) => Framing::Length(bytes),
            (false, None) => Framing::Chunked,
        });
        let reading = || Self {
            is_awaited: request.headers().contains_key(EXPECT),
            is_begun: AtomicBool::new(false),
            bytes_left: AtomicU64::new(body.size_hint().lower()),
        };
        (!body.is_end_stream()).then(|| Arc::new(reading()))
    }

    /// Whether the rest of the body cannot be discarded if it is not read any more.
    pub(crate) fn ends_connection(&self) -> bool {
        self.is_refused() || self.bytes_left.load(Ordering::Relaxed) > BYTES_MAX as u64
    }

    fn is_refused(&self) -> bool {
        self.is_awaited && !self.is_begun.load(Ordering::Relaxed)
    }
}

impl IncomingBody {
    pub(crate) fn http1(body: Incoming, reading: Option<Arc<BodyReading>>) -> Self {
        Self { body: Some(body), reading }
    }

    pub(crate) fn http2(body: Incoming) -> Self {
        Self { body: Some(body), reading: None }
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { body: Some(body), reading } = self.get_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(context);
        if let Some(reading) = reading {
            reading.is_begun.store(true, Ordering::Relaxed);
            reading.bytes_left.store(body.size_hint().lower(), Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        // A handler that panics sends no response, so its client need not wait for the reset.
        let is_panicking = std::thread::panicking();
        let is_wanted =
            !is_panicking && !self.reading.as_ref().is_some_and(|it| it.ends_connection());
        let rest = self.body.take().filter(|body| is_wanted && !body.is_end_stream());
        // A runtime that has ended closes the connection as well.
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(DISCARD.observe(TaskName::Unnamed, async {
                // The rest of a body that is too slow is dropped too.
                let _discarded = tokio::time::timeout(TIMEOUT, discard(rest)).await;
            }));
        }
    }
}

/// Reads a body until its end or the limit. The connection or stream stays open meanwhile, because
/// hyper does not close it before all its parts are dropped. The end of the connection ends the body too. This
/// does not count as a request: after the responses, a full server may close the connection to make
/// room.
async fn discard(mut body: Incoming) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await
        && bytes < BYTES_MAX
    {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
}
