//! Long subjects, such as uploads, that can be captured while they are in progress.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::captures::Captures;
use super::journal::Journal;

/// A long subject, such as an upload or a feed, that several places in the code record steps of. A
/// capture can start in the middle of it. The subject ends when this is dropped.
#[derive(Debug)]
pub struct Followed {
    captures: Arc<Captures<Infallible>>,
    name: String,
    journal: Mutex<Option<Journal>>,
}

impl Followed {
    /// Begins a subject. `name` is shown to a person, and must not contain secrets.
    pub fn new(captures: &Arc<Captures<Infallible>>, name: String) -> Self {
        Self { captures: captures.clone(), name, journal: Mutex::default() }
    }

    /// Returns its journal, if a capture waits.
    #[inline]
    pub fn journal(&self) -> Option<Journal> {
        if self.captures.is_armed() { self.follow() } else { None }
    }

    /// Returns its journal and the current time, as the start of a step, if a capture waits.
    #[inline]
    pub fn begin(&self) -> Option<(Journal, Instant)> {
        self.journal().map(|journal| (journal, Instant::now()))
    }

    #[cold]
    fn follow(&self) -> Option<Journal> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        self.captures.follow(&mut journal, || self.name.clone());
        journal.clone()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let journal = self.journal.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(journal) = journal {
            self.captures.end(journal, &|never| match *never {});
        }
    }
}
