//! Places in files up to which another process has read a source.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use weir_store::StoredPlace;

use crate::place_sums::PlaceSums;

/// A place up to which another process has read a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredPlace {
    /// The name of the source.
    pub(crate) source: Arc<str>,
    pub(crate) place: StoredPlace,
}

/// The number of a file that is not the one at its path any more: it was truncated.
pub(crate) const TRUNCATED: (u64, u64) = (0, 0);

/// The bytes around a place.
pub(crate) fn sums_of(place: &StoredPlace) -> PlaceSums {
    PlaceSums { position: place.position, tail: place.tail, head: place.head }
}

/// Whether a file has the bytes that were read, up to the place.
pub(crate) fn is_at(place: &StoredPlace, file: &File) -> bool {
    sums_of(place).are_in(file)
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
