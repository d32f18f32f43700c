//! Finds files that appear in followed folders, or whose paths match followed patterns.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weir_tables::is_table;

use super::file_set::{FileSearch, FileSet, NewestFiles, may_be_there};
use super::log_file::open;
use super::read_tables::{Known, ReadTables};
use super::seen_files::SeenFiles;
use super::shared::{FileAt, Shared};
use crate::error::{Fault, ReadError};
use crate::file_identity::FileIdentity;
use crate::source::cri::is_cri;
use crate::source::rotated_set::has_packed_name;
use crate::source::stream_head::{HEAD_BYTES, is_packed, is_text};
use crate::source::table;

/// The time between two searches, unless the system reports a new file.
const INTERVAL: Duration = Duration::from_secs(1);

/// A search is followed by a pause of at least this many times its duration, so that a folder of a
/// million files takes no core.
const PAUSE_FACTOR: u32 = 20;

/// The most files whose first bytes are looked at in a search, the most recently written ones.
const LOOKS_MAX: usize = 1_024;

/// The most files that are remembered because they are not followed. Others are looked at again.
const IGNORED_MAX: usize = 100_000;

/// The most paths of which it is remembered that a message was about them.
const TOLD_MAX: usize = 1_000;

/// Searches folders and patterns for files that no path reads.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    sets: Vec<FileSet>,
    /// Files that are not followed: they are packed, no text, read to their end, or written by this process.
    ignored: HashSet<FileIdentity>,
    tables: ReadTables,
    /// The files that are remembered, which the last search has seen.
    seen: SeenFiles,
    /// Paths of which was said why they are not read.
    pub(super) told: HashSet<PathBuf>,
    next: Duration,
    /// The earliest time of the next search if a file has appeared.
    next_soon: Duration,
}

/// A file that no path reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    file: FileIdentity,
    /// When it was last written.
    pub(super) written: SystemTime,
}

/// What the first bytes of a file show.
#[derive(Debug)]
enum Kind {
    Log(FoundFile),
    /// A table that is whole.
    Table,
    /// Nothing to read, or not yet.
    Nothing,
}

/// What a search has found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The most recently written files, the newest first.
    pub(super) files: Vec<FoundFile>,
    /// Tables, which are read once.
    pub(super) tables: Vec<PathBuf>,
    /// The number of other files.
    pub(super) others: usize,
    /// Errors that were not reported before.
    pub(super) faults: Vec<Fault>,
}

impl Discovery {
    /// Searches these sets, except for files that somebody else reads.
    pub(super) fn new(sets: Vec<FileSet>, read_elsewhere: &[PathBuf]) -> Self {
        let elsewhere = read_elsewhere.iter().filter_map(|path| FileIdentity::at(path));
        let ignored = own_outputs().chain(elsewhere).collect();
        let tables = ReadTables::at(read_elsewhere);
        Self { sets, ignored, tables, ..Self::default() }
    }

    /// Whether there is nothing to search.
    pub(super) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Lets the next search come soon, because a file has appeared.
    pub(super) fn expect(&mut self) {
        self.next = self.next.min(self.next_soon);
    }

    /// Whether it is time for a search.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        !self.is_empty() && now >= self.next
    }

    /// Searches for files that have lines which were not read.
    pub(super) fn search(&mut self, shared: &mut Shared) -> Findings {
        let begun = shared.clock.elapsed();
        let (mut seen, mut unread) = (SeenFiles::default(), Vec::new());
        let mut newest = NewestFiles::new(LOOKS_MAX);
        let mut search = FileSearch::default();
        for set in &self.sets {
            search.run(set, &mut |path| match self.examine(&path, shared, &mut seen) {
                Ok(Some(written)) => newest.push(written, path),
                Err(error) if may_be_there(&error) => {
                    let folder = path.parent().unwrap_or(&path);
                    if unread.last().is_none_or(|last| last != folder) {
                        unread.push(folder.to_owned());
                    }
                }
                Ok(None) | Err(_) => {}
            });
        }
        // Also those that were watched before: a folder may have been made again.
        search.folders.iter().for_each(|folder| shared.watch_directory(folder));
        unread.append(&mut search.unread);
        seen.keep(std::mem::take(&mut self.seen), &unread);
        self.ignored.retain(|file| seen.contains(*file));
        shared.retain_known(|file| seen.contains(file));
        self.seen = seen;
        let mut findings = Findings { others: newest.others(), ..Findings::default() };
        let mut found = HashSet::new();
        for path in newest.newest_first() {
            match self.look(&path) {
                // A file can have several names.
                Ok(Kind::Log(file)) if found.insert(file.file) => findings.files.push(file),
                Ok(Kind::Table) => findings.tables.push(path),
                Ok(Kind::Log(_) | Kind::Nothing) => {}
                Err(fault) => search.faults.push(fault),
            }
        }
        findings.faults = self.untold(search.faults);
        let now = shared.clock.elapsed();
        self.next_soon = now + PAUSE_FACTOR * now.saturating_sub(begun);
        self.next = self.next_soon.max(now + INTERVAL);
        findings
    }

    /// Returns when a file was last written if it may be one to follow. Adds a file of which something
    /// is remembered, or is read, to those that were seen.
    fn examine(
        &self,
        path: &Path,
        shared: &mut Shared,
        seen: &mut SeenFiles,
    ) -> io::Result<Option<SystemTime>> {
        let metadata = fs::metadata(path)?;
        let Some(at) = FileAt::of(&metadata) else { return Ok(None) };
        let is_ignored = self.ignored.contains(&at.file) && !self.tables.has_changed(at);
        if !is_ignored {
            shared.recall(path, at.file);
        }
        if self.ignored.contains(&at.file)
            || shared.is_known(at.file)
            || shared.reader(at.file).is_some()
        {
            seen.insert(path, at.file);
        }
        Ok((!is_ignored && !shared.has_all(at)).then(|| written(&metadata)))
    }

    /// Looks at the first bytes of a file.
    fn look(&mut self, path: &Path) -> Result<Kind, Fault> {
        let opened = open(path).and_then(|mut file| {
            let mut head = Vec::new();
            let metadata = file.metadata()?;
            (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
            let is_whole_table = is_table(&head).then(|| table::is_whole(&mut file)).transpose()?;
            Ok((metadata, head, is_whole_table))
        });
        let (metadata, head, is_whole_table) = match opened {
            Ok(opened) => opened,
            // It has vanished since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kind::Nothing),
            Err(error) => {
                return Err(Fault::new(&path.to_string_lossy(), ReadError::Open(error)));
            }
        };
        let file = FileIdentity::of(&metadata);
        match is_whole_table {
            Some(true) => return self.table(path, FileAt { file, length: metadata.len() }),
            // Its writer has not finished.
            Some(false) => return Ok(Kind::Nothing),
            None => {}
        }
        if head.is_empty() && has_packed_name(path) {
            return Ok(Kind::Nothing);
        }
        if !is_cri(&head) && (is_packed(&head) || !is_text(&head)) {
            self.ignore(file);
            return Ok(Kind::Nothing);
        }
        Ok(Kind::Log(FoundFile { path: path.to_owned(), file, written: written(&metadata) }))
    }

    /// Tells whether a table is still to be read.
    fn table(&mut self, path: &Path, at: FileAt) -> Result<Kind, Fault> {
        if !self.ignore(at.file) {
            return Ok(Kind::Nothing);
        }
        match self.tables.note(path, at, &self.seen) {
            Known::New => Ok(Kind::Table),
            Known::Same => Ok(Kind::Nothing),
            Known::Anew => {
                let sentence = "was written anew after it was read; its rows are those that it had, \
                                until weir is restarted";
                Err(Fault::note(&path.to_string_lossy(), sentence.to_owned()))
            }
        }
    }

    /// Leaves a file out of later searches. Returns false if too many are.
    fn ignore(&mut self, file: FileIdentity) -> bool {
        let has_room = self.ignored.len() < IGNORED_MAX;
        if has_room {
            self.ignored.insert(file);
        }
        has_room
    }

    /// Returns the faults about paths that nothing was said of.
    fn untold(&mut self, faults: Vec<Fault>) -> Vec<Fault> {
        let is_new = |fault: &Fault| {
            self.told.len() < TOLD_MAX && self.told.insert(PathBuf::from(&fault.name))
        };
        faults.into_iter().filter(is_new).collect()
    }
}

fn written(metadata: &Metadata) -> SystemTime {
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The files that standard output and standard error are written to: each message about a file that
/// is read would be another line of it.
#[cfg(unix)]
fn own_outputs() -> impl Iterator<Item = FileIdentity> {
    use std::os::fd::AsFd;
    let outputs =
        [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
    let identity =
        |output: io::Result<_>| Some(FileIdentity::of(&File::from(output.ok()?).metadata().ok()?));
    outputs.into_iter().filter_map(identity)
}

#[cfg(not(unix))]
fn own_outputs() -> impl Iterator<Item = FileIdentity> {
    std::iter::empty()
}
