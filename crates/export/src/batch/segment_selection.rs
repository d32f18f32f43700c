//! Turns the rows of a segment into cells.

use weir_core::{
    ABSENT, Codes, ColumnId, ColumnRef, Numbers, REMAINDER, Segment, Selection, Times, Values,
};

use super::Cells;
use crate::RowSource;
use crate::cell_values::{NO_VALUE, status_code};
use crate::schema::{CellSource, TableColumn};
use crate::text_cells::{NULL, TextCells};

/// Rows of a segment, with the values of its ids.
#[derive(Clone, Copy)]
pub(super) struct SegmentSelection<'a> {
    pub(super) segment: &'a Segment,
    pub(super) rows: &'a Selection,
    pub(super) values: &'a Values,
}

impl SegmentSelection<'_> {
    /// Adds the cells of one column. Returns the number of values that the data set did not keep.
    pub(super) fn push_cells(
        self,
        cells: &mut Cells,
        column: &TableColumn,
        id: Option<ColumnId>,
        source: RowSource<'_>,
    ) -> u64 {
        let Self { segment, rows, .. } = self;
        match (cells, &column.source) {
            (Cells::Text(cells), CellSource::File) => {
                let code = cells.code_of_text(source.name, false);
                cells.codes.resize(cells.codes.len() + rows.len(), code);
            }
            (Cells::Text(cells), CellSource::Text(_)) => {
                return self.push_texts(cells, id, column.has_literal_dash);
            }
            (Cells::Numbers(cells), CellSource::LineOffset) if !source.has_lines => {
                cells.resize(cells.len() + rows.len(), None);
            }
            (Cells::Numbers(cells), CellSource::LineOffset) => {
                rows.for_each(|row| cells.push(Some(segment.line_offset(row))));
            }
            (Cells::Numbers(cells), CellSource::Number(field)) => {
                push_numbers(cells, segment.numbers(field.column()), rows, |number| number);
            }
            (Cells::Instants(cells), _) => {
                let instants = segment.times().map(Times::instants);
                push_numbers(cells, instants, rows, Times::decode_instant);
            }
            (Cells::Integers(cells), CellSource::StatusCode) => self.push_status_codes(cells, id),
            (Cells::Integers(cells), _) => {
                let offsets = segment.times().map(Times::offsets);
                push_numbers(cells, offsets, rows, Times::decode_offset);
            }
            // Other fields and escaped columns depend on all columns.
            _ => {}
        }
        0
    }

    fn push_texts(
        self,
        cells: &mut TextCells,
        id: Option<ColumnId>,
        has_literal_dash: bool,
    ) -> u64 {
        let Some((id, ids)) = self.text_column(id) else {
            cells.codes.resize(cells.codes.len() + self.rows.len(), NULL);
            return 0;
        };
        let dictionary = self.values.dictionary(id);
        let mut unknown = 0;
        // Equal values often follow each other.
        let mut last = (u64::from(ABSENT), NULL);
        ids.for_each(self.rows, |id| {
            if id != last.0 {
                let is_unknown = id == u64::from(REMAINDER);
                let code = match dictionary.value(id as u32) {
                    Some(NO_VALUE) if !has_literal_dash => NULL,
                    Some(value) => cells.code_of_id(id as u32, || value),
                    None => NULL,
                };
                unknown += u64::from(is_unknown);
                last = if is_unknown { (u64::from(ABSENT), NULL) } else { (id, code) };
            }
            cells.codes.push(last.1);
        });
        unknown
    }

    fn push_status_codes(self, cells: &mut Vec<Option<i32>>, id: Option<ColumnId>) {
        let Some((id, ids)) = self.text_column(id) else {
            cells.resize(cells.len() + self.rows.len(), None);
            return;
        };
        let dictionary = self.values.dictionary(id);
        let mut last = (u64::from(ABSENT), None);
        ids.for_each(self.rows, |id| {
            if id != last.0 {
                last = (id, dictionary.value(id as u32).and_then(status_code));
            }
            cells.push(last.1);
        });
    }

    /// Returns a text column, if some row has a value in it.
    fn text_column(&self, id: Option<ColumnId>) -> Option<(ColumnId, &Codes)> {
        match self.segment.column(id?)? {
            ColumnRef::Text(ids) => Some((id?, ids)),
            _ => None,
        }
    }
}

fn push_numbers<T: Copy>(
    cells: &mut Vec<Option<T>>,
    numbers: Option<&Numbers>,
    rows: &Selection,
    decode: impl Fn(u64) -> T,
) {
    match numbers {
        Some(numbers) => numbers.for_each(rows, |number| cells.push(number.map(&decode))),
        None => cells.resize(cells.len() + rows.len(), None),
    }
}
