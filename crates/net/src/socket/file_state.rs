//! The states of files, to notice that they have changed.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// The metadata of a file that change if the file is replaced or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
    /// The inode number, and the time of the last status change in seconds and nanoseconds.
    #[cfg(unix)]
    identity: (u64, i64, i64),
}

impl FileState {
    /// Reads the state of a file; `None` if that is not possible, for instance because there is no
    /// such file.
    pub fn read(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            #[cfg(unix)]
            identity: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    #[cfg(test)]
    pub(super) fn of_length(bytes: u64) -> Self {
        Self {
            modified: None,
            bytes,
            #[cfg(unix)]
            identity: (1, 2, 3),
        }
    }
}

/// The time after which files that could not be used are read again even if their metadata is
/// unchanged. The folder above them may have become readable, which the metadata does not show.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// When files that are used together have to be read again.
#[derive(Clone, Debug)]
pub(super) struct FileWatch<const N: usize> {
    /// The states when the files were read.
    read: [Option<FileState>; N],
    /// The states of files that could not be used, and when they were read.
    failed: Option<([Option<FileState>; N], Instant)>,
}

impl<const N: usize> FileWatch<N> {
    /// Watches files that were read in these states.
    pub(super) fn new(states: [Option<FileState>; N]) -> Self {
        Self { read: states, failed: None }
    }

    /// Whether the files should be read, given their current states.
    pub(super) fn is_outdated(&self, states: &[Option<FileState>; N], now: Instant) -> bool {
        let has_failed = self.failed.as_ref().is_some_and(|(failed, at)| {
            failed == states && now.saturating_duration_since(*at) < RETRY_PAUSE
        });
        *states != self.read && !has_failed
    }

    /// Notes that files in these states cannot be used. Returns whether that was not known yet: files
    /// in the same state are reported once, however often they are read.
    pub(super) fn note_failure(&mut self, states: [Option<FileState>; N], now: Instant) -> bool {
        let is_new = self.failed.as_ref().is_none_or(|(failed, _)| *failed != states);
        self.failed = Some((states, now));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{FileState, FileWatch, RETRY_PAUSE};

    #[test]
    fn files_that_cannot_be_used_are_read_now_and_then() {
        let states = |bytes| [Some(FileState::of_length(bytes)), None];
        let now = Instant::now();
        let mut watch = FileWatch::new(states(1));
        assert!(!watch.is_outdated(&states(1), now));
        assert!(watch.is_outdated(&states(2), now));
        assert!(watch.note_failure(states(2), now));
        assert!(!watch.is_outdated(&states(2), now + RETRY_PAUSE - Duration::from_millis(1)));
        assert!(watch.is_outdated(&states(2), now + RETRY_PAUSE));
        assert!(watch.is_outdated(&states(3), now));
        assert!(!watch.is_outdated(&states(1), now + RETRY_PAUSE), "the old files are back");
        assert!(!watch.note_failure(states(2), now));
        assert!(watch.note_failure(states(3), now));
    }
}
