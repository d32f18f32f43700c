//! Expands named inputs into the inputs to read: directories become their files, a file that is
//! named twice is read once, and rotated logs are ordered by their times.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::head::Head;
use super::input::Input;
use super::stream_head::{HEAD_BYTES, is_packed, is_text};
use crate::error::{Fault, ReadError};
use weir_core::FormatChoice;

/// The greatest depth of nested directories, so that recursion is bounded.
const DEPTH_MAX: usize = 64;

/// The number of bytes in which the first time of a log is searched for.
const TIME_BYTES: usize = 64 << 10;

/// Finds the inputs that were named. Returns them with the notes and errors about them.
///
/// - A directory stands for the files in and below it, ordered by name. Hidden entries (`.name`),
///   sockets, FIFOs and files that are not text are left out.
/// - A file that is found again by another path is read once.
/// - The files of a rotated set (`access.log`, `access.log.1`, `access.log.2.gz`,
///   `access.log-20251217`) are ordered by their first times, within the positions that they had.
///   A file without a time keeps its position.
///
/// A file that cannot be opened stays in the list: reading it reports the error.
pub fn find_inputs(named: &[Input], format: &FormatChoice) -> (Vec<Input>, Vec<Fault>) {
    let mut finder = InputFinder::default();
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
                let before = self.inputs.len();
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
                true => self.add_file(path, &metadata),
                false => self.skipped.push(path.to_string_lossy().into_owned()),
            }
        }
    }

    /// Notes which files of a directory were skipped.
    fn note_skipped(&mut self, path: &Path, inputs_before: usize) {
        let name = path.to_string_lossy();
        let skipped = std::mem::take(&mut self.skipped);
        if let Some(first) = skipped.first() {
            let note = match skipped.len() {
                1 => format!("{first} is not a text file and was skipped"),
                count => format!("{count} files that are not text were skipped, such as {first}"),
            };
            self.faults.push(Fault::note(&name, note));
        }
        if self.inputs.len() == inputs_before && skipped.is_empty() {
            self.faults.push(Fault::note(&name, "it has no logs".to_owned()));
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a file begins like text or is packed. Also true if it cannot be read, so that reading
/// it reports the error.
fn may_be_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_err() || is_packed(&head) || is_text(&head)
}

/// Puts the files of each rotated set in the order of their times. Times without a year get one that lets
/// each file end before the next one begins.
fn order_rotated(inputs: &mut [Input], format: &FormatChoice) {
    let mut sets: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (index, input) in inputs.iter().enumerate() {
        if let Input::File(path) = input
            && fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        {
            sets.entry(rotated_set(path)).or_default().push(index);
        }
    }
    for positions in sets.into_values().filter(|positions| positions.len() > 1) {
        let times = first_times_ns(inputs, &positions, format);
        let (positions, mut times): (Vec<usize>, Vec<(i64, usize)>) = positions
            .iter()
            .zip(times)
            .filter_map(|(&position, ns)| Some((position, (ns?, position))))
            .unzip();
        // Files of equal times keep the order in which they were named.
        times.sort_unstable();
        let ordered: Vec<Input> = times.iter().map(|(_, from)| inputs[*from].clone()).collect();
        for (position, input) in positions.into_iter().zip(ordered) {
            inputs[position] = input;
        }
    }
}

/// Returns the first times of the files of a rotated set, in the order of `positions`.
///
/// A copy of a log is often younger than its lines by years. So of files with a number, the newest comes
/// first here, and the time at which it begins is the latest of the next one.
fn first_times_ns(
    inputs: &mut [Input],
    positions: &[usize],
    format: &FormatChoice,
) -> Vec<Option<i64>> {
    let mut newest_first: Vec<usize> = (0..positions.len()).collect();
    newest_first.sort_by_key(|index| rotation(&inputs[positions[*index]]));
    let mut times = vec![None; positions.len()];
    let mut next_log = None;
    for index in newest_first {
        let input = &mut inputs[positions[index]];
        let is_numbered = rotation(input) != u32::MAX;
        if let (true, Some(first)) = (is_numbered, next_log) {
            input.set_next_log(first);
        }
        let head = Head::of(input, |text| text.len() >= TIME_BYTES).ok();
        let Some((time, lacks_year)) = head.and_then(|head| head.first_dated(format)) else {
            continue;
        };
        times[index] = Some(time.unix_ns);
        if let (true, true, Ok(ns)) = (is_numbered, lacks_year, u64::try_from(time.unix_ns)) {
            next_log = Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(ns));
        }
    }
    times
}

/// Returns the number at the end of the name of a rotated log: 0 for the log itself, and the largest
/// number for a name with a date.
fn rotation(input: &Input) -> u32 {
    let Input::File(path) = input else { return u32::MAX };
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let name = without_packed_extensions(&name);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.split(['.', '-', '_']).filter(|part| is_number(part));
    match (parts.next(), parts.next()) {
        (None, _) => 0,
        (Some(number), None) if number.len() < 4 && name.ends_with(&format!(".{number}")) => {
            number.parse().unwrap_or(u32::MAX)
        }
        _ => u32::MAX,
    }
}

/// Extensions that compressors and archivers add.
const PACKED_EXTENSIONS: [&str; 11] =
    [".gz", ".zst", ".bz2", ".xz", ".lz4", ".Z", ".tar", ".tgz", ".zip", ".tbz2", ".txz"];

fn without_packed_extensions(mut name: &str) -> &str {
    while let Some(rest) = PACKED_EXTENSIONS.iter().find_map(|ending| name.strip_suffix(ending)) {
        name = rest;
    }
    name
}

/// Returns the name that the files of a rotated set share: without the extensions that compressors
/// add, and without parts that are only a number or a date.
fn rotated_set(path: &Path) -> PathBuf {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let name = without_packed_extensions(&name);
    let is_separator = |c: char| matches!(c, '.' | '-' | '_');
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.split(is_separator).filter(|part| !is_number(part)).collect();
    path.with_file_name(parts.join("."))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{rotated_set, rotation};
    use crate::Input;

    #[test]
    fn a_rotated_log_has_a_number() {
        for (name, number) in [
            ("access.log", 0),
            ("access.log.1", 1),
            ("access.log.12.gz", 12),
            ("access2.log", 0),
            ("access.log-20251217", u32::MAX),
            ("access.log.2025-12-17", u32::MAX),
            ("access.2025.log", u32::MAX),
        ] {
            assert_eq!(rotation(&Input::File(Path::new(name).to_owned().into())), number, "{name}");
        }
    }

    #[test]
    fn names_of_rotated_files_map_to_one_set() {
        let set = rotated_set(Path::new("/var/log/access.log"));
        for name in [
            "access.log.1",
            "access.log.12.gz",
            "access.log-20251217",
            "access.log-20251217.xz",
            "access.log.2025-12-17",
            "access-20251217.log",
            "access.log-20251217-1765962000.zst",
            "access.log.3.tar.gz",
        ] {
            assert_eq!(rotated_set(&Path::new("/var/log").join(name)), set, "{name}");
        }
        for name in ["/var/log/error.log.1", "/var/log/nginx/access.log", "/var/log/access2.log"] {
            assert_ne!(rotated_set(Path::new(name)), set, "{name}");
        }
    }
}
