//! The definition of a hand-written format.
//!
//! A hand-written format is a constant: its name, its fields and a function. Its text file in the
//! catalog has the manual, the shape of the lines and the samples, as for every other known format.

use crate::field::Field;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::sink::LineState;
use crate::record::Record;
use crate::schema::RecordKind;

/// Reads a line into an empty record.
pub(super) type Parse =
    for<'a> fn(&'a [u8], &mut Record<'a>, &mut LineState) -> Result<(), Mismatch>;

/// A hand-written format. Its lines have optional parts, or texts that can look like the parts
/// after them, so no notation can describe them.
///
/// The function fills no other fields than these, and not all of them in every line.
#[derive(Debug)]
pub(super) struct Definition {
    /// That of its file in the catalog.
    pub(super) name: &'static str,
    /// The kind of the lines' records.
    pub(super) kind: RecordKind,
    pub(super) fields: &'static [Field],
    /// The function sets them by their index in this list.
    pub(super) extra_fields: &'static [&'static str],
    pub(super) parse: Parse,
    /// Characters that each line has.
    pub(super) needed_bytes: &'static [u8],
    /// Whether times have no year.
    pub(super) lacks_year: bool,
}
