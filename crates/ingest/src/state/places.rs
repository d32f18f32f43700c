//! The places in files up to which a source was read.

use std::path::Path;
use std::sync::Arc;

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
    // A place that is forgotten in between is among the ends too. Of a file with the number of one that is
    // gone, both places are kept: their bytes tell which is which.
    let mut places = source.restored_places();
    let ends: Vec<StoredPlace> = source.file_ends(bytes_read).iter().filter_map(place_of).collect();
    places.retain(|place| !ends.contains(place));
    places.extend(ends);
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
    let (file, known) = match &end.handle {
        FileHandle::Closed(sums) if sums.position == position => return Some(*sums),
        FileHandle::Path => return PlaceSums::of(&end.file.reopen().ok()?, position),
        FileHandle::Open(file, known) => (file.upgrade(), known),
        FileHandle::Closed(known) => (end.file.reopen().ok().map(Arc::new), known),
    };
    let read = file.and_then(|file| {
        let sums = PlaceSums::of(&file, position)?;
        // Afterwards, because it may have been truncated and written again meanwhile.
        known.are_in(&file).then_some(sums)
    });
    Some(read.unwrap_or_else(|| known.at(position)))
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;

    use super::of;
    use crate::file_parts::FileHandle;
    use crate::place_sums::PlaceSums;
    use crate::plain_file::PlainFile;
    use crate::progress::SourceProgress;

    #[test]
    fn the_bytes_of_a_file_that_was_written_again_are_not_those_that_were_read() {
        let path = std::env::temp_dir().join(format!("weir-places-{}", std::process::id()));
        let read: String = (0..100).map(|number| format!("line {number:03}\n")).collect();
        fs::write(&path, &read).expect("a file");
        let file = Arc::new(File::open(&path).expect("a file"));
        let plain = PlainFile::new(&path, &file).expect("its metadata");
        let known = PlaceSums::of(&file, 900).expect("so many bytes");
        for handle in [FileHandle::Open(Arc::downgrade(&file), known), FileHandle::Closed(known)] {
            fs::write(&path, &read).expect("a file");
            let source = SourceProgress::new("log", None);
            source.add_part(0, (&plain, handle), 0);
            // Less was counted than read.
            let sums = |source: &SourceProgress| {
                let places = of(source, 450);
                assert_eq!(places.len(), 1);
                crate::restored_place::sums_of(&places[0])
            };
            assert_eq!(sums(&source), PlaceSums::of(&file, 450).expect("so many bytes"));
            fs::write(&path, read.replace("line", "next")).expect("a file");
            assert_eq!(sums(&source), known.at(450), "only the head is known by now");
        }
        fs::remove_file(path).expect("it is there");
    }
}
