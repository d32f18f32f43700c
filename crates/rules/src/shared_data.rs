//! The data files and patterns that the scenarios of several texts share.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

use weir_core::BoundedRegex;
use weir_sync::Lock;

/// A cache that the scenarios of several texts share: each data file and pattern is read once.
///
/// # Memory
///
/// The lines of the data files, the patterns of each of them (256 MiB at most), and 1 GiB at most
/// for the patterns that are written in scenarios.
#[derive(Debug, Default)]
pub(crate) struct SharedData(Lock<Shared>);

/// The shared data, by the name of the file or by the pattern.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) lines: HashMap<String, Arc<[Vec<u8>]>>,
    pub(crate) sets: HashMap<String, BoundedRegex>,
    pub(crate) patterns: HashMap<String, BoundedRegex>,
    /// The most memory that the patterns may take, in bytes.
    pub(crate) patterns_bytes: usize,
}

impl SharedData {
    /// Waits until no other scenario reads it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock()
    }
}
