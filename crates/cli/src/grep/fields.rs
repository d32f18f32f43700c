//! The fields of a line that is printed.

use weir_core::{FieldAccessor, Record};

/// A record, and the fields of its format by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordFields<'a> {
    pub(super) columns: &'a [(String, FieldAccessor)],
    pub(super) record: &'a Record<'a>,
}
