//! The places in files up to which a source was read.

use std::path::Path;

use weir_store::StoredPlace;

use crate::file_parts::{FileEnd, FileHandle};
use crate::place_sums::PlaceSums;
use crate::progress::SourceProgress;
use crate::restored_place::TRUNCATED;

/// The most files of a source that are recognised later: the current one and those before it.
const PLACES_MAX: usize = 168;

/// Returns the files that a source was read from, and how far each was read when so many bytes of the
/// source were counted; the current one last.
pub(super) fn of(source: &SourceProgress, bytes_read: u64) -> Vec<StoredPlace> {
    // A place that is forgotten in between is among the ends.
    let mut places = source.restored_places();
    let ends = source.file_ends(bytes_read);
    let is_read = |place: &StoredPlace| ends.iter().any(|end| end.file.number() == Some(place.id));
    places.retain(|place| !is_read(place));
    places.extend(ends.iter().filter_map(place_of));
    places.drain(..places.len().saturating_sub(PLACES_MAX));
    places
}

fn place_of(end: &FileEnd) -> Option<StoredPlace> {
    let PlaceSums { position, tail, head } = sums(end)?;
    Some(StoredPlace {
        path: path_bytes(end.file.path()),
        id: if end.is_truncated { TRUNCATED } else { end.file.number()? },
        source_start: end.source_start,
        file_start: end.file_start,
        position,
        tail,
        head,
    })
}

/// The bytes around the end of what was read of a file. It may have got another name since.
fn sums(end: &FileEnd) -> Option<PlaceSums> {
    let position = end.position;
    match &end.handle {
        FileHandle::Closed(sums) if sums.position == position => Some(*sums),
        FileHandle::Open(file, known) => {
            let read = file.upgrade().and_then(|file| PlaceSums::of(&file, position));
            Some(read.unwrap_or_else(|| known.at(position)))
        }
        FileHandle::Closed(known) => {
            let file = end.file.reopen().ok();
            let read = file.and_then(|file| PlaceSums::of(&file, position));
            Some(read.unwrap_or_else(|| known.at(position)))
        }
        FileHandle::Truncated(..) | FileHandle::Path => {
            PlaceSums::of(&end.file.reopen().ok()?, position)
        }
    }
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn path_bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}
