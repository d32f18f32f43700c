//! The logs that `--follow` reads as they grow, and those that appear in folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;
use std::{panic, thread};

use weir_ingest::{
    FileSet, FollowOptions, Follower, FormatChoice, Input, Pipeline, can_follow, is_unfinished,
};

use crate::display::{safe, separated};
use crate::messages::say_all;
use crate::outcome::say;
use crate::sources::{self, Complaint, complaints};

/// The most files that are followed, if the limit of open files allows as many.
pub(crate) const FILES_MAX: usize = 50_000;

/// The share of the memory that followed files may take: half.
const FILES_SHARE: usize = 2;

/// What is followed.
pub(crate) struct Followed {
    /// What there is now: files, and folders of them.
    pub(crate) inputs: Vec<Input>,
    /// What may have new files.
    sets: Vec<FileSet>,
    /// The paths that were named.
    named: HashSet<PathBuf>,
    /// The most files that are followed.
    files_max: usize,
    /// Paths of which was said why they cannot be read.
    told: HashSet<PathBuf>,
    /// The number of files of which was said that they are not followed.
    told_left_out: usize,
}

impl Followed {
    /// Divides what was named into files, and sets of which at most `files_max` files are read, or
    /// as many as half of this memory is enough for.
    pub(crate) fn find(named: Vec<Input>, files_max: usize, memory_bytes_max: usize) -> Self {
        let memory_files_max = memory_bytes_max / FILES_SHARE / Follower::FILE_BYTES;
        let files_max = files_max.min(memory_files_max).max(1);
        let mut followed = Self {
            inputs: Vec::new(),
            sets: Vec::new(),
            named: HashSet::new(),
            files_max,
            told: HashSet::new(),
            told_left_out: 0,
        };
        for input in named {
            match &input {
                Input::File(path) => match FileSet::of(path) {
                    Some(set) => followed.add_set(set, &input),
                    None => {
                        followed.named.insert(path.to_path_buf());
                        followed.inputs.push(input);
                    }
                },
                Input::Stdin(_) => followed.inputs.push(input),
            }
        }
        followed
    }

    fn add_set(&mut self, set: FileSet, input: &Input) {
        let name = safe(&input.name());
        let (files, others) = set.newest_files(Follower::paths_max(self.files_max));
        if others > 0 {
            self.told_left_out += others;
            say(format_args!(
                "{name}: of its files, the {} that were written last are read and followed, and {} are not; \
                 `ulimit -n` and --memory raise the limit",
                separated(files.len() as u64),
                separated(others as u64)
            ));
        }
        match (&set, files.is_empty()) {
            // The search of the folder says what it leaves out.
            (FileSet::Folder(_), _) if others == 0 => self.inputs.push(input.clone()),
            (FileSet::Pattern(_), true) => {
                say(format_args!("{name}: no file matches yet; weir reads those that will"));
            }
            _ => self.inputs.extend(files.into_iter().map(|path| Input::File(path.into()))),
        }
        self.sets.push(set);
    }

    /// Whether the file at a path is found by a search of a folder.
    fn finds(&self, path: &Path) -> bool {
        !self.sets.is_empty() && !self.named.contains(path)
    }

    /// Notes that these complaints are said.
    pub(crate) fn note_told(&mut self, complaints: &[Complaint]) {
        self.told.extend(complaints.iter().map(|complaint| PathBuf::from(&complaint.name)));
    }

    /// Reads all inputs, and the lines that are appended to plain files, until the pipeline ends. Files
    /// that do not exist yet are read as soon as they do.
    pub(crate) fn read(
        self,
        pipeline: &Pipeline,
        inputs: &[Input],
        format: &FormatChoice,
        threads: usize,
    ) -> Vec<Complaint> {
        let (mut paths, mut others) = (Vec::new(), Vec::new());
        for input in inputs {
            match input {
                // The search of its folder finds it when its writer has finished it.
                Input::File(path) if self.finds(path) && is_unfinished(path) => {}
                Input::File(path) if can_follow(path) => paths.push(path.to_path_buf()),
                other => others.push(other.clone()),
            }
        }
        for path in paths.iter().filter(|path| !path.exists()) {
            let name = path.to_string_lossy();
            say(format_args!(
                "{}: does not exist yet; weir reads it as soon as it does",
                safe(&name)
            ));
        }
        keep_newest(&mut paths, Follower::paths_max(self.files_max));
        let read_elsewhere = others.iter().filter_map(|input| match input {
            Input::File(path) => Some(path.to_path_buf()),
            Input::Stdin(_) => None,
        });
        let read_elsewhere = read_elsewhere.collect();
        thread::scope(|scope| {
            let reading = scope.spawn(|| sources::read_all(pipeline, &others, format, threads));
            let options = FollowOptions::new()
                .with_sets(self.sets, self.named)
                .with_read_elsewhere(read_elsewhere)
                .with_files_max(self.files_max)
                .with_told(self.told)
                .with_told_left_out(self.told_left_out);
            let follower = Follower::with(pipeline, &paths, format, options);
            let report = |faults| say_all(&complaints(faults));
            let mut complaints =
                complaints(follower.run(pipeline, &AtomicBool::new(false), report));
            // After a panic it is unknown which inputs were read.
            complaints.extend(reading.join().unwrap_or_else(|panic| panic::resume_unwind(panic)));
            complaints
        })
    }
}

/// Leaves out the paths whose files were written first if there are too many.
fn keep_newest(paths: &mut Vec<PathBuf>, paths_max: usize) {
    let Some(others) = paths.len().checked_sub(paths_max).filter(|others| *others > 0) else {
        return;
    };
    let written = |path: &PathBuf| {
        let metadata = path.metadata().and_then(|metadata| metadata.modified());
        metadata.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let mut times: Vec<_> = paths.iter().map(|path| (written(path), path.clone())).collect();
    times.sort_unstable();
    let left_out: HashSet<PathBuf> = times.into_iter().take(others).map(|(_, path)| path).collect();
    if let Some(first) = left_out.iter().min() {
        say(format_args!(
            "{}: is not followed, nor are {} others: at most {} files are, those that were written last; \
             `ulimit -n` and --memory raise the limit",
            safe(&first.to_string_lossy()),
            separated(others as u64 - 1),
            separated(paths_max as u64)
        ));
    }
    paths.retain(|path| !left_out.contains(path));
}
