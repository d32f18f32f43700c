//! What the scenarios of several texts have read of data files, and their patterns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regex::bytes::{Regex, RegexSet};

/// What the scenarios of several texts share: each data file and each pattern is read once.
///
/// # Memory
///
/// The lines of the data files, the patterns of each of them (256 MiB at most), and 1 GiB at most
/// for the patterns that are written in scenarios.
/// What is shared, by the name of the file or by the pattern.
#[derive(Debug, Default)]
pub(crate) struct SharedData(Mutex<Shared>);

/// What is shared, by the name of the file or by the pattern.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) lines: HashMap<String, Arc<[Vec<u8>]>>,
    pub(crate) sets: HashMap<String, Arc<RegexSet>>,
    pub(crate) patterns: HashMap<String, Regex>,
    /// The most that the patterns may take.
    pub(crate) patterns_bytes: usize,
}

impl SharedData {
    /// Waits until no other scenario reads it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
