//! What several aggregates need of every selected row, decoded once a segment.

use super::status::StatusClasses;
use super::top_list::Tally;
use crate::column::{Segment, Values};
use crate::field::Field;
use crate::filter::Selection;

/// One entry for each selected row, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct RowValues {
    /// Response sizes in bytes, 0 where absent.
    pub(super) bytes: Vec<u64>,
    /// Status classes.
    pub(super) class: Vec<u8>,
    /// 1 where the class is one of errors.
    pub(super) error: Vec<u8>,
    /// All of it added up.
    pub(super) sum: Tally,
}

impl RowValues {
    /// Replaces what is held by the selected rows of `segment`.
    pub(super) fn fill(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        classes: &StatusClasses,
    ) {
        self.bytes.clear();
        self.class.clear();
        match &segment.bytes {
            Some(bytes) => {
                bytes.for_each(selection, |bytes| self.bytes.push(bytes.unwrap_or(0)));
            }
            None => self.bytes.resize(selection.len(), 0),
        }
        let status = Values::column(Field::Status).and_then(|column| segment.text(column));
        match status {
            Some(codes) => codes.for_each(selection, |id| self.class.push(classes.class(id))),
            None => self.class.resize(selection.len(), 0),
        }
        self.error.clear();
        self.error.extend(self.class.iter().map(|class| u8::from(StatusClasses::is_error(*class))));
        self.sum = Tally {
            count: selection.len() as u64,
            bytes_sent: self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)),
            errors: self.error.iter().map(|error| u64::from(*error)).sum(),
        };
    }
}
