//! The body of a response.

mod batch;
mod channel;
mod file;
mod forwarded;
mod polled_parts;

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::body::{Frame, SizeHint};

pub use self::batch::Batch;
pub use self::channel::{BodyAbortError, BodySender, ClientGoneError};
use self::channel::{Parts, channel};
use self::file::FileRange;
use self::forwarded::ForwardedBody;
use self::polled_parts::PolledParts;
use crate::file_queue::FileQueue;

/// The body of a response.
///
/// Parts that are ready together are sent in one write and in one chunk, and are not copied unless
/// they are very small. If no other part is ready, the ready ones are sent at once, so neither the
/// first byte nor the parts of a slow producer are held back.
///
/// ```
/// use weir_net::Body;
/// let whole = Body::from("all at once");
/// let list = Body::from_parts(["one", "two"]);
/// let (sender, parts) = Body::channel(64 << 10);
/// # drop((whole, list, sender, parts, Body::empty()));
/// ```
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    /// Sent in one piece, then `None`.
    Whole(Option<Bytes>),
    /// Known parts, and the number of their bytes.
    List(VecDeque<Bytes>, u64),
    Parts(Parts),
    Polled(PolledParts),
    File(FileRange),
    Forwarded(ForwardedBody),
}

impl Body {
    /// Creates an empty body.
    pub fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    /// Creates a body of known parts. Its length is known too, so it is not chunked.
    pub fn from_parts<P: Into<Bytes>>(parts: impl IntoIterator<Item = P>) -> Self {
        let parts = parts.into_iter();
        let mut list = VecDeque::with_capacity(parts.size_hint().0);
        list.extend(parts.map(Into::into).filter(|part: &Bytes| !part.is_empty()));
        if list.len() <= 1 {
            return Self(Kind::Whole(list.pop_front()));
        }
        let bytes = list.iter().map(|part| part.len() as u64).sum();
        Self(Kind::List(list, bytes))
    }

    /// Creates a body that is fed through the returned sender, chunked on the wire.
    ///
    /// While the queued parts cost `bytes_max` bytes or more, [`BodySender::send`] waits for the
    /// client. A part costs its bytes and 64 more. The last part may exceed the limit, so a client
    /// that does not read costs up to `bytes_max` and one part. The buffers of the connection (472
    /// KiB and another part) and of its socket come on top.
    pub fn channel(bytes_max: usize) -> (BodySender, Self) {
        let (sender, parts) = channel(bytes_max);
        (sender, Self(Kind::Parts(parts)))
    }

    /// Creates a body whose parts are produced when the connection has room for them, chunked on
    /// the wire.
    ///
    /// `poll` follows the rules of [`std::future::poll_fn`]. It runs on the thread of the
    /// connection, so use a [`channel`](Self::channel) for parts that take long to produce.
    pub fn poll_fn<F>(poll: F) -> Self
    where
        F: FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyAbortError>>> + Send + 'static,
    {
        Self(Kind::Polled(PolledParts::new(Box::new(poll))))
    }

    /// Creates a body from a range of a file, which must lie within the file. If the file becomes
    /// shorter before it is sent, the response is aborted.
    ///
    /// On Linux, over TCP and Unix sockets, the kernel copies the file into the socket.
    pub fn file(file: Arc<File>, range: Range<u64>) -> Self {
        Self(Kind::File(FileRange::new(file, range)))
    }

    /// Creates a body that forwards the body of another server, with its trailer fields. Its length
    /// is known if that server declared it.
    ///
    /// Each part is read from that server only when the client has room for it.
    pub fn forwarded<B>(body: B) -> Self
    where
        B: hyper::body::Body<Data = Bytes, Error = BodyAbortError> + Send + Unpin + 'static,
    {
        Self(Kind::Forwarded(ForwardedBody::new(body)))
    }

    /// Whether the body comes from another server.
    pub(crate) fn is_forwarded(&self) -> bool {
        matches!(self.0, Kind::Forwarded(_))
    }

    /// Lets the kernel copy files into the socket to which this queue belongs.
    pub(crate) fn send_files_through(&mut self, queue: &FileQueue) {
        if let Kind::File(file) = &mut self.0 {
            file.send_through(queue);
        }
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }
}

impl hyper::body::Body for Body {
    type Data = Batch;
    type Error = BodyAbortError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Batch>, BodyAbortError>>> {
        let next = match &mut self.get_mut().0 {
            Kind::Forwarded(body) => return body.poll_frame(context),
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(bytes.into()))),
            Kind::List(parts, bytes) => {
                let batch = Batch::take(parts);
                *bytes -= batch.as_ref().map_or(0, Batch::remaining) as u64;
                Poll::Ready(batch.map(Ok))
            }
            Kind::Parts(parts) => parts.poll_next(context),
            Kind::Polled(parts) => parts.poll_next(context),
            Kind::File(file) => {
                let part = file.poll_next(context);
                part.map(|part| Some(part?.map(Batch::from).map_err(|_| BodyAbortError)))
            }
        };
        next.map(|batch| batch.map(|batch| batch.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_none(),
            Kind::List(parts, _) => parts.is_empty(),
            Kind::Parts(parts) => parts.is_finished(),
            Kind::Polled(parts) => parts.is_finished(),
            Kind::File(file) => file.remaining() == 0,
            Kind::Forwarded(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::List(_, bytes) => SizeHint::with_exact(*bytes),
            Kind::Parts(parts) if parts.is_finished() => SizeHint::with_exact(0),
            Kind::Polled(parts) if parts.is_finished() => SizeHint::with_exact(0),
            Kind::Parts(_) | Kind::Polled(_) => SizeHint::default(),
            Kind::File(file) => SizeHint::with_exact(file.remaining()),
            Kind::Forwarded(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    async fn frames(mut body: Body) -> Result<Vec<usize>, BodyAbortError> {
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            sizes.push(frame?.into_data().map_or(0, |data| data.remaining()));
        }
        Ok(sizes)
    }

    #[tokio::test]
    async fn ready_parts_leave_together() {
        let (sender, body) = Body::channel(1 << 20);
        for _ in 0..70 {
            sender.send(vec![b'x'; 1000]).await.unwrap();
        }
        sender.send(vec![b'y'; 1 << 19]).await.unwrap();
        sender.send("tail").await.unwrap();
        sender.finish().unwrap();
        assert_eq!(frames(body).await, Ok(vec![59_000, 11_000, 1 << 19, 4]));
    }

    #[tokio::test]
    async fn a_lone_part_is_not_held_back() {
        let (sender, mut body) = Body::channel(4);
        for part in ["one", "two"] {
            sender.send(part).await.unwrap();
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap().chunk(), part.as_bytes());
        }
        sender.finish().unwrap();
        assert!(body.frame().await.is_none());
        assert!(hyper::body::Body::is_end_stream(&body));
    }

    #[tokio::test]
    async fn a_sender_that_vanishes_aborts_the_body() {
        let (sender, mut body) = Body::channel(4);
        sender.send("half").await.unwrap();
        drop(sender);
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap().chunk(), b"half");
        assert_eq!(body.frame().await.unwrap().unwrap_err(), BodyAbortError);
    }

    #[tokio::test]
    async fn a_reader_that_vanishes_is_reported() {
        let (sender, body) = Body::channel(4);
        drop(body);
        sender.closed().await;
        assert_eq!(sender.send("x").await, Err(ClientGoneError));
        assert_eq!(sender.finish(), Err(ClientGoneError));
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_producer_wait() {
        let (sender, mut body) = Body::channel(2 * (4 + 64));
        for part in ["1234", "5678"] {
            sender.send(part).await.unwrap();
        }
        let mut third = Box::pin(sender.send("9"));
        let waits = poll_once(third.as_mut()).await;
        assert!(waits.is_pending(), "two parts are queued");
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap().chunk(), b"12345678");
        assert_eq!(third.await, Ok(()));
    }

    /// The result of polling a future once.
    async fn poll_once<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut future).poll(context))).await
    }

    #[tokio::test]
    async fn a_part_that_took_long_leaves_alone() {
        let mut left = 3;
        let body = Body::poll_fn(move |_| {
            left -= 1;
            let pause = std::time::Duration::from_millis(2);
            std::thread::sleep(pause);
            Poll::Ready((left >= 0).then(|| Ok(vec![b'x'; 100].into())))
        });
        assert_eq!(frames(body).await, Ok(vec![100, 100, 100]));
    }

    #[tokio::test]
    async fn a_thread_can_feed_a_body() {
        let (sender, body) = Body::channel(1_000);
        let producer = std::thread::spawn(move || {
            for _ in 0..1_000 {
                sender.send_blocking(vec![b'x'; 100])?;
            }
            sender.finish()
        });
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!(bytes.len(), 100_000);
        assert_eq!(producer.join().unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_thread_hears_that_its_reader_has_gone() {
        let (sender, body) = Body::channel(10);
        let producer = std::thread::spawn(move || {
            loop {
                if let Err(gone) = sender.send_blocking("0123456789") {
                    return gone;
                }
            }
        });
        drop(body);
        assert_eq!(producer.join().unwrap(), ClientGoneError);
    }

    #[tokio::test]
    async fn known_bodies_know_their_size() {
        for (body, size) in [
            (Body::empty(), 0),
            (Body::from(""), 0),
            (Body::from("four"), 4),
            (Body::from_parts(["", "four", "", "more"]), 8),
            (Body::from_parts([""; 2]), 0),
        ] {
            assert_eq!(hyper::body::Body::size_hint(&body).exact(), Some(size));
            let bytes = body.collect().await.unwrap().to_bytes();
            assert_eq!(bytes.len() as u64, size);
        }
    }

    #[tokio::test]
    async fn the_parts_of_a_list_leave_together() {
        let body = Body::from_parts(vec![vec![b'x'; 1000]; 100]);
        assert_eq!(frames(body).await, Ok(vec![59_000, 41_000]));
    }

    #[tokio::test]
    async fn a_large_part_leaves_uncopied() {
        let part = Bytes::from(vec![b'x'; 100_000]);
        let (sender, channel) = Body::channel(1);
        sender.send(part.clone()).await.unwrap();
        let mut polled = Some(part.clone());
        let forwarded = http_body_util::Full::new(part.clone()).map_err(|never| match never {});
        for (kind, mut body) in [
            ("whole", Body::from(part.clone())),
            ("list", Body::from_parts([part.clone(), Bytes::from_static(b"tail")])),
            ("channel", channel),
            ("polled", Body::poll_fn(move |_| Poll::Ready(polled.take().map(Ok)))),
            ("forwarded", Body::forwarded(forwarded)),
        ] {
            let batch = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(batch.chunk().as_ptr_range(), part.as_ptr_range(), "{kind}");
        }
    }
}
