//! Going on with files that another process has followed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use weir_store::StoredPlace;

use super::FollowedPath;
use super::log_file::LogFile;
use super::shared::Shared;
use crate::file_identity::FileIdentity;
use crate::plain_file::PlainFile;
use crate::state::places::{is_at, path_of};

/// The most files beside a followed one that are looked at for one that was rotated away.
const SIBLINGS_MAX: usize = 4_096;

impl FollowedPath {
    /// Goes on where another process has ended, if one has followed the path.
    pub(super) fn resume(&mut self, shared: &mut Shared) {
        let places = self.writer.progress().restored_places();
        for (number, place) in places.iter().enumerate() {
            let is_found = self.resume_at(place, shared);
            let progress = self.writer.progress();
            // Only now, so that a state that is saved meanwhile has the place or what follows it.
            progress.forget_place(place);
            if !is_found && number + 1 == places.len() {
                let note = "a file was rotated away or written again while weir did not run; lines \
                            that were written to it last may be missing";
                progress.set_note(Some(note.to_owned()));
            }
        }
    }

    /// Goes on at a place. Returns false if its file is not found.
    fn resume_at(&mut self, place: &StoredPlace, shared: &mut Shared) -> bool {
        let Some((path, file)) = find(place, &self.path) else { return false };
        // Lines that were read before can be shown again.
        if let Some(plain) = PlainFile::new(&path, &file) {
            let progress = self.writer.progress();
            progress.add_part(place.source_start, &plain, place.file_start);
        }
        let identity = file.metadata().ok().map(|metadata| FileIdentity::of(&metadata));
        let opened = identity.and_then(|identity| LogFile::open(&path, identity, shared));
        let Some(resumed) = opened.and_then(|opened| opened.resume_at(place.position)) else {
            return false;
        };
        match FileIdentity::at(&self.path) == Some(resumed.identity()) {
            true => self.set_current(resumed, shared),
            false => self.add_retired(resumed, shared),
        }
        true
    }
}

/// Finds the file of a place: at the followed path, at its own, or beside it under another name.
fn find(place: &StoredPlace, followed: &Path) -> Option<(PathBuf, File)> {
    let own = path_of(place);
    let named = [followed.to_owned(), own.clone()].into_iter();
    let folder = own.parent().filter(|folder| !folder.as_os_str().is_empty());
    let siblings = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
    let siblings = siblings.take(SIBLINGS_MAX).filter_map(|entry| Some(entry.ok()?.path()));
    let moved =
        siblings.filter(|path| FileIdentity::at(path).and_then(|it| it.number()) == Some(place.id));
    named.chain(moved).find_map(|path| {
        let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let mut file = is_file.then(|| File::open(&path).ok()).flatten()?;
        is_at(place, &mut file).then_some((path, file))
    })
}
