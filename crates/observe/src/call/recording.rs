//! When calls are recorded.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::{CallCounts, Table};
use super::thread;

/// The recording that goes on, by its number; 0 if there is none. It publishes nothing else.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The number of the last recording. Its lock is held while one begins.
static LAST: Mutex<u64> = Mutex::new(0);

/// The recording that goes on.
#[inline]
pub(super) fn generation() -> Option<u64> {
    match GENERATION.load(Ordering::Relaxed) {
        0 => None,
        generation => Some(generation),
    }
}

/// Calls are recorded until this is dropped. There is one at a time.
#[derive(Debug)]
pub struct Recording {
    generation: u64,
}

/// Another recording goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyRecording;

impl Recording {
    /// Begins to record the calls of all threads.
    ///
    /// # Errors
    /// If another recording goes on.
    pub fn start() -> Result<Self, AlreadyRecording> {
        let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if generation().is_some() {
            return Err(AlreadyRecording);
        }
        *last += 1;
        GENERATION.store(*last, Ordering::Relaxed);
        Ok(Self { generation: *last })
    }

    /// Ends it. Returns the calls that have ended, those with the longest time by themselves first.
    pub fn finish(self) -> Vec<CallCounts> {
        let generation = self.generation;
        drop(self);
        let mut all = Table::default();
        thread::each_table(generation, |table| all.add(table));
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
        formatter.write_str("the calls are being recorded already; wait until that has ended")
    }
}

impl std::error::Error for AlreadyRecording {}
