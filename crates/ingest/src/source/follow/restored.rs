//! The files that another process has followed, recognised when they are found again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_store::StoredPlace;

use super::copies::is_telling;
use super::log_file::open;
use super::shared::{FileAt, Shared};
use crate::file_identity::FileIdentity;
use crate::restored_place::{RestoredPlace, TRUNCATED, is_at, path_of};
use crate::source::rotated_set::rotated_set;

/// The most files of a folder that are looked at for those that were rotated away.
const SIBLINGS_MAX: usize = 100_000;

/// The device of a file, and its number there.
type FileNumber = (u64, u64);

/// The places up to which another process has read files, until each file is found.
#[derive(Debug, Default)]
pub(super) struct RestoredPlaces(HashMap<FileNumber, Vec<RestoredPlace>>);

impl RestoredPlaces {
    pub(super) fn new(places: Vec<RestoredPlace>) -> Self {
        let mut by_number: HashMap<FileNumber, Vec<RestoredPlace>> = HashMap::new();
        // Every file begins like one of which nothing was read, also another one that has got its number.
        let can_tell = |it: &RestoredPlace| it.place.id != TRUNCATED && it.place.position > 0;
        for place in places.into_iter().filter(can_tell) {
            by_number.entry(place.place.id).or_default().push(place);
        }
        Self(by_number)
    }

    /// Whether there are places in a file with this number.
    pub(super) fn has(&self, file: FileIdentity) -> bool {
        !self.0.is_empty() && file.number().is_some_and(|number| self.0.contains_key(&number))
    }

    /// Takes the place up to which a file was read; `None` if it is not the one that was read.
    pub(super) fn take(&mut self, identity: FileIdentity, file: &File) -> Option<RestoredPlace> {
        let places = self.0.remove(&identity.number()?)?;
        // Several sources may have read parts of it.
        let read = places.into_iter().filter(|restored| is_at(&restored.place, file));
        read.max_by_key(|restored| restored.place.position)
    }
}

/// The files in the folders of places. Each folder is listed once.
#[derive(Debug, Default)]
pub(super) struct Siblings {
    folders: HashMap<PathBuf, FolderFiles>,
}

/// The files of a folder.
#[derive(Debug, Default)]
struct FolderFiles {
    by_number: HashMap<FileNumber, PathBuf>,
    by_set: HashMap<OsString, Vec<(PathBuf, FileIdentity)>>,
}

/// The file of a place.
#[derive(Debug)]
pub(super) struct FoundPlace {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) at: FileAt,
}

impl Siblings {
    /// Finds the file of a place: at the followed path, at its own, or beside it under another name. If
    /// it is nowhere, finds a copy of it with a name of its rotated set, of which nothing is known.
    pub(super) fn find(
        &mut self,
        place: &StoredPlace,
        followed: &Path,
        shared: &mut Shared,
    ) -> Option<FoundPlace> {
        let own = path_of(place);
        [followed, &own].into_iter().find_map(|path| FoundPlace::at(path, place)).or_else(|| {
            let files = self.beside(&own);
            let moved = files.by_number.get(&place.id);
            moved.and_then(|path| FoundPlace::at(path, place)).or_else(|| {
                let set = rotated_set(&own).into_os_string();
                let copies = files.by_set.get(&set).into_iter().flatten();
                // There may be many places of files that are gone, so few files are opened for each.
                let unknown = copies.filter(|(path, file)| !shared.recall(path, *file));
                let found = unknown
                    .filter_map(|(path, _)| FoundPlace::at(path, place))
                    .filter(|found| is_telling(&found.file, place.position));
                found.max_by_key(|found| found.at.length)
            })
        })
    }

    fn beside(&mut self, path: &Path) -> &FolderFiles {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        self.folders.entry(folder.to_owned()).or_insert_with(|| FolderFiles::of(folder))
    }
}

impl FolderFiles {
    fn of(folder: &Path) -> Self {
        let mut files = Self::default();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.take(SIBLINGS_MAX).map(|entry| entry.path()) {
            let Some(identity) = FileIdentity::at(&path) else { continue };
            if let Some(number) = identity.number() {
                files.by_number.insert(number, path.clone());
            }
            let set = rotated_set(&path).into_os_string();
            files.by_set.entry(set).or_default().push((path, identity));
        }
        files
    }
}

impl FoundPlace {
    /// The file at a path, if it has the bytes that were read up to the place.
    fn at(path: &Path, place: &StoredPlace) -> Option<Self> {
        let file = open(path).ok()?;
        let at = FileAt::of(&file.metadata().ok()?)?;
        is_at(place, &file).then(|| Self { path: path.to_owned(), file, at })
    }
}

impl Shared {
    /// Remembers how far another process has read the file at a path, if it has. Returns whether
    /// something of the file was read.
    pub(super) fn recall(&mut self, path: &Path, file: FileIdentity) -> bool {
        self.recall_source(path, file);
        self.is_known(file) || self.reader(file).is_some()
    }

    /// Remembers how far another process has read the file at a path, and returns the name of the
    /// source whose lines it has.
    pub(super) fn recall_source(&mut self, path: &Path, file: FileIdentity) -> Option<Arc<str>> {
        if !self.restored.has(file) {
            return None;
        }
        // A file that cannot be opened now may be found again later.
        let opened = open(path).ok()?;
        if FileIdentity::of(&opened.metadata().ok()?) != file {
            return None;
        }
        let RestoredPlace { source, place } = self.restored.take(file, &opened)?;
        if self.is_known(file) || self.reader(file).is_some() {
            return None;
        }
        self.leave_at(file, &opened, place.position);
        Some(source)
    }
}
