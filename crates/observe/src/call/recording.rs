//! Recordings of calls.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_sync::Lock;

use super::table::{CallCounts, Table};
use super::thread;

/// The number of the current recording; 0 if there is none. Access is relaxed: it publishes no
/// other data.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The number of the last recording. The lock serializes the start of recordings.
static LAST: Lock<u64> = Lock::new(0);

/// Returns the number of the current recording.
#[inline]
pub(super) fn generation() -> Option<u64> {
    match GENERATION.load(Ordering::Relaxed) {
        0 => None,
        generation => Some(generation),
    }
}

/// A recording of the calls of all threads, until this is dropped. There is at most one at a time.
#[derive(Debug)]
pub struct Recording {
    generation: u64,
}

/// The error that another recording is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyRecording;

impl Recording {
    /// Starts recording.
    ///
    /// # Errors
    /// If another recording is in progress.
    pub fn start() -> Result<Self, AlreadyRecording> {
        let mut last = LAST.lock();
        if generation().is_some() {
            return Err(AlreadyRecording);
        }
        *last += 1;
        GENERATION.store(*last, Ordering::Relaxed);
        Ok(Self { generation: *last })
    }

    /// Stops recording. Returns the calls that have ended, ordered by own time, longest first.
    pub fn finish(self) -> Vec<CallCounts> {
        let generation = self.generation;
        drop(self);
        let mut all = Table::default();
        thread::for_each_table(generation, |table| all.add(table));
        all.counts()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        GENERATION.store(0, Ordering::Relaxed);
    }
}

impl fmt::Display for AlreadyRecording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("calls are already being recorded; wait until that has ended")
    }
}

impl std::error::Error for AlreadyRecording {}
