//! Something long, such as an upload, that can be looked at while it is under way.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::captures::Captures;
use super::journal::Journal;

/// Something long whose parts are noted in several places while somebody looks. It ends when it is dropped.
#[derive(Debug)]
pub struct Followed {
    captures: Arc<Captures<Infallible>>,
    name: String,
    journal: Mutex<Option<Journal>>,
}

impl Followed {
    /// Begins something long. `name` says what it is, without secrets.
    pub fn new(captures: &Arc<Captures<Infallible>>, name: String) -> Self {
        Self { captures: captures.clone(), name, journal: Mutex::default() }
    }

    /// Its journal, if somebody looks.
    #[inline]
    pub fn journal(&self) -> Option<Journal> {
        if self.captures.is_armed() { self.follow() } else { None }
    }

    /// Its journal, and the time as that at which a part of it begins, if somebody looks.
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
