//! Collects rows of several segments as columns.

use std::collections::BTreeMap;

use weir_core::{
    ABSENT, ColumnId, ColumnRef, Numbers, REMAINDER, Segment, Selection, Times, Values,
};
use weir_view::to_json;

use crate::escape::escaped;
use crate::schema::{CellKind, CellSource, TableSchema};
use crate::text_cells::{NULL, TextCells};

/// The cells of one column.
#[derive(Debug)]
pub(crate) enum Cells {
    Text(TextCells),
    Numbers(Vec<Option<u64>>),
    Instants(Vec<Option<i64>>),
    ZoneOffsets(Vec<Option<i32>>),
}

/// Some rows of a table, collected column by column from the segments of a data set.
///
/// Each distinct text is copied once, so the batch outlives the ids of the data set.
///
/// # Memory
/// The batch [is full](Self::is_full) after 65,536 rows, or 2^21 cells, or 8 MiB of distinct text.
/// It exceeds this by at most the rows of one segment.
#[derive(Debug)]
pub struct RowBatch {
    schema: TableSchema,
    rows: usize,
    /// In the order of the schema.
    cells: Vec<Cells>,
    /// For each column of the schema, the text column of the data set, if it has one.
    ids: Vec<Option<ColumnId>>,
    /// The number of columns in the data set when `ids` was computed.
    known_columns: usize,
    /// The number of id reuses in the data set.
    reuses: u64,
    /// The source of the last rows: its number, the index of its first row, and the offset of its
    /// last line.
    source: Option<(u32, usize, u64)>,
    /// For each source whose rows are not in line order, the range of its rows.
    unordered: Vec<std::ops::Range<usize>>,
    unknown_values: u64,
}

impl RowBatch {
    const ROWS_MAX: usize = 1 << 16;
    const CELLS_MAX: usize = 1 << 21;
    const TEXT_BYTES_MAX: usize = 8 << 20;

    /// Creates an empty batch.
    pub fn new(schema: TableSchema) -> Self {
        let cells = |kind| match kind {
            CellKind::Text => Cells::Text(TextCells::default()),
            CellKind::Number(_) => Cells::Numbers(Vec::new()),
            CellKind::Instant => Cells::Instants(Vec::new()),
            CellKind::ZoneOffset => Cells::ZoneOffsets(Vec::new()),
        };
        Self {
            rows: 0,
            cells: schema.columns().iter().map(|column| cells(column.kind)).collect(),
            ids: vec![None; schema.columns().len()],
            known_columns: 0,
            reuses: 0,
            source: None,
            unordered: Vec::new(),
            unknown_values: 0,
            schema,
        }
    }

    /// Returns the columns.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the cells of all columns, in the order of the schema.
    pub(crate) fn cells(&self) -> &[Cells] {
        &self.cells
    }

    /// Returns the number of values that the data set did not keep because memory ran out. Their
    /// cells are NULL. It counts all rows since the batch was created.
    pub fn unknown_values(&self) -> u64 {
        self.unknown_values
    }

    /// Returns whether the rows should be written before more are added.
    pub fn is_full(&self) -> bool {
        let text_bytes = |cells: &Cells| match cells {
            Cells::Text(cells) => cells.bytes.len() + cells.ends.len() * size_of::<usize>(),
            _ => 0,
        };
        self.rows >= Self::ROWS_MAX
            || self.rows * self.cells.len() >= Self::CELLS_MAX
            || self.cells.iter().map(text_bytes).sum::<usize>() >= Self::TEXT_BYTES_MAX
    }

    /// Adds rows of a segment. `file` is the name of its source.
    pub fn push(&mut self, file: &str, segment: &Segment, rows: &Selection, values: &Values) {
        if rows.is_empty() {
            return;
        }
        self.refresh(values);
        let has_escaped = {
            let Self { schema, cells, ids, .. } = self;
            for ((column, cells), id) in schema.columns.iter().zip(cells).zip(ids) {
                let source = &column.source;
                self.unknown_values += push_cells(cells, source, *id, file, segment, rows, values);
            }
            self.push_other_fields(segment, rows, values);
            self.cells.iter().any(|cells| matches!(cells, Cells::Text(it) if it.has_escaped()))
        };
        self.rows += rows.len();
        self.push_escaped_columns(self.rows - rows.len(), has_escaped);
        self.record_order(segment, rows);
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        for cells in &mut self.cells {
            match cells {
                Cells::Text(cells) => cells.clear(),
                Cells::Numbers(cells) => cells.clear(),
                Cells::Instants(cells) => cells.clear(),
                Cells::ZoneOffsets(cells) => cells.clear(),
            }
        }
        self.rows = 0;
        self.source = None;
        self.unordered.clear();
    }

    /// Returns whether the first line of a segment lies before the last line of the same source in
    /// this batch. The lines of one block's segments may interleave. Such segments must be in the
    /// same batch, because only a batch is sorted by line.
    pub fn overlaps(&self, segment: &Segment) -> bool {
        let Some((source, _, last)) = self.source else { return false };
        source == segment.source() && segment.rows() > 0 && segment.line_offset(0) < last
    }

    /// Sorts the rows of each source by line.
    pub(crate) fn put_in_order(&mut self) {
        let Some(line_offset) = self.schema.index_of(&CellSource::LineOffset) else { return };
        for range in std::mem::take(&mut self.unordered) {
            let offsets = match &self.cells[line_offset] {
                Cells::Numbers(offsets) => offsets[range.clone()].to_vec(),
                _ => return,
            };
            let mut order: Vec<usize> = (0..range.len()).collect();
            order.sort_by_key(|index| offsets[*index]);
            for cells in &mut self.cells {
                match cells {
                    Cells::Text(cells) => reorder(&mut cells.codes[range.clone()], &order),
                    Cells::Numbers(cells) => reorder(&mut cells[range.clone()], &order),
                    Cells::Instants(cells) => reorder(&mut cells[range.clone()], &order),
                    Cells::ZoneOffsets(cells) => reorder(&mut cells[range.clone()], &order),
                }
            }
        }
    }

    /// Finds the text columns of the data set, and drops ids that may have been reused.
    fn refresh(&mut self, values: &Values) {
        if self.reuses != values.reuses() {
            self.reuses = values.reuses();
            for cells in &mut self.cells {
                if let Cells::Text(cells) = cells {
                    cells.forget_ids();
                }
            }
        }
        let columns = values.schema().columns().len();
        if self.known_columns != columns {
            self.known_columns = columns;
            for (column, id) in self.schema.columns.iter().zip(&mut self.ids) {
                if let CellSource::Text(name) = &column.source {
                    *id = values.schema().text_column_by_name(name);
                }
            }
        }
    }

    /// Adds the fields of the rows that have no column, such as those of a format that appeared
    /// after the table began.
    fn push_other_fields(&mut self, segment: &Segment, rows: &Selection, values: &Values) {
        let is_other = |id: &ColumnId| !self.ids.contains(&Some(*id));
        let others: Vec<_> = segment.text_columns().filter(|(id, _)| is_other(id)).collect();
        let Some(column) = self.schema.index_of(&CellSource::OtherFields) else { return };
        let Cells::Text(cells) = &mut self.cells[column] else { return };
        if others.is_empty() {
            cells.codes.resize(cells.codes.len() + rows.len(), NULL);
            return;
        }
        let mut unknown_values = 0;
        rows.for_each(|row| {
            let mut fields = BTreeMap::new();
            let mut has_escaped = false;
            for (id, codes) in &others {
                let code = codes.get(row) as u32;
                unknown_values += u64::from(code == REMAINDER);
                let value = values.dictionary(*id).value(code);
                let name = values.schema().column(*id).map(|column| column.name.as_str());
                if let (Some(value), Some(name)) = (value, name) {
                    let (text, is_escaped) = escaped(value);
                    has_escaped |= is_escaped;
                    fields.insert(name, text);
                }
            }
            // Serialising strings cannot fail.
            let json = to_json(&fields).unwrap_or_default();
            let code =
                if fields.is_empty() { NULL } else { cells.code_of_text(&json, has_escaped) };
            cells.codes.push(code);
        });
        self.unknown_values += unknown_values;
    }

    /// Adds the names of the escaped columns, for the rows from `first` on.
    fn push_escaped_columns(&mut self, first: usize, has_escaped: bool) {
        let Some((Cells::Text(last), others)) = self.cells.split_last_mut() else { return };
        last.codes.resize(self.rows, NULL);
        if !has_escaped {
            return;
        }
        for row in first..self.rows {
            let columns = self.schema.columns.iter().zip(others.iter());
            let names = columns.filter_map(|(column, cells)| match cells {
                Cells::Text(cells) if cells.is_escaped(row) => Some(column.name.as_str()),
                _ => None,
            });
            let names: Vec<&str> = names.collect();
            if !names.is_empty() {
                last.codes[row] = last.code_of_text(&names.join(","), false);
            }
        }
    }

    /// Records whether the rows just added are in line order.
    fn record_order(&mut self, segment: &Segment, rows: &Selection) {
        let is_unordered = self.overlaps(segment);
        let last = last_row(rows).map_or(0, |row| segment.line_offset(row));
        let added = self.rows - rows.len();
        let (start, last) = match self.source {
            Some((source, start, known)) if source == segment.source() => (start, last.max(known)),
            _ => (added, last),
        };
        self.source = Some((segment.source(), start, last));
        match self.unordered.last_mut() {
            Some(range) if range.start == start => range.end = self.rows,
            _ if is_unordered => self.unordered.push(start..self.rows),
            _ => {}
        }
    }
}

fn last_row(rows: &Selection) -> Option<usize> {
    match rows {
        Selection::All(rows) => rows.checked_sub(1),
        Selection::Rows(rows) => rows.last().map(|row| *row as usize),
    }
}

fn reorder<T: Copy>(cells: &mut [T], order: &[usize]) {
    let old = cells.to_vec();
    for (cell, index) in cells.iter_mut().zip(order) {
        *cell = old[*index];
    }
}

/// Adds the cells of one column. Returns the number of values that the data set did not keep.
fn push_cells(
    cells: &mut Cells,
    source: &CellSource,
    id: Option<ColumnId>,
    file: &str,
    segment: &Segment,
    rows: &Selection,
    values: &Values,
) -> u64 {
    match (cells, source) {
        (Cells::Text(cells), CellSource::File) => {
            let code = cells.code_of_text(file, false);
            cells.codes.resize(cells.codes.len() + rows.len(), code);
        }
        (Cells::Text(cells), CellSource::Text(_)) => {
            return push_texts(cells, id, segment, rows, values);
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
        (Cells::ZoneOffsets(cells), _) => {
            let offsets = segment.times().map(Times::offsets);
            push_numbers(cells, offsets, rows, Times::decode_offset);
        }
        // The last two columns depend on all others.
        _ => {}
    }
    0
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

fn push_texts(
    cells: &mut TextCells,
    id: Option<ColumnId>,
    segment: &Segment,
    rows: &Selection,
    values: &Values,
) -> u64 {
    let column = id.and_then(|id| Some((id, segment.column(id)?)));
    let Some((id, ColumnRef::Text(ids))) = column else {
        cells.codes.resize(cells.codes.len() + rows.len(), NULL);
        return 0;
    };
    let dictionary = values.dictionary(id);
    let mut unknown = 0;
    // Equal values often follow each other.
    let mut last = (u64::from(ABSENT), NULL);
    ids.for_each(rows, |id| {
        if id != last.0 {
            let is_unknown = id == u64::from(REMAINDER);
            let code = match dictionary.value(id as u32) {
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
