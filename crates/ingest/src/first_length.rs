//! The length that a file had when it was opened.

use std::fs::File;
use std::io;

/// The length of a regular file when it was opened; 0 for pipes and devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstLength(u64);

impl FirstLength {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self(if metadata.is_file() { metadata.len() } else { 0 }))
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }

    /// Checks a file that has no bytes from `offset` on.
    ///
    /// # Errors
    /// If it had some, and was truncated.
    pub(crate) fn check_end(self, file: &File, offset: u64) -> io::Result<()> {
        // Some systems state lengths that their special files do not have.
        if offset >= self.0 || file.metadata()?.len() >= self.0 {
            return Ok(());
        }
        let message = format!("the file had {} bytes and was truncated while it was read", self.0);
        Err(io::Error::other(message))
    }
}
