//! Going on with files that another process has followed.

use std::fs::File;
use std::time::SystemTime;

use weir_store::StoredPlace;

use super::followed_path::{FollowedPath, PATIENCE};
use super::log_file::LogFile;
use super::restored::{FoundPlace, Siblings};
use super::shared::Shared;
use crate::file_identity::FileIdentity;
use crate::plain_file::PlainFile;
use crate::restored_place::{TRUNCATED, sums_of};

/// Whether nothing more is expected of a file that has left its path.
fn is_old(file: &File) -> bool {
    let written = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    age.is_some_and(|age| age > PATIENCE)
}

impl FollowedPath {
    /// Goes on where another process has ended, if one has followed the path.
    pub(super) fn resume(&mut self, siblings: &mut Siblings, shared: &mut Shared) {
        let places = self.writer.progress().restored_places();
        for (number, place) in places.iter().enumerate() {
            if place.position == 0 {
                // Nothing was read of the file, so it is read like any other.
                self.writer.progress().forget_place(place);
                continue;
            }
            let found = siblings.find(place, &self.path, shared);
            let is_last = number + 1 == places.len();
            match found {
                Some(found) => {
                    self.resume_at(place, &found, shared);
                    // Only now, so that a state that is saved meanwhile has the place or what
                    // follows it.
                    self.writer.progress().forget_place(place);
                }
                None if is_last && place.id != TRUNCATED => {
                    let note = "a file was rotated away or written again while weir did not run; \
                                lines that were written to it last may be missing";
                    self.writer.progress().set_note(Some(note.to_owned()));
                }
                None => {}
            }
        }
    }

    /// Goes on at a place in a file.
    fn resume_at(&mut self, place: &StoredPlace, found: &FoundPlace, shared: &mut Shared) {
        let FoundPlace { path, file, at } = found;
        shared.recall(path, at.file);
        if shared.reader(at.file).is_some() || shared.has_beyond(at.file, place.position) {
            // The lines after the place are those of another source.
            return;
        }
        // Lines that were read before can be shown again.
        if let Some(plain) = PlainFile::new(path, file) {
            let starts = (place.source_start, place.file_start);
            self.writer.progress().add_read_part(starts, &plain, sums_of(place));
        }
        let is_here = FileIdentity::at(&self.path) == Some(at.file);
        let is_over = !is_here && place.position == at.length && is_old(file);
        let resumed = (!is_over)
            .then(|| LogFile::open(path, at.file, shared))
            .flatten()
            .and_then(|opened| opened.resume_at(place.position));
        if let Some(resumed) = &resumed {
            resumed.hold_part(self.writer.progress());
        }
        match resumed {
            Some(resumed) if is_here => self.set_current(resumed, shared),
            Some(resumed) => self.add_retired(resumed, shared),
            // If it grows, it is read from there.
            None => shared.leave_at(at.file, file, place.position),
        }
    }
}
