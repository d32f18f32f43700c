//! The body of a request, which must arrive at a minimum rate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Body;
use hyper::http::request::Parts;
use tokio::time::Instant;

use crate::incoming_body::IncomingBody;
use crate::options::BodyRate;
use crate::socket::{ConnectionEnd, ConnectionEnds};

/// The body of a request, read part by part. Reading fails if the client sends less than the
/// [minimum rate](BodyRate) of the server.
///
/// Only the time in which [`next`](Self::next) waits counts. A handler that takes long to process a
/// part, for instance because its queue is full, does not use up the client's time.
#[derive(Debug)]
pub struct RequestBody<B = IncomingBody> {
    body: B,
    rate: BodyRate,
    /// The time that the client may still take.
    credit: Duration,
    /// Counts a client that is too slow.
    ends: Option<Arc<ConnectionEnds>>,
}

impl RequestBody {
    /// Takes the body of a request that a [`Server`](crate::Server) has received.
    pub fn of(request: Request<IncomingBody>) -> (Parts, Self) {
        let (parts, body) = request.into_parts();
        let rate = parts.extensions.get().copied().unwrap_or_default();
        let ends = parts.extensions.get().cloned();
        (parts, Self { ends, ..Self::new(body, rate) })
    }
}

impl<B: Body<Data = Bytes> + Unpin> RequestBody<B> {
    fn new(body: B, rate: BodyRate) -> Self {
        Self { body, rate, credit: rate.grace, ends: None }
    }

    /// Returns the number of bytes that are left; `None` if the request does not declare its
    /// length.
    pub fn bytes_left(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Waits for the next part. Returns `None` at the end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// If the client is too slow, or the connection breaks.
    pub async fn next(&mut self) -> Option<Result<Bytes, RequestBodyError>> {
        let deadline = tokio::time::sleep(self.credit);
        let mut wait = Wait { body: self, started_at: Instant::now() };
        let received = tokio::select! {
            // A part that has arrived is returned even after the deadline.
            biased;
            received = wait.next_data() => received,
            () = deadline => Some(Err(RequestBodyError::TooSlow(wait.body.rate))),
        };
        match (&received, &wait.body.ends) {
            (Some(Ok(part)), _) => wait.body.earn(part.len()),
            (Some(Err(RequestBodyError::TooSlow(_))), Some(ends)) => {
                ends.count(ConnectionEnd::SlowBody);
            }
            _ => {}
        }
        received
    }

    /// Adds the credit for received bytes. The time of the wait is subtracted afterwards.
    fn earn(&mut self, bytes: usize) {
        let seconds = bytes as f64 / self.rate.bytes_per_s.max(f64::MIN_POSITIVE);
        let earned = Duration::try_from_secs_f64(seconds).unwrap_or(self.rate.grace);
        self.credit = self.credit.saturating_add(earned);
    }
}

/// A wait for the client. Dropping it charges the client for its time.
struct Wait<'a, B: Body<Data = Bytes> + Unpin> {
    body: &'a mut RequestBody<B>,
    started_at: Instant,
}

impl<B: Body<Data = Bytes> + Unpin> Wait<'_, B> {
    /// Waits for the next data. Trailer fields are ignored.
    async fn next_data(&mut self) -> Option<Result<Bytes, RequestBodyError>> {
        loop {
            match self.body.body.frame().await? {
                Ok(frame) => match frame.into_data() {
                    Ok(part) => return Some(Ok(part)),
                    Err(_trailers) => {}
                },
                Err(_) => return Some(Err(RequestBodyError::Broken)),
            }
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Drop for Wait<'_, B> {
    fn drop(&mut self) {
        let left = self.body.credit.saturating_sub(self.started_at.elapsed());
        self.body.credit = left.min(self.body.rate.grace);
    }
}

/// The error of reading a request's body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestBodyError {
    /// The client sends less than this rate. Answer with `408`.
    TooSlow(BodyRate),
    /// The connection broke, or the body is malformed.
    Broken,
}

impl fmt::Display for RequestBodyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSlow(BodyRate { bytes_per_s, grace }) => write!(
                formatter,
                "the client sent less than {bytes_per_s} bytes a second for {} s",
                grace.as_secs_f64()
            ),
            Self::Broken => formatter.write_str("the connection broke within the body"),
        }
    }
}

impl std::error::Error for RequestBodyError {}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};
    use std::time::Duration;

    use bytes::Bytes;
    use hyper::body::{Body, Frame};
    use tokio::time::{Instant, Sleep, sleep, timeout};

    use super::{BodyRate, RequestBody, RequestBodyError};

    const RATE: BodyRate = BodyRate { bytes_per_s: 10.0, grace: Duration::from_secs(30) };

    /// Sends parts of the given sizes, each some seconds after the one before.
    struct Client {
        parts: VecDeque<(f64, usize)>,
        next: Option<Pin<Box<Sleep>>>,
    }

    impl Client {
        fn body(parts: impl IntoIterator<Item = (f64, usize)>) -> RequestBody<Self> {
            RequestBody::new(Self { parts: parts.into_iter().collect(), next: None }, RATE)
        }
    }

    impl Body for Client {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some((seconds, bytes)) = self.parts.front().copied() else {
                return Poll::Ready(None);
            };
            let pause = || Box::pin(sleep(Duration::from_secs_f64(seconds)));
            ready!(self.next.get_or_insert_with(pause).as_mut().poll(context));
            self.next = None;
            self.parts.pop_front();
            Poll::Ready(Some(Ok(Frame::data(vec![b'x'; bytes].into()))))
        }
    }

    async fn read(mut body: RequestBody<Client>) -> Result<usize, RequestBodyError> {
        let mut bytes = 0;
        while let Some(part) = body.next().await {
            bytes += part?.len();
        }
        Ok(bytes)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_trickles_is_given_up_after_the_grace() {
        let started_at = Instant::now();
        // A byte every 5 s, which is worth 0.1 s.
        let body = Client::body(std::iter::repeat_n((5.0, 1), 100));
        assert_eq!(read(body).await, Err(RequestBodyError::TooSlow(RATE)));
        assert_eq!(
            started_at.elapsed(),
            Duration::from_secs_f64(30.6),
            "30 s, and 0.1 s for each of 6"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_minimum_rate_suffices_for_ever() {
        let body = Client::body(std::iter::repeat_n((5.0, 51), 10_000));
        assert_eq!(read(body).await, Ok(510_000));
    }

    #[tokio::test(start_paused = true)]
    async fn much_at_once_buys_no_more_than_the_grace() {
        let body = Client::body([(0.0, 1 << 20), (31.0, 1)]);
        assert_eq!(read(body).await, Err(RequestBodyError::TooSlow(RATE)));
        let body = Client::body([(29.0, 1 << 20), (29.0, 1)]);
        assert_eq!(read(body).await, Ok((1 << 20) + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn time_of_the_handler_costs_the_client_nothing() {
        let mut body = Client::body(std::iter::repeat_n((2.0, 1), 15));
        for _ in 0..14 {
            // The handler drops a wait, and is busy for long.
            assert!(timeout(Duration::from_secs(1), body.next()).await.is_err());
            sleep(Duration::from_secs(3_600)).await;
            assert_eq!(body.next().await, Some(Ok(Bytes::from("x"))));
        }
        assert!(body.credit > Duration::from_secs(16), "{:?}", body.credit);
    }
}
