//! The state of a file, to notice that it has changed.

use std::path::Path;
use std::time::SystemTime;

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
