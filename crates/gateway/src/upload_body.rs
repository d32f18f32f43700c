//! The body of a request on its way to a backend.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};
use weir_net::BodyRate;
use weir_observe::glass::Journal;

use crate::header_fields::clean_trailers;

/// The body of a request, read from the client as the backend takes it.
#[derive(Debug)]
pub(crate) struct UploadBody(Kind);

#[derive(Debug)]
enum Kind {
    /// Sent in one piece, then `None`.
    Whole(Option<Bytes>),
    /// Few requests have one, and what it needs is large.
    Upload(Box<Upload>),
}

#[derive(Debug)]
struct Upload {
    body: Incoming,
    /// How long the client may send nothing.
    idle: Duration,
    rate: BodyRate,
    bytes: u64,
    /// How long the backend has waited for the client.
    waited: Duration,
    wait: Option<Wait>,
    fate: UploadFate,
    /// The steps of the request, if somebody looks at it.
    journal: Option<Journal>,
}

/// A wait for the client.
#[derive(Debug)]
struct Wait {
    begun: Instant,
    deadline: Pin<Box<Sleep>>,
}

impl Upload {
    /// How long the client may take for the next part: it has a grace, and for each byte the time that the
    /// slowest rate allows.
    fn patience(&self) -> Duration {
        let earned = self.bytes as f64 / self.rate.bytes_per_s.max(f64::MIN_POSITIVE);
        let earned = Duration::try_from_secs_f64(earned).unwrap_or(self.idle);
        let credit = self.rate.grace.saturating_add(earned).saturating_sub(self.waited);
        self.idle.min(credit)
    }

    /// What the backend gets of a frame.
    fn pass(
        &mut self,
        frame: Result<Frame<Bytes>, hyper::Error>,
    ) -> Result<Frame<Bytes>, UploadError> {
        let Ok(mut frame) = frame else {
            self.fate.note_break();
            return Err(UploadError::Broken);
        };
        if self.body.is_end_stream() {
            self.fate.note_end();
        }
        if let Some(journal) = &self.journal {
            self.note(journal, &frame);
        }
        self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        if let Some(trailers) = frame.trailers_mut() {
            clean_trailers(trailers);
        }
        Ok(frame)
    }

    /// A part has come.
    fn end_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            self.waited += wait.begun.elapsed();
            if let Some(journal) = &self.journal {
                let times = (wait.begun.into_std(), Instant::now().into_std());
                journal.step("wait for the client", times, "");
            }
        }
    }

    fn note(&self, journal: &Journal, frame: &Frame<Bytes>) {
        let now = Instant::now().into_std();
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        journal.part("request body", (now, now), bytes, "");
    }
}

/// Tells how far a body has come, and whether it was the client that broke it off. A request without a body
/// has nothing to tell.
#[derive(Debug, Clone)]
pub(crate) struct UploadFate(Option<Arc<Fate>>);

#[derive(Debug)]
struct Fate {
    is_broken: AtomicBool,
    is_complete: AtomicBool,
    begun: Instant,
    /// When the last part was taken, in milliseconds since `begun`.
    last_part_ms: AtomicU64,
}

impl UploadFate {
    fn of_a_body() -> Self {
        Self(Some(Arc::new(Fate {
            is_broken: AtomicBool::new(false),
            is_complete: AtomicBool::new(false),
            begun: Instant::now(),
            last_part_ms: AtomicU64::new(0),
        })))
    }

    /// Whether the client broke off, or sent nothing for too long.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.as_ref().is_some_and(|fate| fate.is_broken.load(Ordering::Relaxed))
    }

    /// Whether the backend has taken all of it.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(|fate| fate.is_complete.load(Ordering::Relaxed))
    }

    /// Waits until no part of the body has been taken for so long. Without a body it is the time since the
    /// call.
    pub(crate) async fn ceased(&self, pause: Duration) {
        let Some(fate) = &self.0 else { return tokio::time::sleep(pause).await };
        loop {
            let last_part = Duration::from_millis(fate.last_part_ms.load(Ordering::Relaxed));
            let end = fate.begun + last_part + pause;
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }

    /// Begins to count anew: a part was taken, or the request is sent to another server.
    pub(crate) fn note_part(&self) {
        let Some(fate) = &self.0 else { return };
        let ms = u64::try_from(fate.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        fate.last_part_ms.store(ms, Ordering::Relaxed);
    }

    fn note_end(&self) {
        if let Some(fate) = &self.0 {
            fate.is_complete.store(true, Ordering::Relaxed);
        }
    }

    fn note_break(&self) {
        if let Some(fate) = &self.0 {
            fate.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

impl UploadBody {
    pub(crate) fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    /// A body that the gateway made itself.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// A body that fails if the client sends nothing for `idle`.
    pub(crate) fn new(
        body: Incoming,
        idle: Duration,
        journal: &Option<Journal>,
    ) -> (Self, UploadFate) {
        if body.is_end_stream() {
            return (Self::empty(), UploadFate(None));
        }
        let fate = UploadFate::of_a_body();
        let rate = BodyRate::default();
        let (waited, wait) = (Duration::ZERO, None);
        let (own_fate, journal) = (fate.clone(), journal.clone());
        let upload = Upload { body, idle, rate, bytes: 0, waited, wait, fate: own_fate, journal };
        (Self(Kind::Upload(Box::new(upload))), fate)
    }
}

impl Body for UploadBody {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let upload = match &mut self.0 {
            Kind::Whole(bytes) => return Poll::Ready(bytes.take().map(|it| Ok(Frame::data(it)))),
            Kind::Upload(upload) => upload,
        };
        if let Poll::Ready(next) = Pin::new(&mut upload.body).poll_frame(context) {
            upload.end_wait();
            upload.fate.note_part();
            if next.is_none() {
                upload.fate.note_end();
            }
            return Poll::Ready(next.map(|frame| upload.pass(frame)));
        }
        let patience = upload.patience();
        let wait = upload.wait.get_or_insert_with(|| {
            let begun = Instant::now();
            Wait { begun, deadline: Box::pin(tokio::time::sleep_until(begun + patience)) }
        });
        if wait.deadline.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        upload.fate.note_break();
        Poll::Ready(Some(Err(UploadError::Idle)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_none(),
            Kind::Upload(upload) => upload.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Upload(upload) => upload.body.size_hint(),
        }
    }
}

/// Why the body of a request ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadError {
    /// The client broke it off, or it is malformed.
    Broken,
    /// The client sent nothing for too long.
    Idle,
}

impl fmt::Display for UploadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Broken => "the client broke off the body of its request",
            Self::Idle => "the client sent nothing of the body of its request for too long",
        })
    }
}

impl std::error::Error for UploadError {}
