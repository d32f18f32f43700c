//! Expands named inputs into the inputs to read: directories become their files, a file that is
//! named twice is read once, and rotated logs are put in order (`rotated_set`).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::input::Input;
use super::rotated_set::order_rotated;
use super::stream_head::{HEAD_BYTES, is_packed, is_text};
use crate::error::{Fault, ReadError};
use weir_core::FormatChoice;

/// The greatest depth of nested directories, so that recursion is bounded.
const DEPTH_MAX: usize = 64;

/// Finds the inputs that were named. Returns them with the notes and errors about them.
///
/// - A directory stands for the files in and below it, ordered by name. Hidden entries (`.name`),
///   sockets, FIFOs and files that are not text are left out.
/// - A file that is found again by another path is read once.
/// - The files of a rotated set (`access.log`, `access.log.1`, `access.log.2.gz`,
///   `access.log-20251217`) are ordered by their first times, within the positions that they had.
///   A file without a time keeps its position.
///
/// A file that cannot be opened stays in the list: reading it reports the error. The files of the
/// directory `own`, which this process writes, are left out.
pub fn find_inputs(
    named: &[Input],
    format: &FormatChoice,
    own: Option<&Path>,
) -> (Vec<Input>, Vec<Fault>) {
    let mut finder = InputFinder::default();
    if let Some((path, metadata)) = own.and_then(|path| Some((path, fs::metadata(path).ok()?))) {
        finder.enter(path, &metadata);
    }
    for input in named {
        match input {
            Input::File(path) => finder.add_named(path),
            Input::Stdin(_) => finder.inputs.push(input.clone()),
        }
    }
    let InputFinder { mut inputs, faults, .. } = finder;
    order_rotated(&mut inputs, format);
    (inputs, faults)
}

#[derive(Debug, Default)]
struct InputFinder {
    inputs: Vec<Input>,
    faults: Vec<Fault>,
    /// The files that were found, by identity, since one file can have several names.
    files: HashMap<Identity, PathBuf>,
    /// The directories that were entered, since links may lead back to them.
    directories: HashMap<Identity, PathBuf>,
    /// The number of files that were found in directories, also those that were found before, and of
    /// errors there.
    found: usize,
    skipped: Vec<String>,
}

/// The identity of a file. No other file has the same one.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(unix)]
fn identity(_: &Path, metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> Option<Identity> {
    path.canonicalize().ok()
}

impl InputFinder {
    fn add_named(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let before = self.found;
                if let Some(first) = self.enter(path, &metadata) {
                    return self.note_same(path, &first);
                }
                self.read_directory(path, 0);
                self.note_skipped(path, before);
            }
            Ok(metadata) => self.add_file(path, &metadata),
            Err(_) => self.inputs.push(Input::File(path.to_owned().into())),
        }
    }

    fn add_file(&mut self, path: &Path, metadata: &Metadata) {
        if let Some(identity) = identity(path, metadata)
            && let Some(first) = self.files.insert(identity, path.to_owned())
        {
            return self.note_same(path, &first);
        }
        self.inputs.push(Input::File(path.to_owned().into()));
    }

    /// Notes that a path leads to a file or directory that was already found.
    fn note_same(&mut self, path: &Path, first: &Path) {
        let note = match first == path {
            true => "is named twice; it is read once".to_owned(),
            false => {
                let noun = if path.is_dir() { "directory" } else { "file" };
                format!("is the same {noun} as {}; it is read once", first.display())
            }
        };
        self.faults.push(Fault::note(&path.to_string_lossy(), note));
    }

    /// Enters a directory. Returns its first path if it was entered before.
    fn enter(&mut self, path: &Path, metadata: &Metadata) -> Option<PathBuf> {
        let identity = identity(path, metadata)?;
        if let Some(first) = self.directories.get(&identity) {
            return Some(first.clone());
        }
        self.directories.insert(identity, path.to_owned());
        None
    }

    fn read_directory(&mut self, path: &Path, depth: usize) {
        if depth == DEPTH_MAX {
            return;
        }
        let mut entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>)
        {
            Ok(entries) => entries,
            Err(error) => {
                self.found += 1;
                let error = ReadError::Open(error);
                return self.faults.push(Fault::new(&path.to_string_lossy(), error));
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if is_hidden(&entry.file_name()) {
                continue;
            }
            self.add_entry(&entry.path(), depth);
        }
    }

    fn add_entry(&mut self, path: &Path, depth: usize) {
        // A dangling link is not a file of this directory.
        let Ok(metadata) = fs::metadata(path) else { return };
        if metadata.is_dir() {
            // A directory that was entered before is a loop, or its files are already found.
            if self.enter(path, &metadata).is_none() {
                self.read_directory(path, depth + 1);
            }
        } else if metadata.is_file() {
            match may_be_log(path) {
                true => {
                    self.found += 1;
                    self.add_file(path, &metadata);
                }
                false => self.skipped.push(path.to_string_lossy().into_owned()),
            }
        }
    }

    /// Notes which files of a directory were skipped.
    fn note_skipped(&mut self, path: &Path, found_before: usize) {
        let name = path.to_string_lossy();
        let skipped = std::mem::take(&mut self.skipped);
        if let Some(first) = skipped.first() {
            let note = match skipped.len() {
                1 => format!("{first} is not a text file and was skipped"),
                count => format!("{count} files that are not text were skipped, such as {first}"),
            };
            self.faults.push(Fault::note(&name, note));
        }
        if self.found == found_before && skipped.is_empty() {
            self.faults.push(Fault::note(&name, "it has no logs".to_owned()));
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a file begins like text or is packed. Also true if it cannot be read, so that reading
/// it reports the error.
pub(super) fn may_be_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_err() || is_packed(&head) || is_text(&head)
}
