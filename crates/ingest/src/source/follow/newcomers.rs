//! Takes files that have appeared into those that are followed, and leaves out those that are gone.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Follower;
use super::copies::Likeness;
use super::discovery::{Discovery, Findings};
use super::followed_path::FollowedPath;
use super::log_file::open;
use super::restored::Siblings;
use super::shared::{FileAt, PathNumber};
use crate::error::Fault;
use crate::source::rotated_set::rotated_set;
use crate::writer::Intake;

/// The pause between two messages about files that have appeared or are gone.
const MESSAGE_PAUSE: Duration = Duration::from_secs(10);

/// The most messages that wait. Those beyond are left out: something makes and deletes files all the
/// time.
const NOTES_MAX: usize = 10_000;

/// A file takes the place of another one if it was written this much later. With less, files that
/// are written in turns would take each other's place at every search.
const LEAD: Duration = Duration::from_secs(60);

/// The most files that are taken in while the process runs. Each keeps a source, even after it is
/// gone.
const TAKEN_MAX: usize = 20_000;

/// Folders and patterns that are followed, and what is to be said about their files.
#[derive(Debug)]
pub(super) struct Newcomers {
    pub(super) discovery: Discovery,
    /// The paths that a person has named. They are followed even while no file is there.
    named: HashSet<PathBuf>,
    /// Tables that have appeared and are still to be read.
    tables: Vec<PathBuf>,
    notes: Vec<Fault>,
    /// The time of the next message.
    next_message: Duration,
    /// The number of files that were said not to be followed.
    told_left_out: usize,
    /// The number of files that were taken in.
    taken: usize,
}

/// The paths that can make room for files that were written later, the one that was written first
/// at the front.
type Leavers = VecDeque<(SystemTime, PathNumber)>;

impl Newcomers {
    pub(super) fn new(discovery: Discovery, named: HashSet<PathBuf>, told_left_out: usize) -> Self {
        Self {
            discovery,
            tables: Vec::new(),
            named,
            notes: Vec::new(),
            next_message: Duration::ZERO,
            told_left_out,
            taken: 0,
        }
    }

    /// Whether new files at a path are found by the search.
    pub(super) fn finds(&self, path: &Path) -> bool {
        !self.discovery.is_empty() && !self.named.contains(path)
    }

    /// Returns the tables that have appeared since the last call.
    pub(super) fn take_tables(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.tables)
    }

    /// Counts a file that is taken in. Returns false, and notes that, if there are too many.
    fn may_take(&mut self, path: &Path) -> bool {
        if self.taken > TAKEN_MAX {
            return false;
        }
        self.taken += 1;
        if self.taken > TAKEN_MAX {
            let sentence = "is not followed: 20,000 files have appeared since weir was started; a \
                            restart begins anew";
            self.note(path, sentence);
        }
        self.taken <= TAKEN_MAX
    }

    fn note(&mut self, path: &Path, sentence: &str) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(Fault::note(&path.to_string_lossy(), sentence.to_owned()));
        }
    }

    /// Notes that files are not followed, if they are many more than was said before.
    fn note_left_out(&mut self, left_out: &[PathBuf], others: usize, paths_max: usize) {
        let count = left_out.len() + others;
        let Some(first) = left_out.first().filter(|_| count >= 2 * self.told_left_out.max(1))
        else {
            return;
        };
        self.told_left_out = count;
        let more =
            if count > 1 { format!(", nor are {} others", count - 1) } else { String::new() };
        let sentence = format!(
            "is not followed{more}: at most {paths_max} files are, those that were written last; \
             `ulimit -n` and --memory raise the limit"
        );
        self.note(first, &sentence);
    }
}

impl Follower {
    /// Follows the files that have appeared since the last search, if it is time for one. Returns
    /// what is to be reported.
    pub(super) fn discover(&mut self, intake: &dyn Intake) -> Vec<Fault> {
        let now = self.shared.clock.elapsed();
        if self.newcomers.discovery.is_due(now) {
            let findings = self.newcomers.discovery.search(&mut self.shared);
            self.end_gone_paths();
            self.admit(intake, findings);
        }
        if self.newcomers.notes.is_empty() || now < self.newcomers.next_message {
            return Vec::new();
        }
        self.newcomers.next_message = now + MESSAGE_PAUSE;
        std::mem::take(&mut self.newcomers.notes)
    }

    /// Ends the sources of paths whose files are gone, unless a person has named the path.
    fn end_gone_paths(&mut self) {
        let named = &self.newcomers.named;
        let is_gone = |path: &&FollowedPath| path.is_gone() && !named.contains(&path.path);
        let gone: Vec<PathNumber> =
            self.paths.values().filter(is_gone).map(FollowedPath::number).collect();
        for number in gone {
            let is_taken = self.paths.get(&number).is_some_and(|path| path.path.exists());
            let sentence = match is_taken {
                false => "is gone; its lines are kept like all others",
                true => {
                    "has the file of another log now; the lines of its own are kept like all others"
                }
            };
            self.end_path(number, "its file is gone", sentence);
        }
    }

    /// Ends the source of a path, with a note beside the source and one to say.
    fn end_path(&mut self, number: PathNumber, note: &str, sentence: &str) {
        let Some(path) = self.paths.remove(&number) else { return };
        self.numbers.remove(&path.path);
        if let Some(numbers) = self.sets.get_mut(&path.rotated_set) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.sets.remove(&path.rotated_set);
            }
        }
        self.busy.remove(&number);
        self.newcomers.note(&path.path, sentence);
        path.set_note(note);
        // A source that had to stop shows that itself.
        let _ = path.end(&mut self.shared);
    }

    fn admit(&mut self, intake: &dyn Intake, findings: Findings) {
        let Findings { files, tables, others, faults } = findings;
        self.newcomers.notes.extend(faults);
        for path in tables {
            if self.newcomers.may_take(&path) {
                self.newcomers.note(&path, "has appeared and is read");
                self.newcomers.tables.push(path);
            }
        }
        let (mut leavers, mut left_out, mut fresh) = (None, Vec::new(), Vec::new());
        for found in files {
            let is_followed = self.numbers.contains_key(&found.path);
            if !is_followed && self.is_copy(&found.path) {
                continue;
            }
            if is_followed
                || self.paths.len() + fresh.len() < self.shared.paths_max()
                || self.make_room(found.written, &mut leavers)
            {
                fresh.push(found.path);
            } else {
                left_out.push(found.path);
            }
        }
        self.newcomers.note_left_out(&left_out, others, self.shared.paths_max());
        // A log before its copies, which have longer names.
        fresh.sort_by_cached_key(|path| (path.as_os_str().len(), path.clone()));
        for path in fresh {
            if self.is_copy(&path) {
                continue;
            }
            match self.numbers.get(&path).copied() {
                Some(number) => self.read_new_file(number),
                None => self.take_in(intake, &path),
            }
        }
    }

    /// Reads a file that has come to a followed path and is no copy.
    fn read_new_file(&mut self, number: PathNumber) {
        let Some(path) = self.paths.get_mut(&number) else { return };
        let at = FileAt::path(&path.path);
        let is_here =
            |at: &FileAt| !self.shared.has_all(*at) || self.shared.reader(at.file) == Some(number);
        let here = at.filter(is_here).map(|at| at.file);
        path.read(here, &mut self.shared);
        self.busy.insert(number);
    }

    /// Follows a path at which a file has appeared, and reads it.
    fn take_in(&mut self, intake: &dyn Intake, path: &Path) {
        if !self.newcomers.may_take(path) {
            return;
        }
        self.newcomers.note(path, "has appeared and is followed");
        let number = self.add(intake, path, &mut Siblings::default());
        self.visit(number, FollowedPath::read);
    }

    /// Ends the path whose file was written first, if that was before this time. Returns whether
    /// there was one.
    fn make_room(&mut self, written: SystemTime, leavers: &mut Option<Leavers>) -> bool {
        let leavers = leavers.get_or_insert_with(|| {
            let may_leave = |path: &&FollowedPath| !self.newcomers.named.contains(&path.path);
            let paths = self.paths.values().filter(may_leave);
            let mut leavers: Vec<(SystemTime, PathNumber)> =
                paths.filter_map(|path| Some((path.written()?, path.number()))).collect();
            leavers.sort_unstable();
            leavers.into()
        });
        let is_long_before = |leaver: &mut (SystemTime, PathNumber)| {
            leaver.0.checked_add(LEAD).is_some_and(|time| time < written)
        };
        let Some((_, number)) = leavers.pop_front_if(is_long_before) else { return false };
        let sentence = "is not followed any more, because others were written later; if it grows, it \
                        is followed again";
        self.end_path(number, "others were written later, and are followed", sentence);
        true
    }

    /// Whether the file at a path is a copy of one that is followed, as `copytruncate` makes it. What
    /// it has beyond the lines that were read before the truncation is read.
    pub(super) fn is_copy(&mut self, copy: &Path) -> bool {
        let Ok(file) = open(copy) else { return false };
        let Some(at) = file.metadata().ok().and_then(|metadata| FileAt::of(&metadata)) else {
            return false;
        };
        if self.shared.has_read(at.file) {
            return false;
        }
        let originals = self.possible_originals(copy);
        // Lines that were copied may not have been read, and the log may be a new file. That is not
        // judged in turn, because no name is shorter.
        if let Some((_, log)) =
            originals.first().filter(|(bytes, _)| *bytes < copy.as_os_str().len())
        {
            self.visit(*log, FollowedPath::read);
        }
        for (_, number) in originals {
            let Some(path) = self.paths.get_mut(&number) else { continue };
            if path.read_files(&mut self.shared) {
                self.busy.insert(number);
            }
            match path.likeness(&file) {
                None => continue,
                Some(Likeness::SoFar(original)) => {
                    path.note_copy(copy, &file, at.length, &original);
                    self.shared.note_copy(original.place.in_copy(at.file, at.length));
                }
                Some(Likeness::Beyond(original)) => {
                    path.read_copy(copy, at, &original, &mut self.shared);
                    self.busy.insert(number);
                }
            }
            return true;
        }
        false
    }

    /// Whether a path is that of a followed log with something added. Logs of other servers, such as
    /// `a-2.log` beside `a.log`, may begin with the same lines.
    pub(super) fn has_name_of_copy(&self, copy: &Path) -> bool {
        let name = copy.as_os_str().as_encoded_bytes();
        let begins = |number| {
            let original = self.paths.get(number)?.path.as_os_str().as_encoded_bytes();
            Some(name.starts_with(original))
        };
        self.possible_originals(copy).iter().any(|(_, number)| begins(number) == Some(true))
    }

    /// The paths of which a file may be a copy, with the lengths of their names in bytes, the shortest
    /// first. A copy has the name of the log with a number or a date added. A file with a name as long
    /// is that of another day.
    fn possible_originals(&self, copy: &Path) -> Vec<(usize, PathNumber)> {
        let name_bytes = copy.as_os_str().len();
        let set = rotated_set(copy).into_os_string();
        let numbers = self.sets.get(&*set).into_iter().flatten();
        let original = |number: &PathNumber| {
            let path = &self.paths.get(number)?.path;
            let own_bytes = path.as_os_str().len();
            (own_bytes < name_bytes).then_some((own_bytes, *number))
        };
        let mut originals: Vec<_> = numbers.filter_map(original).collect();
        originals.sort_unstable();
        originals
    }
}
