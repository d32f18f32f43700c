//! What the followed paths share.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::path::Path;
use std::sync::Arc;

use super::change_watcher::{ChangeWatcher, FileWatch};
use super::read_place::ReadPlace;
use super::restored::RestoredPlaces;
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
    /// The files whose lines are known although no path reads them.
    known: HashMap<FileIdentity, KnownFile>,
    /// The places of another process, in files that are not found yet.
    pub(super) restored: RestoredPlaces,
    /// The most files that are open at a time.
    pub(super) files_max: usize,
}

/// A file that no path reads, because its lines are known up to a place.
#[derive(Debug)]
struct KnownFile {
    place: ReadPlace,
    /// Whether the lines are those of another file.
    is_copy: bool,
}

/// A file that was found at a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileAt {
    pub(super) file: FileIdentity,
    /// Its length in bytes.
    pub(super) length: u64,
}

impl FileAt {
    /// The regular file at a path, if there is one.
    pub(super) fn path(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().and_then(|metadata| Self::of(&metadata))
    }

    /// `None` if it is not a regular file.
    pub(super) fn of(metadata: &Metadata) -> Option<Self> {
        let of = |metadata| Self { file: FileIdentity::of(metadata), length: metadata.len() };
        metadata.is_file().then(|| of(metadata))
    }
}

/// The part of the open files that is for files that have left their paths: when all files of a
/// folder are rotated, new ones must find room.
const SPARE_DIVISOR: usize = 16;

/// The paths of which so many open files are enough, with those that were rotated.
pub(super) fn paths_max(files_max: usize) -> usize {
    (files_max - files_max / SPARE_DIVISOR).max(1)
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>, watcher: Option<Arc<ChangeWatcher>>) -> Self {
        let buffer = vec![0; ReadPlace::BEFORE_BYTES + READ_BYTES];
        Self {
            clock,
            watcher,
            buffer,
            readers: HashMap::new(),
            undetected: 0,
            known: HashMap::new(),
            restored: RestoredPlaces::default(),
            files_max: usize::MAX,
        }
    }

    /// The path that reads a file.
    pub(super) fn reader(&self, file: FileIdentity) -> Option<PathNumber> {
        self.readers.get(&file).copied()
    }

    /// Notes that a path reads a file, instead of the path that has read it so far.
    pub(super) fn set_reader(&mut self, file: FileIdentity, number: PathNumber) {
        self.readers.insert(file, number);
    }

    /// Notes up to where a file was read that is not read any more.
    pub(super) fn leave(&mut self, place: ReadPlace) {
        self.readers.remove(&place.file);
        self.note_known(KnownFile { place, is_copy: false });
    }

    /// Notes that a file was read up to this offset, whose bytes there are those that were read.
    pub(super) fn leave_at(&mut self, identity: FileIdentity, file: &File, offset: u64) {
        if let Some(place) = ReadPlace::in_file(identity, file, offset) {
            self.leave(place);
        }
    }

    /// Notes that a file has the bytes of another one up to a place.
    pub(super) fn note_copy(&mut self, place: ReadPlace) {
        self.note_known(KnownFile { place, is_copy: true });
    }

    fn note_known(&mut self, file: KnownFile) {
        self.known.insert(file.place.file, file);
    }

    /// The number of known files.
    pub(super) fn known_count(&self) -> usize {
        self.known.len()
    }

    /// Takes the place up to which a file was read before, or its start.
    pub(super) fn take_place(&mut self, file: FileIdentity) -> ReadPlace {
        let read = self.known.remove(&file).filter(|known| !known.is_copy);
        read.map_or_else(|| ReadPlace::start_of(file), |known| known.place)
    }

    /// Whether nothing of a file has to be read: a path reads it, or all its lines are known.
    pub(super) fn has_all(&self, at: FileAt) -> bool {
        let place = self.known.get(&at.file).map(|known| known.place.offset);
        self.readers.contains_key(&at.file) || place == Some(at.length)
    }

    /// Whether more of a file is known than up to this offset.
    pub(super) fn has_beyond(&self, file: FileIdentity, offset: u64) -> bool {
        self.known.get(&file).is_some_and(|known| known.place.offset > offset)
    }

    /// Whether a path has read a file before that no path reads now.
    pub(super) fn has_read(&self, file: FileIdentity) -> bool {
        self.known.get(&file).is_some_and(|known| !known.is_copy)
    }

    /// Whether lines of a file are known that no path reads.
    pub(super) fn is_known(&self, file: FileIdentity) -> bool {
        self.known.contains_key(&file)
    }

    /// Forgets the other known files. Another file may get the inode of one that is gone.
    pub(super) fn retain_known(&mut self, is_there: impl Fn(FileIdentity) -> bool) {
        self.known.retain(|file, _| is_there(*file));
    }

    /// Whether no other file can be opened.
    pub(super) fn is_full(&self) -> bool {
        self.readers.len() >= self.files_max
    }

    /// Whether files that have left their paths are closed as soon as they are read.
    pub(super) fn is_crowded(&self) -> bool {
        self.readers.len() > self.paths_max()
    }

    /// The most paths that are followed.
    pub(super) fn paths_max(&self) -> usize {
        paths_max(self.files_max)
    }

    /// Watches an open file, even if it is renamed; `None` if that is not possible.
    pub(super) fn watch(&self, file: &File, identity: FileIdentity) -> Option<FileWatch> {
        self.watcher.as_ref()?.watch(file, identity)
    }

    /// Watches a directory for files that appear in it.
    pub(super) fn watch_directory(&self, path: &Path) {
        if let Some(watcher) = &self.watcher {
            watcher.watch_directory(path);
        }
    }
}
