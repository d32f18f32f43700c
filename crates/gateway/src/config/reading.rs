//! What the readers of the tables share.

use std::path::{Path, PathBuf};

/// Where a configuration is.
#[derive(Debug)]
pub(super) struct Reading {
    /// The folder of the configuration, from which its paths begin.
    folder: PathBuf,
}

impl Reading {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// A path of the configuration, seen from where the program runs.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        self.folder.join(text)
    }
}
