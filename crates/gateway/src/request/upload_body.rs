//! The body of a request, streamed to a backend.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use weir_net::{BodyRate, IncomingBody};
use weir_observe::capture::OpenCapture;

use super::continue_gate::{BodyRefused, ContinueGate, Expectation};
use crate::header_fields::{ClientFields, clean_trailers};

/// The body of a request. It is read from the client only as fast as the backend accepts it.
#[derive(Debug)]
pub(crate) struct UploadBody(Kind);

#[derive(Debug)]
enum Kind {
    /// A body in memory, sent in one piece; `None` afterwards.
    Whole(Option<Bytes>),
    /// Boxed because the state is large and few requests have a body.
    Upload(Box<Upload>),
}

#[derive(Debug)]
struct Upload {
    body: IncomingBody,
    /// The longest pause of the client.
    idle: Duration,
    rate: BodyRate,
    bytes: u64,
    /// How long the backend has waited for the client in total.
    waited: Duration,
    wait: Option<Wait>,
    /// The wait for `100 Continue`, until it is over.
    expectation: Option<Expectation>,
    progress: UploadProgress,
    /// The capture of the request, if a capture is pending.
    capture: Option<OpenCapture>,
    /// The fields that are removed from trailers, and those that are not.
    client_fields: Arc<ClientFields>,
}

/// A wait for the client.
#[derive(Debug)]
struct Wait {
    started_at: Instant,
    deadline: Pin<Box<Sleep>>,
}

impl Upload {
    /// How long the client may take for the next part: a grace period, plus the time that the
    /// slowest permitted rate allows for the bytes so far, minus the time already waited. At most
    /// [`idle`](Self::idle).
    fn patience(&self) -> Duration {
        let earned = self.bytes as f64 / self.rate.bytes_per_s.max(f64::MIN_POSITIVE);
        let earned = Duration::try_from_secs_f64(earned).unwrap_or(self.idle);
        let credit = self.rate.grace.saturating_add(earned).saturating_sub(self.waited);
        self.idle.min(credit)
    }

    /// Waits until the backend wants the body, if the client wants to know.
    fn poll_wanted(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyRefused>> {
        let (Some(expectation), Some(progress)) = (&mut self.expectation, &self.progress.0) else {
            return Poll::Ready(Ok(()));
        };
        ready!(progress.gate.poll_open(expectation, context))?;
        self.expectation = None;
        Poll::Ready(Ok(()))
    }

    /// Notes a frame of the client, and cleans its trailers for the backend.
    fn process_frame(
        &mut self,
        frame: Result<Frame<Bytes>, hyper::Error>,
    ) -> Result<Frame<Bytes>, UploadError> {
        let Ok(mut frame) = frame else {
            self.progress.note_break();
            return Err(UploadError::Broken);
        };
        if self.body.is_end_stream() {
            self.progress.note_end();
        }
        if let Some(capture) = &self.capture {
            self.note(capture, &frame);
        }
        self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        if let Some(trailers) = frame.trailers_mut() {
            clean_trailers(trailers, &self.client_fields);
        }
        Ok(frame)
    }

    /// Ends a wait after a part has arrived.
    fn end_wait(&mut self) {
        if let Some(wait) = self.wait.take() {
            self.waited += wait.started_at.elapsed();
            if let Some(capture) = &self.capture {
                let times = wait.started_at.into_std()..Instant::now().into_std();
                capture.step("wait for the client", times, "");
            }
        }
    }

    fn note(&self, capture: &OpenCapture, frame: &Frame<Bytes>) {
        let now = Instant::now().into_std();
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        capture.step("request body", now..now, bytes);
    }
}

/// The shared progress of a body: when a part was last sent, whether the client is to send the next
/// one, and whether it aborted the body. `None` for a request without a body.
#[derive(Debug, Clone)]
pub(crate) struct UploadProgress(Option<Arc<ProgressState>>);

#[derive(Debug)]
struct ProgressState {
    is_broken: AtomicBool,
    is_complete: AtomicBool,
    started_at: Instant,
    /// When the backend last accepted a part, in milliseconds since `started_at`.
    last_part_ms: AtomicU64,
    /// Whether the backend would accept a part and the client has sent none.
    lacks_part: AtomicBool,
    gate: ContinueGate,
}

impl UploadProgress {
    fn started(is_awaited: bool) -> Self {
        Self(Some(Arc::new(ProgressState {
            is_broken: AtomicBool::new(false),
            is_complete: AtomicBool::new(false),
            started_at: Instant::now(),
            last_part_ms: AtomicU64::new(0),
            lacks_part: AtomicBool::new(false),
            gate: ContinueGate::new(is_awaited),
        })))
    }

    /// Whether the client aborted the body, or sent nothing for too long.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.as_ref().is_some_and(|progress| progress.is_broken.load(Ordering::Relaxed))
    }

    /// Whether the backend has accepted the whole body.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(|progress| progress.is_complete.load(Ordering::Relaxed))
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(crate) fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|progress| progress.gate.is_closed())
    }

    /// Lets the client send the body, because the backend asks for it.
    pub(crate) fn let_continue(&self) {
        if let Some(progress) = &self.0 {
            progress.gate.open();
        }
    }

    /// Keeps the body back if the client still waits, because the backend has answered. It ends when the
    /// guard is dropped.
    pub(crate) fn refuse(&self) -> Option<RefusedUpload> {
        let progress = self.0.as_ref()?;
        progress.gate.refuse().then(|| RefusedUpload(self.clone()))
    }

    /// Waits until the backend has accepted no part of the body for `pause`, although there was
    /// one. Without a body, waits for `pause`.
    pub(crate) async fn wait_stalled(&self, pause: Duration) {
        let Some(progress) = &self.0 else { return tokio::time::sleep(pause).await };
        loop {
            // The flag must be read first: the writer stores the time of the last part and only then
            // clears the flag.
            let lacks_part = progress.lacks_part.load(Ordering::Acquire);
            let last_part = Duration::from_millis(progress.last_part_ms.load(Ordering::Relaxed));
            let end = progress.started_at + last_part + pause;
            let now = Instant::now();
            match now >= end {
                true if !lacks_part => return,
                // The client has its own limit. After its next part, the pause begins anew.
                true => tokio::time::sleep_until(now + pause).await,
                false => tokio::time::sleep_until(end).await,
            }
        }
    }

    /// Restarts the pause, because a part was accepted or the request is sent to another server.
    pub(crate) fn note_part(&self) {
        let Some(progress) = &self.0 else { return };
        let ms = u64::try_from(progress.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        progress.last_part_ms.store(ms, Ordering::Relaxed);
        progress.lacks_part.store(false, Ordering::Release);
    }

    /// Stops the pause until the client sends the next part.
    fn note_lack(&self) {
        if let Some(progress) = &self.0 {
            progress.lacks_part.store(true, Ordering::Relaxed);
        }
    }

    fn note_end(&self) {
        if let Some(progress) = &self.0 {
            progress.is_complete.store(true, Ordering::Relaxed);
        }
    }

    fn note_break(&self) {
        if let Some(progress) = &self.0 {
            progress.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

/// A body that a backend did not ask for.
#[derive(Debug)]
pub(crate) struct RefusedUpload(UploadProgress);

impl Drop for RefusedUpload {
    fn drop(&mut self) {
        if let Some(progress) = &self.0.0 {
            progress.gate.end();
        }
    }
}

impl UploadBody {
    pub(crate) fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    /// Creates a body of the gateway's own request.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// Creates the body of a client's request. It fails if the client sends nothing for `idle`.
    /// The expectation is that of a client that waits for `100 Continue`.
    pub(crate) fn new(
        body: IncomingBody,
        idle: Duration,
        expectation: Option<Expectation>,
        capture: &Option<OpenCapture>,
        client_fields: &Arc<ClientFields>,
    ) -> (Self, UploadProgress) {
        if body.is_end_stream() {
            return (Self::empty(), UploadProgress(None));
        }
        let progress = UploadProgress::started(expectation.is_some());
        let rate = BodyRate::default();
        let (waited, wait) = (Duration::ZERO, None);
        let upload = Upload {
            body,
            idle,
            rate,
            bytes: 0,
            waited,
            wait,
            expectation,
            progress: progress.clone(),
            capture: capture.clone(),
            client_fields: client_fields.clone(),
        };
        (Self(Kind::Upload(Box::new(upload))), progress)
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
        if ready!(upload.poll_wanted(context)).is_err() {
            return Poll::Ready(Some(Err(UploadError::Refused)));
        }
        if let Poll::Ready(next) = Pin::new(&mut upload.body).poll_frame(context) {
            upload.end_wait();
            upload.progress.note_part();
            if next.is_none() {
                upload.progress.note_end();
            }
            return Poll::Ready(next.map(|frame| upload.process_frame(frame)));
        }
        upload.progress.note_lack();
        let patience = upload.patience();
        let wait = upload.wait.get_or_insert_with(|| {
            let started_at = Instant::now();
            Wait { started_at, deadline: Box::pin(tokio::time::sleep_until(started_at + patience)) }
        });
        if wait.deadline.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        upload.progress.note_break();
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
    /// The client aborted the body, or it is malformed.
    Broken,
    /// The client sent nothing for too long.
    Idle,
    /// The backend answered before it asked for the body.
    Refused,
}

impl fmt::Display for UploadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Broken => "the client aborted the body of its request",
            Self::Idle => "the client sent nothing of the body of its request for too long",
            Self::Refused => "the server answered before it asked for the body of the request",
        })
    }
}

impl std::error::Error for UploadError {}
