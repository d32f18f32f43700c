//! What the followed paths share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::change_watcher::{ChangeWatcher, FileWatch};
use super::read_place::ReadPlace;
use crate::clock::Clock;
use crate::file_identity::FileIdentity;

/// The size of a read in bytes.
pub(super) const READ_BYTES: usize = 1 << 20;

/// The number of a followed path, which is never used again.
pub(super) type PathNumber = u64;

/// What the followed paths share: one of them is read at a time.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    /// `None` if files are only polled.
    pub(super) watcher: Option<Arc<ChangeWatcher>>,
    /// The bytes of the last read. A file that has no more takes no room.
    pub(super) buffer: Vec<u8>,
    /// The path that reads each open file. No file is read by two.
    readers: HashMap<FileIdentity, PathNumber>,
    /// The number of paths whose lines wait for their format to be detected.
    pub(super) undetected: usize,
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>, watcher: Option<Arc<ChangeWatcher>>) -> Self {
        let buffer = vec![0; ReadPlace::BEFORE_BYTES + READ_BYTES];
        Self { clock, watcher, buffer, readers: HashMap::new(), undetected: 0 }
    }

    /// The path that reads a file.
    pub(super) fn reader(&self, file: FileIdentity) -> Option<PathNumber> {
        self.readers.get(&file).copied()
    }

    /// Notes that a path reads a file, instead of the path that has read it so far.
    pub(super) fn set_reader(&mut self, file: FileIdentity, number: PathNumber) {
        self.readers.insert(file, number);
    }

    /// Notes that a file is not read any more.
    pub(super) fn forget(&mut self, file: FileIdentity) {
        self.readers.remove(&file);
    }

    /// Watches an open file, even if it is renamed; `None` if that is not possible.
    pub(super) fn watch(&self, file: &std::fs::File, identity: FileIdentity) -> Option<FileWatch> {
        self.watcher.as_ref()?.watch(file, identity)
    }

    /// Watches a directory for files that appear in it.
    pub(super) fn watch_directory(&self, path: &Path) {
        if let Some(watcher) = &self.watcher {
            watcher.watch_directory(path);
        }
    }
}
