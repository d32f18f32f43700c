//! The identity of a file, whatever its name.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

/// Identifies a file, even if it is renamed and another one takes its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    /// Device and inode, if the system has such numbers.
    number: Option<(u64, u64)>,
    /// The creation time, because an inode number may be reused for another file.
    created: Option<SystemTime>,
}

impl FileIdentity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { number: file_number(metadata), created: metadata.created().ok() }
    }

    /// Returns the device and the number of the file on it, if the system has such numbers.
    pub(crate) fn number(&self) -> Option<(u64, u64)> {
        self.number
    }

    /// Returns the identity of the regular file at a path, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| Self::of(&metadata))
    }
}

#[cfg(unix)]
fn file_number(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_number(_: &Metadata) -> Option<(u64, u64)> {
    None
}
