//! The journal of one request, upload or feed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;

use super::permits::JournalPermit;
use super::step::{Step, StepTotal};
use super::steps::Steps;

/// The number of texts, such as the head of a request, that a journal keeps.
const TEXTS_MAX: usize = 16;

/// The most bytes of a text.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// The most bytes of a detail or a name.
const DETAIL_BYTES_MAX: usize = 1 << 10;

/// A journal, in which one request, upload or feed records its steps. Clones share the journal. Its
/// capture gets it when the last clone is dropped, so that steps after the end can still be
/// recorded.
#[derive(Debug, Clone)]
pub struct Journal(Arc<SharedJournal>);

/// The state that the clones of a journal share.
#[derive(Debug)]
pub(super) struct SharedJournal {
    begun: Instant,
    begun_at: SystemTime,
    /// Whether no capture waits for it any more.
    is_closed: AtomicBool,
    entries: Mutex<Entries>,
}

#[derive(Debug)]
struct Entries {
    name: String,
    /// When the last lap ended.
    lap: Instant,
    steps: Steps,
    texts: Vec<(&'static str, String)>,
    /// The number and the channel of the capture that gets the journal.
    recipient: Option<(u64, oneshot::Sender<Observation>)>,
    /// The permit to exist; `None` after the journal was closed.
    permit: Option<JournalPermit>,
}

/// The recorded steps of one request, upload or feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
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

impl Journal {
    pub(super) fn new(permit: JournalPermit, name: &str) -> Self {
        let begun = Instant::now();
        let entries = Entries {
            name: truncate(name, DETAIL_BYTES_MAX),
            lap: begun,
            steps: Steps::default(),
            texts: Vec::new(),
            recipient: None,
            permit: Some(permit),
        };
        let is_closed = AtomicBool::new(false);
        let (begun_at, entries) = (SystemTime::now(), Mutex::new(entries));
        Self(Arc::new(SharedJournal { begun, begun_at, is_closed, entries }))
    }

    pub(super) fn shared(&self) -> &Arc<SharedJournal> {
        &self.0
    }

    /// Records a step from the end of the last lap until now.
    pub fn lap(&self, name: &'static str, detail: impl Into<String>) {
        let ended = Instant::now();
        let mut entries = self.0.lock();
        let begun = std::mem::replace(&mut entries.lap, ended);
        entries.push(self.0.step(name, (begun, ended), None, detail.into()));
    }

    /// Records a step between two instants.
    pub fn step(
        &self,
        name: &'static str,
        (begun, ended): (Instant, Instant),
        detail: impl Into<String>,
    ) {
        let step = self.0.step(name, (begun, ended), None, detail.into());
        self.0.lock().push(step);
    }

    /// Records a step between two instants that moved bytes.
    pub fn part(
        &self,
        name: &'static str,
        (begun, ended): (Instant, Instant),
        bytes: usize,
        detail: impl Into<String>,
    ) {
        let step = self.0.step(name, (begun, ended), Some(bytes as u64), detail.into());
        self.0.lock().push(step);
    }

    /// Records a step that moved bytes, from the end of the last lap until now.
    pub fn lap_part(&self, name: &'static str, bytes: usize) {
        let ended = Instant::now();
        let mut entries = self.0.lock();
        let begun = std::mem::replace(&mut entries.lap, ended);
        entries.push(self.0.step(name, (begun, ended), Some(bytes as u64), String::new()));
    }

    /// Adds a text, such as the head of a request, truncated to 32 KiB. Only the first 16 texts are
    /// kept. The text must not contain secrets.
    pub fn text(&self, title: &'static str, text: &str) {
        let mut entries = self.0.lock();
        if entries.texts.len() < TEXTS_MAX && entries.permit.is_some() {
            entries.texts.push((title, truncate(text, TEXT_BYTES_MAX)));
        }
    }
}

impl Entries {
    fn push(&mut self, step: Step) {
        if self.permit.is_some() {
            self.steps.push(step);
        }
    }
}

impl SharedJournal {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(
        &self,
        name: &'static str,
        (begun, ended): (Instant, Instant),
        bytes: Option<u64>,
        detail: String,
    ) -> Step {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let signed = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let begun_ns = match begun.checked_duration_since(self.begun) {
            Some(after) => signed(after),
            None => -signed(self.begun - begun),
        };
        let detail = truncate(&detail, DETAIL_BYTES_MAX);
        let duration_ns = ns(ended.saturating_duration_since(begun));
        Step { name, begun_ns, duration_ns, bytes, detail }
    }

    /// Assigns the journal to a capture.
    pub(super) fn send_to(&self, capture: u64, sender: oneshot::Sender<Observation>) {
        self.lock().recipient = Some((capture, sender));
    }

    /// Returns whether the journal is assigned to this capture.
    pub(super) fn is_for(&self, capture: u64) -> bool {
        self.lock().recipient.as_ref().is_some_and(|(number, _)| *number == capture)
    }

    /// Returns whether the journal is assigned to no capture.
    pub(super) fn is_unassigned(&self) -> bool {
        self.lock().recipient.is_none()
    }

    /// Returns whether the journal was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Closes the journal and discards its entries, unless it is assigned to a capture.
    pub(super) fn close_if_unassigned(&self) {
        let mut entries = self.lock();
        if entries.recipient.is_none() {
            self.is_closed.store(true, Ordering::Relaxed);
            entries.permit = None;
            entries.steps = Steps::default();
            entries.texts = Vec::new();
        }
    }

    /// Returns the entries so far, of a journal that has not ended.
    pub(super) fn snapshot(&self) -> Observation {
        self.observation(&self.lock(), false)
    }

    fn observation(&self, entries: &Entries, has_ended: bool) -> Observation {
        let steps = entries.steps.snapshot();
        Observation {
            name: entries.name.clone(),
            begun_at: self.begun_at,
            duration: self.begun.elapsed(),
            has_ended,
            steps: steps.steps,
            first_steps: steps.first,
            steps_left_out: steps.left_out,
            totals: steps.totals,
            texts: entries.texts.clone(),
        }
    }
}

impl Drop for SharedJournal {
    fn drop(&mut self) {
        let Some((_, sender)) = self.lock().recipient.take() else { return };
        // The send fails if the capture no longer waits.
        let _ = sender.send(self.observation(&self.lock(), true));
    }
}

/// Truncates a text at a character boundary, and appends an ellipsis if it was longer.
fn truncate(text: &str, bytes_max: usize) -> String {
    match text.len() <= bytes_max {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(bytes_max)]),
    }
}
