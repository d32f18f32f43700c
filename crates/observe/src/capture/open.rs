//! A capture in progress, in which one request, upload or feed records its steps.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;
use weir_sync::Lock;

use super::permits::CapturePermit;
use super::step::{Step, StepDetail, StepTotal};
use super::steps::Steps;

/// The number of texts, such as the head of a request, that a capture keeps.
const TEXTS_MAX: usize = 16;

/// The most bytes of a text.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// The most bytes of a detail or a name.
const DETAIL_BYTES_MAX: usize = 1 << 10;

/// A capture in progress, in which one request, upload or feed records its steps. Clones share it.
/// It is complete when the last clone is dropped, so that steps after the end can still be
/// recorded.
#[derive(Debug, Clone)]
pub struct OpenCapture(Arc<SharedCapture>);

/// The state that the clones of a capture share.
#[derive(Debug)]
pub(super) struct SharedCapture {
    begun: Instant,
    begun_at: SystemTime,
    /// Whether nobody waits for it any more.
    is_closed: AtomicBool,
    state: Lock<CaptureState>,
}

#[derive(Debug)]
struct CaptureState {
    name: String,
    /// When the last lap ended.
    lap: Instant,
    steps: Steps,
    texts: Vec<(&'static str, String)>,
    /// The number and the channel of the wait that gets the capture.
    recipient: Option<(u64, oneshot::Sender<Capture>)>,
    /// The permit to exist; `None` after the capture was closed.
    permit: Option<CapturePermit>,
}

/// The recorded steps of one request, upload or feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The name of the request, upload or feed, for a person.
    pub name: String,
    /// When it began.
    pub begun_at: SystemTime,
    /// How long it took; so far, if it has not ended.
    pub duration: Duration,
    /// Whether it has ended.
    pub has_ended: bool,
    /// The first and the last steps, in the order in which they were recorded.
    pub steps: Vec<Step>,
    /// How many of `steps` come before the omitted ones.
    pub first_steps: usize,
    /// The number of omitted steps.
    pub steps_left_out: u64,
    /// The totals of all steps, by name.
    pub totals: Vec<StepTotal>,
    /// Titled texts, such as the head of a request.
    pub texts: Vec<(&'static str, String)>,
}

impl OpenCapture {
    pub(super) fn new(permit: CapturePermit, name: &str) -> Self {
        let begun = Instant::now();
        let state = CaptureState {
            name: truncate(name, DETAIL_BYTES_MAX),
            lap: begun,
            steps: Steps::default(),
            texts: Vec::new(),
            recipient: None,
            permit: Some(permit),
        };
        let is_closed = AtomicBool::new(false);
        let (begun_at, state) = (SystemTime::now(), Lock::new(state));
        Self(Arc::new(SharedCapture { begun, begun_at, is_closed, state }))
    }

    pub(super) fn shared(&self) -> &Arc<SharedCapture> {
        &self.0
    }

    /// Records a step from the end of the last lap until now.
    pub fn lap(&self, name: &'static str, detail: impl Into<StepDetail>) {
        let ended = Instant::now();
        let mut state = self.0.state.lock();
        let begun = std::mem::replace(&mut state.lap, ended);
        state.push(self.0.step(name, begun..ended, detail.into()));
    }

    /// Records a step between two instants.
    pub fn step(&self, name: &'static str, times: Range<Instant>, detail: impl Into<StepDetail>) {
        let step = self.0.step(name, times, detail.into());
        self.0.state.lock().push(step);
    }

    /// Adds a text, such as the head of a request, truncated to 32 KiB. Only the first 16 texts are
    /// kept. The text must not contain secrets.
    pub fn text(&self, title: &'static str, text: &str) {
        let mut state = self.0.state.lock();
        if state.texts.len() < TEXTS_MAX && state.permit.is_some() {
            state.texts.push((title, truncate(text, TEXT_BYTES_MAX)));
        }
    }
}

impl CaptureState {
    fn push(&mut self, step: Step) {
        if self.permit.is_some() {
            self.steps.push(step);
        }
    }
}

impl SharedCapture {
    fn step(&self, name: &'static str, times: Range<Instant>, detail: StepDetail) -> Step {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let signed = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let begun_ns = match times.start.checked_duration_since(self.begun) {
            Some(after) => signed(after),
            None => -signed(self.begun - times.start),
        };
        let duration_ns = ns(times.end.saturating_duration_since(times.start));
        let StepDetail { bytes, text } = detail;
        Step { name, begun_ns, duration_ns, bytes, detail: truncate(&text, DETAIL_BYTES_MAX) }
    }

    /// Assigns the capture to a wait.
    pub(super) fn send_to(&self, wait: u64, sender: oneshot::Sender<Capture>) {
        self.state.lock().recipient = Some((wait, sender));
    }

    /// Returns whether the capture is assigned to this wait.
    pub(super) fn is_for(&self, wait: u64) -> bool {
        self.state.lock().recipient.as_ref().is_some_and(|(number, _)| *number == wait)
    }

    /// Returns whether the capture is assigned to no wait.
    pub(super) fn is_unassigned(&self) -> bool {
        self.state.lock().recipient.is_none()
    }

    /// Returns whether the capture was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Closes the capture and discards its steps, unless it is assigned to a wait.
    pub(super) fn close_if_unassigned(&self) {
        let mut state = self.state.lock();
        if state.recipient.is_none() {
            self.is_closed.store(true, Ordering::Relaxed);
            state.permit = None;
            state.steps = Steps::default();
            state.texts = Vec::new();
        }
    }

    /// Returns the capture so far, of a subject that has not ended.
    pub(super) fn snapshot(&self) -> Capture {
        self.copy(&self.state.lock(), false)
    }

    fn copy(&self, state: &CaptureState, has_ended: bool) -> Capture {
        let steps = state.steps.snapshot();
        Capture {
            name: state.name.clone(),
            begun_at: self.begun_at,
            duration: self.begun.elapsed(),
            has_ended,
            steps: steps.steps,
            first_steps: steps.first,
            steps_left_out: steps.left_out,
            totals: steps.totals,
            texts: state.texts.clone(),
        }
    }
}

impl Drop for SharedCapture {
    fn drop(&mut self) {
        let Some((_, sender)) = self.state.lock().recipient.take() else { return };
        // The send fails if nobody waits any more.
        let _ = sender.send(self.copy(&self.state.lock(), true));
    }
}

/// Truncates a text at a character boundary, and appends an ellipsis if it was longer.
fn truncate(text: &str, bytes_max: usize) -> String {
    match text.len() <= bytes_max {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(bytes_max)]),
    }
}
