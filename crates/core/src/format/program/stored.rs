//! Formats of records that were read before, by another process, and come from a file of columns.
//!
//! Such a format reads no line. It tells what its records have, which is all that questions need.

use super::mismatch::{Mismatch, Reason};
use crate::schema::RecordKind;

/// What is known of a format whose lines can no longer be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) struct StoredProgram {
    pub(in crate::format) kind: RecordKind,
    pub(in crate::format) client_field: Option<String>,
    pub(in crate::format) traits: FormatTraits,
}

/// What a format tells of its records beside their fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FormatTraits {
    /// See [`crate::Format::has_local_times`].
    pub has_local_times: bool,
    /// See [`crate::Format::lacks_year`].
    pub lacks_year: bool,
    /// See [`crate::Format::has_arrival_times`].
    pub has_arrival_times: bool,
    /// Texts have no escapes of the log, because the format decodes them.
    pub has_plain_texts: bool,
    /// A value `-` of an added field is a value.
    pub has_literal_dashes: bool,
    /// The path and the query come from one request target.
    pub has_request_target: bool,
    /// Each line has all fields.
    pub has_fixed_fields: bool,
}

const UNREADABLE: &str =
    "the format comes from a data set, which does not tell how its lines are read";

impl StoredProgram {
    pub(super) fn parse(&self) -> Result<(), Mismatch> {
        Err(Mismatch::new(0, Reason::Form(UNREADABLE)))
    }
}
