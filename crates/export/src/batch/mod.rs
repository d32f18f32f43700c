//! Collects rows of several segments as columns.

mod segment_selection;

use std::collections::BTreeMap;

use weir_core::{Codes, ColumnId, Field, REMAINDER, Segment, Selection, Times, Unit, Values};
use weir_view::to_json;

use self::segment_selection::SegmentSelection;
use crate::RowSource;
use crate::escape::escaped;
use crate::schema::{CellKind, CellSource, TableColumn, TableSchema};
use crate::text_cells::{NULL, TextCells};

/// The cells of one column.
#[derive(Debug)]
pub(crate) enum Cells {
    Text(TextCells),
    /// Durations are in nanoseconds.
    Numbers(Vec<Option<u64>>),
    /// In nanoseconds since 1970.
    Instants(Vec<Option<i64>>),
    /// Zone offsets, and statuses.
    Integers(Vec<Option<i32>>),
}

/// Some rows of a table, collected column by column from the segments of a data set.
///
/// Each distinct text is copied once, so the batch outlives the ids of the data set.
///
/// # Memory
/// The batch [is full](Self::is_full) after 65,536 rows, or 2^21 cells, or 8 MiB of distinct text.
/// It exceeds this by at most the rows of one segment. The first batch of a table is full after 1,024
/// rows and each later one after as many as were written before, so that the beginning of a table, which
/// its reader may never take, costs little. An empty batch holds no cells.
#[derive(Debug)]
pub struct RowBatch {
    schema: TableSchema,
    /// The columns of the schema, and that of the line offsets if the schema lacks it, because rows
    /// are sorted by it.
    columns: Vec<TableColumn>,
    rows: usize,
    /// The rows that were removed after they had been written.
    rows_written: usize,
    /// The limit of the rows.
    rows_max: usize,
    /// In the order of the columns.
    cells: Vec<Cells>,
    /// For each column, the text column of the data set, if it has one.
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

impl Cells {
    /// Cells of no rows.
    const EMPTY: Self = Self::Integers(Vec::new());

    /// The cells of no rows of a column.
    fn none(kind: CellKind) -> Self {
        match kind {
            CellKind::Text => Self::Text(TextCells::default()),
            CellKind::Number(_) | CellKind::Seconds => Self::Numbers(Vec::new()),
            CellKind::Instant | CellKind::InstantNanoseconds => Self::Instants(Vec::new()),
            CellKind::ZoneOffset | CellKind::Status => Self::Integers(Vec::new()),
        }
    }
}

impl RowBatch {
    const FIRST_ROWS_MAX: usize = 1 << 10;
    const ROWS_MAX: usize = 1 << 16;
    const CELLS_MAX: usize = 1 << 21;
    const TEXT_BYTES_MAX: usize = 8 << 20;

    /// Creates an empty batch.
    pub fn new(schema: TableSchema) -> Self {
        let mut columns = schema.columns.clone();
        if schema.index_of(&CellSource::LineOffset).is_none() {
            let kind = CellKind::Number(Unit::Bytes);
            columns.push(TableColumn::new(String::new(), kind, CellSource::LineOffset));
        }
        Self {
            rows: 0,
            rows_written: 0,
            rows_max: Self::ROWS_MAX,
            cells: columns.iter().map(|column| Cells::none(column.kind)).collect(),
            ids: vec![None; columns.len()],
            columns,
            known_columns: 0,
            reuses: 0,
            source: None,
            unordered: Vec::new(),
            unknown_values: 0,
            schema,
        }
    }

    /// Sets the number of rows after which the batch is full: from 1,024 to 65,536.
    pub fn set_rows_max(&mut self, rows: usize) {
        self.rows_max = rows.clamp(Self::FIRST_ROWS_MAX, Self::ROWS_MAX);
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
        &self.cells[..self.schema.columns().len()]
    }

    /// Returns the number of values that the data set did not keep because memory ran out. Their
    /// cells are NULL. It counts all rows since the batch was created.
    pub fn unknown_values(&self) -> u64 {
        self.unknown_values
    }

    /// Returns the number of rows after which this batch is full.
    fn rows_max(&self) -> usize {
        self.rows_written.clamp(Self::FIRST_ROWS_MAX, self.rows_max)
    }

    /// Returns how many rows there are until the batch is full, if it is not full of cells or text
    /// before.
    pub fn rows_left(&self) -> usize {
        self.rows_max().saturating_sub(self.rows)
    }

    /// Returns whether the rows should be written before more are added.
    pub fn is_full(&self) -> bool {
        let text_bytes = |cells: &Cells| match cells {
            Cells::Text(cells) => cells.bytes.len() + cells.ends.len() * size_of::<usize>(),
            _ => 0,
        };
        self.rows >= self.rows_max()
            || self.rows * self.cells.len() >= Self::CELLS_MAX
            || self.cells.iter().map(text_bytes).sum::<usize>() >= Self::TEXT_BYTES_MAX
    }

    /// Adds rows of a segment.
    pub fn push<'s>(
        &mut self,
        source: impl Into<RowSource<'s>>,
        segment: &Segment,
        rows: &Selection,
        values: &Values,
    ) {
        let source = source.into();
        if rows.is_empty() {
            return;
        }
        self.refresh(values);
        let Self { columns, cells, ids, .. } = self;
        let rows_of = SegmentSelection { segment, rows, values };
        for ((column, cells), id) in columns.iter().zip(cells).zip(ids) {
            self.unknown_values += rows_of.push_cells(cells, column, *id, source);
        }
        self.push_other_fields(segment, rows, values);
        self.rows += rows.len();
        self.push_escaped_columns(self.rows - rows.len());
        self.record_order(segment, rows);
    }

    /// Removes all rows, after they have been written.
    pub fn clear(&mut self) {
        for (column, cells) in self.columns.iter().zip(&mut self.cells) {
            *cells = Cells::none(column.kind);
        }
        self.rows_written += self.rows;
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
        let is_line_offset = |it: &TableColumn| it.source == CellSource::LineOffset;
        let Some(line_offset) = self.columns.iter().position(is_line_offset) else { return };
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
                    Cells::Integers(cells) => reorder(&mut cells[range.clone()], &order),
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
            for (column, id) in self.columns.iter().zip(&mut self.ids) {
                *id = match &column.source {
                    CellSource::Text(name) => values.schema().text_column_by_name(name),
                    CellSource::StatusCode => Some(Field::Status.column()),
                    _ => None,
                };
            }
        }
    }

    /// Adds the fields of the rows that have no column, such as those of a format that appeared
    /// after the table began.
    fn push_other_fields(&mut self, segment: &Segment, rows: &Selection, values: &Values) {
        let Some(column) = self.schema.index_of(&CellSource::OtherFields) else { return };
        let Cells::Text(cells) = &mut self.cells[column] else { return };
        let late = self.schema.late_fields(segment, values);
        let others: Vec<(&str, ColumnId, &Codes)> =
            late.filter_map(|(id, name)| Some((name, id, segment.text(id)?))).collect();
        let has_nanoseconds = |times: &&Times| times.has_nanoseconds();
        let times = segment.times().filter(has_nanoseconds);
        let times = times.filter(|_| !self.schema.knows_nanoseconds());
        if others.is_empty() && times.is_none() {
            cells.codes.resize(cells.codes.len() + rows.len(), NULL);
            return;
        }
        let mut unknown_values = 0;
        rows.for_each(|row| {
            let mut fields = BTreeMap::new();
            let mut has_escaped = false;
            for (name, id, codes) in &others {
                let code = codes.get(row) as u32;
                unknown_values += u64::from(code == REMAINDER);
                if let Some(value) = values.dictionary(*id).value(code) {
                    let (text, is_escaped) = escaped(value);
                    has_escaped |= is_escaped;
                    fields.insert(*name, text);
                }
            }
            if let Some(time) = times.and_then(|times| times.get(row)) {
                fields.insert("time_ns", time.unix_ns.to_string().into());
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
    fn push_escaped_columns(&mut self, first: usize) {
        let Some(column) = self.schema.index_of(&CellSource::EscapedColumns) else { return };
        let Cells::Text(mut names) = std::mem::replace(&mut self.cells[column], Cells::EMPTY)
        else {
            return;
        };
        names.codes.resize(self.rows, NULL);
        if self.cells.iter().any(|cells| matches!(cells, Cells::Text(it) if it.has_escaped())) {
            for row in first..self.rows {
                let columns = self.columns.iter().zip(&self.cells);
                let escaped = columns.filter_map(|(column, cells)| match cells {
                    Cells::Text(cells) if cells.is_escaped(row) => Some(column.name.as_str()),
                    _ => None,
                });
                let escaped: Vec<&str> = escaped.collect();
                if !escaped.is_empty() {
                    names.codes[row] = names.code_of_text(&escaped.join(","), false);
                }
            }
        }
        self.cells[column] = Cells::Text(names);
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
