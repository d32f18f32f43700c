//! Folders and patterns whose files are followed, also those that appear later.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::path_pattern::{NamePattern, PathPattern};
use crate::error::{Fault, ReadError};
use crate::file_identity::FileIdentity;
use crate::source::find::may_be_log;

/// The greatest depth of nested folders, so that recursion is bounded.
const DEPTH_MAX: usize = 64;

/// The most folders that are entered in a search.
const FOLDERS_MAX: usize = 10_000;

/// Files that are followed, also those that appear later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSet {
    /// All files in a folder and below it, but no hidden ones.
    Folder(PathBuf),
    /// The files whose paths match a pattern.
    Pattern(FilePattern),
}

/// A pattern of paths of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePattern(PathPattern);

/// The most recently written files of many.
#[derive(Debug)]
pub(super) struct NewestFiles {
    files_max: usize,
    /// The one that was written first is on top.
    files: BinaryHeap<Reverse<(SystemTime, PathBuf)>>,
    others: usize,
}

impl NewestFiles {
    pub(super) fn new(files_max: usize) -> Self {
        Self { files_max, files: BinaryHeap::new(), others: 0 }
    }

    pub(super) fn push(&mut self, written: SystemTime, path: PathBuf) {
        self.files.push(Reverse((written, path)));
        if self.files.len() > self.files_max {
            self.files.pop();
            self.others += 1;
        }
    }

    /// The number of files that were written before those.
    pub(super) fn others(&self) -> usize {
        self.others
    }

    pub(super) fn newest_first(self) -> Vec<PathBuf> {
        self.files.into_sorted_vec().into_iter().map(|Reverse((_, path))| path).collect()
    }
}

/// The search for the files of some sets.
#[derive(Debug, Default)]
pub(super) struct FileSearch {
    /// The folders that were entered, since links may lead back to them.
    entered: HashSet<FileIdentity>,
    /// The paths of the folders that were entered.
    pub(super) folders: Vec<PathBuf>,
    /// The folders that could not be read, and whose files may still be there.
    pub(super) unread: Vec<PathBuf>,
    /// Why they could not be read.
    pub(super) faults: Vec<Fault>,
}

impl FileSet {
    /// Returns the most recently written files of the set, at most `files_max`, in the order of
    /// their paths, and the number of others.
    pub fn newest_files(&self, files_max: usize) -> (Vec<PathBuf>, usize) {
        let mut newest = NewestFiles::new(files_max);
        FileSearch::default().run(self, &mut |path| {
            if let Ok(metadata) = fs::metadata(&path)
                && metadata.is_file()
            {
                newest.push(metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path);
            }
        });
        let others = newest.others();
        let mut paths = newest.newest_first();
        paths.retain(|path| may_be_log(path));
        paths.sort_unstable();
        (paths, others)
    }

    /// Returns the set that a path stands for: it is a folder, or no file is there and it is a
    /// pattern such as `/var/log/nginx/*.log`. `None` if it stands for one file.
    pub fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) => metadata.is_dir().then(|| Self::Folder(path.to_owned())),
            Err(_) => PathPattern::parse(path).map(|pattern| Self::Pattern(FilePattern(pattern))),
        }
    }
}

impl FileSearch {
    /// Calls `visit` with the paths of the files of a set. Links to nothing and files that are not
    /// regular may be among them.
    pub(super) fn run(&mut self, set: &FileSet, visit: &mut dyn FnMut(PathBuf)) {
        match set {
            FileSet::Folder(path) => self.search_folder(path, 0, visit),
            FileSet::Pattern(FilePattern(pattern)) => {
                self.search_pattern(&pattern.folder, &pattern.names, visit);
            }
        }
    }

    fn search_folder(&mut self, path: &Path, depth: usize, visit: &mut dyn FnMut(PathBuf)) {
        if depth == DEPTH_MAX || !self.enter(path) {
            return;
        }
        self.for_each_entry(path, |search, entry| {
            if is_hidden(&entry.file_name()) {
                return;
            }
            let path = entry.path();
            match is_folder(entry, &path) {
                true => search.search_folder(&path, depth + 1, visit),
                false => visit(path),
            }
        });
    }

    fn search_pattern(
        &mut self,
        folder: &Path,
        names: &[NamePattern],
        visit: &mut dyn FnMut(PathBuf),
    ) {
        let [name, below @ ..] = names else { return };
        if self.folders.len() == FOLDERS_MAX {
            return;
        }
        self.folders.push(folder.to_owned());
        self.for_each_entry(folder, |search, entry| {
            if !name.matches(&entry.file_name()) {
                return;
            }
            let path = folder.join(entry.file_name());
            match (below.is_empty(), is_folder(entry, &path)) {
                (true, false) => visit(path),
                (false, true) => search.search_pattern(&path, below, visit),
                _ => {}
            }
        });
    }

    /// Notes that a folder is entered. Returns false if it was entered before: there is a loop of
    /// links, or its files are already found.
    fn enter(&mut self, path: &Path) -> bool {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                self.unread.extend(may_be_there(&error).then(|| path.to_owned()));
                return false;
            }
        };
        let is_new =
            self.folders.len() < FOLDERS_MAX && self.entered.insert(FileIdentity::of(&metadata));
        if is_new {
            self.folders.push(path.to_owned());
        }
        is_new
    }

    fn for_each_entry(&mut self, path: &Path, mut visit: impl FnMut(&mut Self, &fs::DirEntry)) {
        let opened = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let result = fs::read_dir(opened).and_then(|entries| {
            // One after the other, because a folder may have a million of them.
            entries.into_iter().try_for_each(|entry| {
                visit(self, &entry?);
                Ok(())
            })
        });
        // A folder that does not exist may appear later.
        if let Err(error) = result
            && error.kind() != io::ErrorKind::NotFound
        {
            self.unread.push(path.to_owned());
            self.faults.push(Fault::new(&path.to_string_lossy(), ReadError::Open(error)));
        }
    }
}

/// Whether a file may be there although its metadata cannot be read.
pub(super) fn may_be_there(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, StaleNetworkFileHandle, TimedOut};
    matches!(error.kind(), PermissionDenied | StaleNetworkFileHandle | TimedOut)
}

fn is_folder(entry: &fs::DirEntry, path: &Path) -> bool {
    match entry.file_type() {
        Ok(kind) if !kind.is_symlink() => kind.is_dir(),
        _ => fs::metadata(path).as_ref().is_ok_and(Metadata::is_dir),
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}
