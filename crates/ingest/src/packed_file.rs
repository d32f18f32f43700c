//! Packed files on the disk, which can be read again as a whole.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::plain_file::{PlainFile, ReadBackError};

/// A packed file or an archive that sources were read from, with its identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// The name of its input, with which the names of its sources begin.
    name: String,
    file: PlainFile,
}

impl PackedFile {
    /// Identifies the file at a path. Returns `None` if its identity cannot be read.
    pub(crate) fn at(path: &Path, name: &str) -> Option<Self> {
        let file = PlainFile::new(path, &File::open(path).ok()?)?;
        Some(Self { name: name.to_owned(), file })
    }

    /// The name of its input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path at which the file is now, which differs if it was rotated.
    ///
    /// # Errors
    /// If it cannot be opened, or another one is at its path.
    pub fn current_path(&self) -> Result<PathBuf, ReadBackError> {
        self.file.current_path()
    }

    pub(crate) fn reopen(&self) -> Result<File, ReadBackError> {
        self.file.reopen()
    }
}
