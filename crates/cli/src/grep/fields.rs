//! The fields of a line that is printed.

use std::borrow::Cow;

use weir_core::{FieldAccessor, Record, Zone};

use crate::zone::value_in;

/// A record, and the fields of its format by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordFields<'a> {
    pub(super) columns: &'a [(String, FieldAccessor)],
    pub(super) record: &'a Record<'a>,
    /// The zone of times.
    pub(super) zone: Option<&'a Zone>,
}

impl<'a> RecordFields<'a> {
    /// The value of a field.
    pub(super) fn value(&self, field: FieldAccessor) -> Option<Cow<'a, [u8]>> {
        value_in(self.zone, field, self.record)
    }
}
