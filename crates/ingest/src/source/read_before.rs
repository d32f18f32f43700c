//! Compressed logs of which another process has read the text before they were compressed.

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_store::{StoredPlace, checksum};

use super::input::Input;
use super::rotated_set::rotated_set;
use super::unpack::Text;
use crate::place_sums::SUM_BYTES;
use crate::restored_place::{RestoredPlace, path_of};
use crate::writer::Intake;

/// The bytes of the text that are read at once.
const READ_BYTES: u64 = 64 << 10;

/// How much of the text of a log another process has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadBefore {
    Nothing,
    /// The first bytes, up to this offset of the text, as the source of this name.
    UpTo(u64, Arc<str>),
    Everything,
}

/// What another process has read, by the rotated set of the file.
#[derive(Debug, Default)]
pub(super) struct KnownTexts(HashMap<PathBuf, Vec<RestoredPlace>>);

impl KnownTexts {
    pub(super) fn new(intake: &dyn Intake) -> Self {
        let mut places = intake.restored_places();
        places.retain(|restored| restored.place.position > 0);
        places.sort_by_key(|restored| restored.place.position);
        let mut by_set: HashMap<PathBuf, Vec<RestoredPlace>> = HashMap::new();
        for restored in places {
            by_set.entry(set_of(&path_of(&restored.place))).or_default().push(restored);
        }
        Self(by_set)
    }

    /// Compares the text of a packed file with what was read of plain files of its rotated set. Only if
    /// it begins like one of them, it is unpacked up to where that was read.
    pub(super) fn part_of(&self, input: &Input) -> ReadBefore {
        let Input::File(path) = input else { return ReadBefore::Nothing };
        let Some(places) = self.0.get(&set_of(path)) else { return ReadBefore::Nothing };
        let mut found = ReadBefore::Nothing;
        // Whoever reads the file reports its errors.
        input.read(&mut |text| {
            if !text.is_member() {
                found = compare(text, places).unwrap_or(ReadBefore::Nothing);
            }
            ControlFlow::Break(())
        });
        found
    }
}

/// The rotated set of a file, which may have been named from another folder before.
fn set_of(path: &Path) -> PathBuf {
    rotated_set(&std::path::absolute(path).unwrap_or_else(|_| path.into()))
}

/// Compares a text with places in the order of their positions.
fn compare(text: &mut Text<'_>, places: &[RestoredPlace]) -> io::Result<ReadBefore> {
    // The last bytes of the text before `end`.
    let mut known = Vec::new();
    let mut end = text.take(SUM_BYTES).read_to_end(&mut known)? as u64;
    let head = known.clone();
    let begins_alike = |restored: &&RestoredPlace| {
        let (length, sum) = restored.place.head;
        head.get(..length as usize).is_some_and(|bytes| checksum(bytes) == sum)
    };
    let mut places = places.iter().filter(begins_alike).peekable();
    let mut found = None;
    loop {
        while let Some(restored) = places.next_if(|restored| restored.place.position <= end) {
            found = is_end(&restored.place, &known, end).then_some(restored).or(found);
        }
        let has_more = found.is_some_and(|found| found.place.position < end);
        if places.peek().is_none() && (found.is_none() || has_more) {
            break;
        }
        known.drain(..known.len().saturating_sub(SUM_BYTES as usize));
        let read = text.take(READ_BYTES).read_to_end(&mut known)? as u64;
        if read == 0 {
            break;
        }
        end += read;
    }
    Ok(match found {
        None => ReadBefore::Nothing,
        Some(found) if found.place.position == end => ReadBefore::Everything,
        Some(found) => ReadBefore::UpTo(found.place.position, found.source.clone()),
    })
}

/// Whether a text has the bytes before a place, if these are its last bytes before `end`.
fn is_end(place: &StoredPlace, known: &[u8], end: u64) -> bool {
    let (length, sum) = place.tail;
    let after = (end - place.position) as usize;
    let before = known
        .len()
        .checked_sub(after)
        .and_then(|at| known.get(at.checked_sub(length as usize)?..at));
    before.is_some_and(|bytes| checksum(bytes) == sum)
}
