//! The places in files up to which a source was read.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use weir_store::{StoredPlace, checksum};

use crate::file_parts::FileEnd;
use crate::progress::SourceProgress;

/// The bytes at the beginning and before the position that are summed.
const SUM_BYTES: u64 = 256;

/// The most files of a source that are looked for later: the current one and those before it.
const PLACES_MAX: usize = 32;

/// Returns the files that a source was read from, and how far each was read when so many bytes of the
/// source were counted; the current one last.
pub(super) fn of(source: &SourceProgress, bytes_read: u64) -> Vec<StoredPlace> {
    // A place that is forgotten in between is among the ends.
    let mut places = source.restored_places();
    let ends = source.file_ends(bytes_read);
    places.retain(|place| ends.iter().all(|end| end.file.number() != Some(place.id)));
    places.extend(ends.iter().filter_map(place_of));
    places.drain(..places.len().saturating_sub(PLACES_MAX));
    places
}

fn place_of(end: &FileEnd) -> Option<StoredPlace> {
    let (path, mut file) = end.file.open_current()?;
    Some(StoredPlace {
        path: path_bytes(&path),
        id: end.file.number()?,
        source_start: end.source_start,
        file_start: end.file_start,
        position: end.position,
        tail: sum(&mut file, end.position.saturating_sub(SUM_BYTES), end.position)?,
        head: sum(&mut file, 0, end.position.min(SUM_BYTES))?,
    })
}

/// Whether a file is still the one that was read, up to the place.
pub(crate) fn is_at(place: &StoredPlace, file: &mut File) -> bool {
    let start = place.position.saturating_sub(SUM_BYTES);
    sum(file, start, place.position) == Some(place.tail)
        && sum(file, 0, place.position.min(SUM_BYTES)) == Some(place.head)
}

/// The length and the checksum of a range of a file, if it has so many bytes.
fn sum(file: &mut File, start: u64, end: u64) -> Option<(u32, u64)> {
    let mut bytes = vec![0; usize::try_from(end - start).ok()?];
    file.seek(SeekFrom::Start(start)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some((bytes.len() as u32, checksum(&bytes)))
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

/// The path of a place.
#[cfg(unix)]
pub(crate) fn path_of(place: &StoredPlace) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(&place.path))
}

/// The path of a place.
#[cfg(not(unix))]
pub(crate) fn path_of(place: &StoredPlace) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&place.path).into_owned())
}
