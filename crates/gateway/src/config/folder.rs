//! The folder of a configuration, from which relative paths start.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Resolves paths in a configuration.
#[derive(Debug)]
pub(super) struct ConfigFolder {
    /// The folder of the configuration.
    folder: PathBuf,
    /// The files that the configuration is read from, beside its own.
    sources: RefCell<Vec<PathBuf>>,
}

impl ConfigFolder {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), sources: RefCell::default() }
    }

    /// Resolves the path of a file whose content is a part of the configuration.
    pub(super) fn source(&self, text: &str) -> PathBuf {
        let path = self.path(text);
        self.sources.borrow_mut().push(path.clone());
        path
    }

    /// The files that are a part of the configuration.
    pub(super) fn into_sources(self) -> Vec<PathBuf> {
        self.sources.into_inner()
    }

    /// Resolves a path of the configuration.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        self.folder.join(text)
    }
}
