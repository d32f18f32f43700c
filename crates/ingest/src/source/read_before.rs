//! Compressed logs of which another process has read the text before they were compressed.

use std::io::{self, Read};
use std::ops::ControlFlow;

use weir_store::{StoredPlace, checksum};

use super::input::Input;
use super::rotated_set::rotated_set;
use super::unpack::Text;
use crate::place_sums::SUM_BYTES;
use crate::restored_place::path_of;
use crate::writer::Intake;

/// The bytes of the text that are read at once.
const READ_BYTES: u64 = 64 << 10;

/// How much of the text of a log another process has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadBefore {
    Nothing,
    /// The first bytes, up to this offset of the text.
    UpTo(u64),
    Everything,
}

impl ReadBefore {
    /// Compares the text of a packed file with what was read of plain files of its rotated set. Only if
    /// it begins like one of them, it is unpacked up to where that was read.
    pub(super) fn of(input: &Input, intake: &dyn Intake) -> Self {
        let Input::File(path) = input else { return Self::Nothing };
        let set = rotated_set(path);
        let is_of_set =
            |place: &StoredPlace| place.position > 0 && rotated_set(&path_of(place)) == set;
        let restored = intake.restored_places().into_iter().map(|restored| restored.place);
        let mut places: Vec<StoredPlace> = restored.filter(is_of_set).collect();
        if places.is_empty() {
            return Self::Nothing;
        }
        places.sort_by_key(|place| place.position);
        let mut found = Self::Nothing;
        // Whoever reads the file reports its errors.
        input.read(&mut |text| {
            if !text.is_member() {
                found = compare(text, places.clone()).unwrap_or(Self::Nothing);
            }
            ControlFlow::Break(())
        });
        found
    }
}

/// Compares a text with places in the order of their positions.
fn compare(text: &mut Text<'_>, mut places: Vec<StoredPlace>) -> io::Result<ReadBefore> {
    // The last bytes of the text before `end`.
    let mut known = Vec::new();
    let mut end = text.take(SUM_BYTES).read_to_end(&mut known)? as u64;
    places.retain(|place| {
        let (length, sum) = place.head;
        known.get(..length as usize).is_some_and(|head| checksum(head) == sum)
    });
    let mut places = places.iter().peekable();
    let mut found = None;
    loop {
        while let Some(place) = places.next_if(|place| place.position <= end) {
            found = is_end(place, &known, end).then_some(place.position).or(found);
        }
        let has_more = found.is_some_and(|found| found < end);
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
        Some(position) if position == end => ReadBefore::Everything,
        Some(position) => ReadBefore::UpTo(position),
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
