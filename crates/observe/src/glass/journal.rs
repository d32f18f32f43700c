//! What one request, upload or feed notes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::oneshot;

use super::places::Place;
use super::step::{Step, StepTotal};
use super::steps::Steps;

/// Texts, such as the head of a request, that one journal keeps.
const TEXTS_MAX: usize = 16;

/// The bytes of a text that are kept.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// The bytes of a detail or a name that are kept.
const DETAIL_BYTES_MAX: usize = 1 << 10;

/// What one request notes of its steps. Clones note into the same journal. Somebody who waits for it gets it
/// when the last clone is dropped, so that what happens after its end can still be noted.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Notes>);

/// The shared half of a journal.
#[derive(Debug)]
pub(super) struct Notes {
    begun: Instant,
    begun_at: SystemTime,
    /// Whether nobody waits for it any more.
    is_over: AtomicBool,
    noted: Mutex<Noted>,
}

#[derive(Debug)]
struct Noted {
    name: String,
    /// When the last lap ended.
    lap: Instant,
    steps: Steps,
    texts: Vec<(&'static str, String)>,
    /// The capture that gets it, with its number.
    recipient: Option<(u64, oneshot::Sender<Observation>)>,
    /// Its place among the journals. Without one, nobody waits for it any more.
    place: Option<Place>,
}

/// What was noted of one request, upload or feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// What it is, for a person.
    pub name: String,
    /// When it began.
    pub begun_at: SystemTime,
    /// How long it took; so far, if it has not ended.
    pub duration: Duration,
    /// Whether it has ended.
    pub has_ended: bool,
    /// Its steps, in the order in which they were noted: the first and the last ones.
    pub steps: Vec<Step>,
    /// How many of `steps` came before those that are left out.
    pub first_steps: usize,
    /// The number of steps that are left out.
    pub steps_left_out: u64,
    /// All steps by their names.
    pub totals: Vec<StepTotal>,
    /// Texts with what they are, such as the head of a request.
    pub texts: Vec<(&'static str, String)>,
}

impl Journal {
    pub(super) fn new(place: Place, name: &str) -> Self {
        let begun = Instant::now();
        let noted = Noted {
            name: cut(name, DETAIL_BYTES_MAX),
            lap: begun,
            steps: Steps::default(),
            texts: Vec::new(),
            recipient: None,
            place: Some(place),
        };
        let is_over = AtomicBool::new(false);
        let (begun_at, noted) = (SystemTime::now(), Mutex::new(noted));
        Self(Arc::new(Notes { begun, begun_at, is_over, noted }))
    }

    pub(super) fn notes(&self) -> &Arc<Notes> {
        &self.0
    }

    /// Notes a step that lasted since the end of the last lap, and ends now.
    pub fn lap(&self, name: &'static str, detail: impl Into<String>) {
        let ended = Instant::now();
        let mut noted = self.0.lock();
        let begun = std::mem::replace(&mut noted.lap, ended);
        noted.push(self.0.step(name, (begun, ended), None, detail.into()));
    }

    /// Notes a step from one moment to another.
    pub fn step(
        &self,
        name: &'static str,
        (begun, ended): (Instant, Instant),
        detail: impl Into<String>,
    ) {
        let step = self.0.step(name, (begun, ended), None, detail.into());
        self.0.lock().push(step);
    }

    /// Notes a step that moved bytes.
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

    /// Notes a step that moved bytes, which lasted since the end of the last lap, and ends now.
    pub fn lap_part(&self, name: &'static str, bytes: usize) {
        let ended = Instant::now();
        let mut noted = self.0.lock();
        let begun = std::mem::replace(&mut noted.lap, ended);
        noted.push(self.0.step(name, (begun, ended), Some(bytes as u64), String::new()));
    }

    /// Keeps a text, such as the head of a request, cut to 32 KiB. The first 16 are kept. It must hold no
    /// secret.
    pub fn text(&self, title: &'static str, text: &str) {
        let mut noted = self.0.lock();
        if noted.texts.len() < TEXTS_MAX && noted.place.is_some() {
            noted.texts.push((title, cut(text, TEXT_BYTES_MAX)));
        }
    }
}

impl Noted {
    fn push(&mut self, step: Step) {
        if self.place.is_some() {
            self.steps.push(step);
        }
    }
}

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
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
        let detail = cut(&detail, DETAIL_BYTES_MAX);
        let duration_ns = ns(ended.saturating_duration_since(begun));
        Step { name, begun_ns, duration_ns, bytes, detail }
    }

    /// Names the capture that gets what is noted.
    pub(super) fn send_to(&self, capture: u64, sender: oneshot::Sender<Observation>) {
        self.lock().recipient = Some((capture, sender));
    }

    /// Whether a capture will get it.
    pub(super) fn is_for(&self, capture: u64) -> bool {
        self.lock().recipient.as_ref().is_some_and(|(number, _)| *number == capture)
    }

    /// Whether no capture has got it yet.
    pub(super) fn is_free(&self) -> bool {
        self.lock().recipient.is_none()
    }

    /// Whether nobody waits for it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Nobody waits for it any more: what was noted is forgotten, unless it is on its way to somebody.
    pub(super) fn give_up(&self) {
        let mut noted = self.lock();
        if noted.recipient.is_none() {
            self.is_over.store(true, Ordering::Relaxed);
            noted.place = None;
            noted.steps = Steps::default();
            noted.texts = Vec::new();
        }
    }

    /// What was noted so far.
    pub(super) fn so_far(&self) -> Observation {
        self.observation(&self.lock(), false)
    }

    fn observation(&self, noted: &Noted, has_ended: bool) -> Observation {
        let seen = noted.steps.seen();
        Observation {
            name: noted.name.clone(),
            begun_at: self.begun_at,
            duration: self.begun.elapsed(),
            has_ended,
            steps: seen.steps,
            first_steps: seen.first,
            steps_left_out: seen.left_out,
            totals: seen.totals,
            texts: noted.texts.clone(),
        }
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let Some((_, sender)) = self.lock().recipient.take() else { return };
        // Who no longer waits does not get it.
        let _ = sender.send(self.observation(&self.lock(), true));
    }
}

/// A text, cut at a character.
fn cut(text: &str, bytes_max: usize) -> String {
    match text.len() <= bytes_max {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(bytes_max)]),
    }
}
