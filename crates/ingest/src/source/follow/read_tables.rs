//! The tables of followed folders that were read. Each is read once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::seen_files::SeenFiles;
use super::shared::FileAt;
use crate::file_identity::FileIdentity;

/// The tables that were read.
#[derive(Debug, Default)]
pub(super) struct ReadTables {
    /// The table that was at each path.
    files: HashMap<PathBuf, FileIdentity>,
    /// Their lengths in bytes.
    lengths: HashMap<FileIdentity, u64>,
}

/// What a table is beside those that were read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Another one.
    New,
    /// The same, perhaps under another name.
    Same,
    /// One that was read, written anew: in place, or as a file that has replaced it.
    Anew,
}

impl ReadTables {
    /// Those at these paths, which somebody reads.
    pub(super) fn at(paths: &[PathBuf]) -> Self {
        let mut tables = Self::default();
        for path in paths {
            if let Some(at) = FileAt::path(path) {
                tables.insert(path, at);
            }
        }
        tables
    }

    fn insert(&mut self, path: &Path, at: FileAt) {
        self.files.insert(path.to_owned(), at.file);
        self.lengths.insert(at.file, at.length);
    }

    /// Whether a table that was read has another length now.
    pub(super) fn has_changed(&self, at: FileAt) -> bool {
        self.lengths.get(&at.file).is_some_and(|length| *length != at.length)
    }

    /// Compares a table with those that were read, of which `seen` are still there. From now on it is one
    /// of them.
    pub(super) fn note(&mut self, path: &Path, at: FileAt, seen: &SeenFiles) -> Known {
        let is_same = self.lengths.get(&at.file).map(|length| *length == at.length);
        let before = self.files.get(path).filter(|before| **before != at.file);
        // The one that was there may have another name by now.
        let has_replaced = before.is_some_and(|before| !seen.contains(*before));
        self.insert(path, at);
        match is_same {
            Some(true) => Known::Same,
            Some(false) => Known::Anew,
            None if has_replaced => Known::Anew,
            None => Known::New,
        }
    }
}
