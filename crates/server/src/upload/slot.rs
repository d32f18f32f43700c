//! A file of a session that a page uploads, over one connection or several in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use weir_ingest::{SourceEnd, SourceProgress, SourceWriter};

use super::intake::{Intake, Purpose};
use super::junction::{Feeder, JoinError, Junction};
use super::unpacker::Place;

/// How long a connection that takes up a file waits for the one before it to notice that it
/// is gone.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(2);

/// One file. Whoever holds its intake sends it.
#[derive(Debug)]
pub(crate) struct Slot {
    file: String,
    bytes_total: Option<u64>,
    /// Its bytes, once all have come.
    length: AtomicU64,
    progress: Arc<SourceProgress>,
    is_interrupted: AtomicBool,
    /// How often its connection was lost.
    interruptions: AtomicU64,
    /// `None` once the file has ended.
    intake: Arc<Mutex<Option<Intake>>>,
    junction: Junction,
}

/// The right to send a file.
pub(crate) type Held = OwnedMutexGuard<Option<Intake>>;

impl Slot {
    pub(crate) fn new(
        file: &str,
        bytes_total: Option<u64>,
        writer: SourceWriter,
        place: Place,
        purpose: Purpose,
    ) -> Self {
        let progress = writer.progress().clone();
        let intake = match purpose {
            Purpose::Parse => Intake::new(writer, place),
            Purpose::Discard => Intake::discarding(writer, place),
        };
        let intake = Arc::new(Mutex::new(Some(intake)));
        Self {
            file: file.to_owned(),
            bytes_total,
            length: AtomicU64::new(0),
            progress,
            is_interrupted: AtomicBool::new(false),
            interruptions: AtomicU64::new(0),
            intake,
            junction: Junction::default(),
        }
    }

    /// The page's id of the file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Its size in bytes, as the page said; `None` where it goes on growing.
    pub(crate) fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Its size in bytes, once all have come.
    pub(crate) fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    pub(crate) fn set_length(&self, bytes: u64) {
        self.length.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn progress(&self) -> &Arc<SourceProgress> {
        &self.progress
    }

    /// True while its connection is lost and it can be taken up again.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed) && self.progress.end().is_none()
    }

    pub(crate) fn set_interrupted(&self, is_interrupted: bool) {
        self.is_interrupted.store(is_interrupted, Ordering::Relaxed);
        if is_interrupted {
            self.interruptions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often its connection was lost.
    pub(crate) fn interruptions(&self) -> u64 {
        self.interruptions.load(Ordering::Relaxed)
    }

    /// Takes the file up; `None` where another connection sends it.
    pub(crate) async fn hold(&self) -> Option<Held> {
        let held = self.intake.clone().lock_owned();
        tokio::time::timeout(TAKE_OVER_WAIT, held).await.ok()
    }

    /// Where connections join the one that holds the file.
    pub(crate) fn junction(&self) -> &Junction {
        &self.junction
    }

    /// Joins the connection that holds the file.
    pub(crate) fn join(&self) -> Result<Feeder, JoinError> {
        self.junction.join()
    }

    /// Ends the file if no connection sends it.
    pub(crate) fn end_unless_held(&self, end: SourceEnd) {
        if let Ok(mut intake) = self.intake.try_lock() {
            *intake = None;
            self.set_interrupted(false);
            self.progress.set_end(end);
        }
    }

    /// Gives the file up, whoever sends it.
    pub(crate) fn cancel(&self) {
        self.progress.cancel();
        self.end_unless_held(SourceEnd::Cancelled);
    }
}
