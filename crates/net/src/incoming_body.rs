//! The body of a request as it arrives, and the rest of it after its handler has dropped it.
//!
//! Over HTTP/2 a server that has answered may reset a stream whose client still sends, without an
//! error (RFC 9113 section 8.1). Some clients, curl 7.88 among them, then report the reset in place
//! of the response that they have already received. Therefore the server first discards what the
//! client still sends, as [`linger`](crate::linger) does for HTTP/1.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use weir_observe::task::{TaskKind, TaskName};

use crate::linger::{BYTES_MAX, TIMEOUT};

/// The tasks that discard the rest of a request's body.
static DISCARD: TaskKind = TaskKind::short("discard");

/// The body of a request that a [`Server`](crate::Server) has received. A handler that does not
/// read it to the end just drops it. Over HTTP/2 the client can then send the rest, up to 64 MiB in
/// 5 s, so that it receives the response before its stream ends.
#[derive(Debug)]
pub struct IncomingBody {
    /// `None` after the drop has begun.
    body: Option<Incoming>,
    is_http2: bool,
}

impl IncomingBody {
    pub(crate) fn http1(body: Incoming) -> Self {
        Self { body: Some(body), is_http2: false }
    }

    pub(crate) fn http2(body: Incoming) -> Self {
        Self { body: Some(body), is_http2: true }
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.get_mut().body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
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
        let is_open = |body: &Incoming| self.is_http2 && !is_panicking && !body.is_end_stream();
        let rest = self.body.take().filter(is_open);
        // A runtime that has ended closes the connection as well.
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(DISCARD.observe(TaskName::Unnamed, async move {
                let _ended_in_time = tokio::time::timeout(TIMEOUT, discard(rest)).await;
            }));
        }
    }
}

/// Reads a body until its end or the limit. The stream stays open meanwhile, because it is not
/// reset before all its parts are dropped. The end of the connection ends the body too. This
/// does not count as a request: after the responses, a full server may close the connection to make
/// room.
async fn discard(mut body: Incoming) {
    let mut bytes = 0;
    while bytes < BYTES_MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
}
