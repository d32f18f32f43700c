//! How files are followed.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::change_watcher::ChangeWatcher;
use super::file_set::FileSet;
use crate::clock::{Clock, SystemClock};

/// How files are followed.
#[derive(Debug)]
pub struct FollowOptions {
    pub(super) clock: Arc<dyn Clock>,
    /// `None` if files are only polled.
    pub(super) watcher: Option<Arc<ChangeWatcher>>,
    pub(super) sets: Vec<FileSet>,
    pub(super) named: HashSet<PathBuf>,
    pub(super) read_elsewhere: Vec<PathBuf>,
    pub(super) files_max: usize,
    /// Paths of which was said why they cannot be read.
    pub(super) told: HashSet<PathBuf>,
    /// The number of files of which was said that they are not followed.
    pub(super) told_left_out: usize,
}

impl FollowOptions {
    /// Follows only the paths that are given, by the clock and the notifications of this machine.
    pub fn new() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            watcher: ChangeWatcher::new(),
            sets: Vec::new(),
            named: HashSet::new(),
            read_elsewhere: Vec::new(),
            files_max: usize::MAX,
            told: HashSet::new(),
            told_left_out: 0,
        }
    }

    /// With a clock, which decides when files are polled and closed. Notifications of the system are
    /// not used.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self.watcher = None;
        self
    }

    /// With these notifications.
    #[cfg(test)]
    pub(super) fn with_watcher(mut self, watcher: Option<Arc<ChangeWatcher>>) -> Self {
        self.watcher = watcher;
        self
    }

    /// Also follows the files of these sets that appear later. Paths that are not among the `named`
    /// ones are left out when their files are gone.
    pub fn with_sets(mut self, sets: Vec<FileSet>, named: HashSet<PathBuf>) -> Self {
        self.sets = sets;
        self.named = named;
        self
    }

    /// Leaves out these files of the sets, because somebody else reads them.
    pub fn with_read_elsewhere(mut self, paths: Vec<PathBuf>) -> Self {
        self.read_elsewhere = paths;
        self
    }

    /// Reports no errors about these paths, because they were reported before.
    pub fn with_told(mut self, told: HashSet<PathBuf>) -> Self {
        self.told = told;
        self
    }

    /// Says that files of the sets are not followed only if they are many more than this number, of
    /// which it was said before.
    pub fn with_told_left_out(mut self, told_left_out: usize) -> Self {
        self.told_left_out = told_left_out;
        self
    }

    /// Keeps at most this many files open.
    ///
    /// [`paths_max`](super::Follower::paths_max) of them are for files at their paths.
    pub fn with_files_max(mut self, files_max: usize) -> Self {
        self.files_max = files_max;
        self
    }
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self::new()
    }
}
