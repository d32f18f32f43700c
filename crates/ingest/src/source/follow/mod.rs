//! Files that go on growing: what is written to them is read, through every way of rotating.
//!
//! Files are looked at every [`Follower::INTERVAL`], which works on every file system and
//! needs nothing from the system but `stat` and `read`.
//!
//! - Renamed: the old file is read to its end and watched on for a while, as its writer may
//!   take its time to open the new one; the new one is read from its start.
//! - Deleted and made again: the same.
//! - Truncated: read from its start again. That it was is seen by its length, and, where it
//!   has already grown beyond what was read, by the bytes before that place, which are not
//!   what they were. Lines that were written and truncated between two looks are lost: no
//!   one but their writer has ever seen them.
//! - Renamed twice between two looks: the file in between is not found.

mod generation;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::StopReason;
use crate::error::{Fault, ReadError};
use crate::pipeline::Pipeline;
use crate::progress::{Course, SourceEnd};
use crate::writer::{FormatChoice, SourceWriter};
use generation::Generation;

/// How long a file that is no longer at its path is read on after it last grew.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long lines wait for more of their kind, to tell their format by.
const DETECTION_PATIENCE: Duration = Duration::from_millis(100);

/// Files that are no longer at their paths and are read on, at the most, for each path.
const RETIRED_MAX: usize = 8;

/// Follows files into a pipeline.
pub struct Follower {
    followed: Vec<Followed>,
}

/// One path, and the files that are or were there.
struct Followed {
    path: PathBuf,
    writer: SourceWriter,
    /// The file that is there, the last time it was looked at.
    current: Option<Generation>,
    retired: Vec<Generation>,
    /// Since when lines wait for their format to be told.
    waiting_since: Option<Instant>,
    stopped: Option<StopReason>,
}

impl Follower {
    /// How often files are looked at, so that lines are seen well within 200 ms.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Opens a source for each of these paths, whether there is a file or not yet.
    pub fn new(pipeline: &Pipeline, paths: &[PathBuf], format: &FormatChoice) -> Self {
        let followed = paths.iter().map(|path| {
            let mut writer = pipeline.source(&path.to_string_lossy(), None, format.clone());
            writer.watch_format();
            let path = path.clone();
            Followed {
                path,
                writer,
                current: None,
                retired: Vec::new(),
                waiting_since: None,
                stopped: None,
            }
        });
        Self { followed: followed.collect() }
    }

    /// Follows until `ends` or until no source takes any more; gives what went wrong. What there
    /// is to say meanwhile is told at once.
    pub fn run(mut self, ends: &AtomicBool, tell: impl Fn(Fault)) -> Vec<Fault> {
        while !ends.load(Ordering::Relaxed) && self.is_going() {
            let has_more = self.look();
            self.news().for_each(&tell);
            if !has_more {
                thread::sleep(Self::INTERVAL);
            }
        }
        self.end()
    }

    /// Reads what has come since the last look, a bounded amount of each file; true where
    /// there may be more at once.
    pub fn look(&mut self) -> bool {
        let mut has_more = false;
        for index in 0..self.followed.len() {
            if self.followed[index].stopped.is_some() {
                continue;
            }
            self.take_over(index);
            match self.followed[index].look() {
                Ok(more) => has_more |= more,
                Err(stopped) => self.followed[index].stopped = Some(stopped),
            }
        }
        has_more
    }

    /// What there is to say since the last time.
    fn news(&self) -> impl Iterator<Item = Fault> {
        let progress = self.followed.iter().map(|followed| followed.writer.progress());
        progress.filter_map(|one| Some(Fault::note(one.name(), one.take_news()?)))
    }

    /// Where a rotation has moved a file from one followed path to another, it goes on there
    /// from where it was read.
    fn take_over(&mut self, index: usize) {
        let path = self.followed[index].path.clone();
        let Some(identity) = generation::identity_at(&path) else { return };
        if self.followed[index].is_current(identity) {
            return;
        }
        for other in 0..self.followed.len() {
            if other == index {
                continue;
            }
            let Some(moved) = self.followed[other].give_up(identity) else { continue };
            let old = self.followed[index].current.replace(moved);
            self.followed[index].retire(old);
            return;
        }
    }

    fn is_going(&self) -> bool {
        self.followed.iter().any(|followed| {
            followed.stopped.is_none() && !followed.writer.progress().is_cancelled()
        })
    }

    fn end(self) -> Vec<Fault> {
        let fault = |followed: Followed| {
            let name = followed.path.to_string_lossy().into_owned();
            let stopped = followed.end().filter(|stopped| *stopped != StopReason::Cancelled)?;
            Some(Fault::new(&name, ReadError::Stopped(stopped)))
        };
        self.followed.into_iter().filter_map(fault).collect()
    }
}

impl Followed {
    fn is_current(&self, identity: generation::Identity) -> bool {
        self.current.as_ref().is_some_and(|current| current.identity() == identity)
    }

    /// Gives up a file that is at another path now.
    fn give_up(&mut self, identity: generation::Identity) -> Option<Generation> {
        if self.is_current(identity) {
            return self.current.take();
        }
        let at = self.retired.iter().position(|retired| retired.identity() == identity)?;
        Some(self.retired.remove(at))
    }

    fn look(&mut self) -> Result<bool, StopReason> {
        // What was there is read before what is there.
        let mut has_more = false;
        for retired in &mut self.retired {
            has_more |= retired.read(&mut self.writer)?;
        }
        if let Some(current) = &mut self.current {
            has_more |= current.read(&mut self.writer)?;
        }
        if !has_more {
            has_more = self.follow_path();
        }
        self.expire()?;
        self.hand_on(has_more)?;
        Ok(has_more)
    }

    /// Ends the source with the lines that have begun; says why it stopped before, if it did.
    fn end(mut self) -> Option<StopReason> {
        for file in self.retired.drain(..).chain(self.current.take()) {
            if self.stopped.is_none() {
                self.stopped = file.finish(&mut self.writer).err();
            }
        }
        let end = self.stopped.map_or(SourceEnd::Done, SourceEnd::from);
        self.stopped.or(self.writer.finish(end).err())
    }

    /// Opens the file that has come to the path, if it is another.
    fn follow_path(&mut self) -> bool {
        if generation::identity_at(&self.path).is_none_or(|identity| self.is_current(identity)) {
            return false;
        }
        let Some(fresh) = Generation::open(&self.path) else { return false };
        if self.is_current(fresh.identity()) {
            return false;
        }
        let again = self.give_up(fresh.identity());
        let old = self.current.replace(again.unwrap_or(fresh));
        self.retire(old);
        true
    }

    fn retire(&mut self, old: Option<Generation>) {
        self.retired.extend(old);
    }

    /// Lets go of files that are no longer at the path and have not grown for long.
    fn expire(&mut self) -> Result<(), StopReason> {
        let mut index = 0;
        while index < self.retired.len() {
            let is_over = self.retired[index].last_growth().elapsed() > PATIENCE
                || self.retired.len() > RETIRED_MAX;
            if is_over {
                self.retired.remove(index).finish(&mut self.writer)?;
            } else {
                index += 1;
            }
        }
        Ok(())
    }

    /// Lets what came be seen, at once when nothing more comes.
    fn hand_on(&mut self, has_more: bool) -> Result<(), StopReason> {
        if self.writer.offset() > self.writer.handed_on() && !has_more {
            let since = *self.waiting_since.get_or_insert_with(Instant::now);
            if self.writer.is_known() || since.elapsed() >= DETECTION_PATIENCE {
                self.writer.hand_on()?;
                self.waiting_since = None;
            }
        }
        // Only when it is handed on: what was there already had not just been written.
        if has_more {
            self.writer.progress().set_course(Course::Reading);
        } else if self.waiting_since.is_none() {
            self.writer.progress().set_course(Course::Following);
        }
        Ok(())
    }
}

/// True for a path whose file can be followed: a plain text, or nothing yet.
pub fn can_follow(path: &Path) -> bool {
    generation::can_follow(path)
}
