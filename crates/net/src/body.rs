//! The body of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// Parts smaller than this are merged while more are ready. hyper writes every part as a chunk
/// of its own with two small buffers around it, so a body of many small parts costs more in
/// chunk heads and system calls than in copying. One TLS record.
const MERGE_BYTES: usize = 16 * 1024;

/// The body of a response.
///
/// ```
/// use weir_net::Body;
/// let whole = Body::from("all at once");
/// let (sender, parts) = Body::channel(16);
/// # drop((whole, sender, parts, Body::empty()));
/// ```
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    /// Sent in one piece, then `None`.
    Whole(Option<Bytes>),
    Parts(Parts),
}

impl Body {
    /// An empty body.
    pub fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    /// A body fed through the returned sender, chunked on the wire.
    ///
    /// Up to `parts_max` parts (at least 1) are queued; then [`BodySender::send`] waits for the
    /// client. Parts that are ready together are merged. When no more is ready they are sent, so
    /// the parts of a slow producer are never held back.
    pub fn channel(parts_max: usize) -> (BodySender, Self) {
        let (sender, receiver) = mpsc::channel(parts_max.max(1));
        let parts = Parts { receiver, held: None, state: State::Open };
        (BodySender { sender }, Self(Kind::Parts(parts)))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BodyAbortError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyAbortError>>> {
        let next = match &mut self.get_mut().0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Kind::Parts(parts) => parts.poll_merged(context),
        };
        next.map(|part| part.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_none(),
            Kind::Parts(parts) => parts.is_finished(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Parts(parts) if parts.is_finished() => SizeHint::with_exact(0),
            Kind::Parts(_) => SizeHint::default(),
        }
    }
}

/// Feeds a [`Body::channel`].
///
/// A sender that is dropped without [`finish`](BodySender::finish), by an error or a panic,
/// aborts the response: the client sees a connection cut short instead of an answer that looks
/// whole.
#[derive(Debug)]
pub struct BodySender {
    sender: mpsc::Sender<Part>,
}

impl BodySender {
    /// Sends the next part, waiting while the queue is full. Fails once the client is gone.
    pub async fn send(&self, part: impl Into<Bytes>) -> Result<(), ClientGoneError> {
        let bytes = part.into();
        if bytes.is_empty() {
            return Ok(());
        }
        self.sender.send(Part::Bytes(bytes)).await.map_err(|_| ClientGoneError)
    }

    /// Ends the body: everything was sent. Fails when the client went away before.
    pub async fn finish(self) -> Result<(), ClientGoneError> {
        self.sender.send(Part::End).await.map_err(|_| ClientGoneError)
    }

    /// Waits until the body is dropped, because the client is gone or has it all.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// The producer of a [`Body::channel`] went away before the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyAbortError;

impl fmt::Display for BodyAbortError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the response ended before all of its body was produced")
    }
}

impl std::error::Error for BodyAbortError {}

/// The client of a [`Body::channel`] went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientGoneError;

impl fmt::Display for ClientGoneError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the client went away before the whole response was sent")
    }
}

impl std::error::Error for ClientGoneError {}

#[derive(Debug)]
enum Part {
    Bytes(Bytes),
    End,
}

/// The receiving end of a channel body.
#[derive(Debug)]
struct Parts {
    receiver: mpsc::Receiver<Part>,
    /// A part that exceeded the room in the merged part before it.
    held: Option<Bytes>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The sender finished: the body is whole.
    Finished,
    /// The sender was dropped before it finished.
    Aborted,
}

impl Parts {
    fn is_finished(&self) -> bool {
        self.state == State::Finished && self.held.is_none()
    }

    /// The parts that are ready now, as one; pending only when none is.
    fn poll_merged(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyAbortError>>> {
        let mut merged = BytesMut::new();
        loop {
            match self.poll_part(context) {
                Poll::Ready(Some(part)) if merged.is_empty() => {
                    if part.len() >= MERGE_BYTES {
                        return Poll::Ready(Some(Ok(part)));
                    }
                    merged = part.try_into_mut().unwrap_or_else(|shared| shared[..].into());
                }
                Poll::Ready(Some(part)) if merged.len() + part.len() <= MERGE_BYTES => {
                    merged.extend_from_slice(&part);
                }
                Poll::Ready(Some(part)) => {
                    self.held = Some(part);
                    return Poll::Ready(Some(Ok(merged.freeze())));
                }
                _ if !merged.is_empty() => return Poll::Ready(Some(Ok(merged.freeze()))),
                Poll::Ready(None) if self.state == State::Aborted => {
                    return Poll::Ready(Some(Err(BodyAbortError)));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// The next part as it was sent; `None` once the state is no longer open.
    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(held) = self.held.take() {
            return Poll::Ready(Some(held));
        }
        if self.state != State::Open {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(context).map(|part| match part {
            Some(Part::Bytes(bytes)) => Some(bytes),
            Some(Part::End) => {
                self.state = State::Finished;
                None
            }
            None => {
                self.state = State::Aborted;
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn frames(mut body: Body) -> Result<Vec<usize>, BodyAbortError> {
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            sizes.push(frame?.into_data().map_or(0, |data| data.len()));
        }
        Ok(sizes)
    }

    #[tokio::test]
    async fn ready_parts_are_merged_up_to_the_limit() {
        let (sender, body) = Body::channel(64);
        for _ in 0..20 {
            sender.send(vec![b'x'; 1000]).await.unwrap();
        }
        sender.send(vec![b'y'; MERGE_BYTES]).await.unwrap();
        sender.send("tail").await.unwrap();
        sender.finish().await.unwrap();
        assert_eq!(frames(body).await, Ok(vec![16_000, 4_000, MERGE_BYTES, 4]));
    }

    #[tokio::test]
    async fn a_lone_part_is_not_held_back() {
        let (sender, mut body) = Body::channel(4);
        for part in ["one", "two"] {
            sender.send(part).await.unwrap();
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), part);
        }
        sender.finish().await.unwrap();
        assert!(body.frame().await.is_none());
        assert!(hyper::body::Body::is_end_stream(&body));
    }

    #[tokio::test]
    async fn a_sender_that_vanishes_aborts_the_body() {
        let (sender, mut body) = Body::channel(4);
        sender.send("half").await.unwrap();
        drop(sender);
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
        assert_eq!(body.frame().await.unwrap().unwrap_err(), BodyAbortError);
    }

    #[tokio::test]
    async fn a_reader_that_vanishes_is_reported() {
        let (sender, body) = Body::channel(4);
        drop(body);
        sender.closed().await;
        assert_eq!(sender.send("x").await, Err(ClientGoneError));
    }

    #[tokio::test]
    async fn whole_bodies_know_their_size() {
        for (body, size) in [(Body::empty(), 0), (Body::from(""), 0), (Body::from("four"), 4)] {
            assert_eq!(hyper::body::Body::size_hint(&body).exact(), Some(size));
            let bytes = body.collect().await.unwrap().to_bytes();
            assert_eq!(bytes.len() as u64, size);
        }
    }
}
