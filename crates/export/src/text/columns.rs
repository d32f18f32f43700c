//! The columns of a text, and the origin of their values.

use weir_core::{
    Codes, ColumnId, ColumnKind, ColumnRef, Dictionary, Field, Numbers, REMAINDER, Segment, Times,
    Unit, Values,
};
use weir_view::push_json_string;

use super::format::TextFormat;
use crate::schema::{CellKind, CellSource, TableColumn, TableSchema};

/// A column of the text.
#[derive(Debug)]
pub(super) struct TextColumn {
    column: TableColumn,
    /// The text column of the data set, if it has one.
    id: Option<ColumnId>,
    /// The bytes before a value: a comma, and in JSON the key.
    pub(super) start: Vec<u8>,
}

/// Rows of a segment, for a [`TextWriter`](super::TextWriter) to write.
///
/// Reading a text accesses two memory locations that are seldom cached: its position and its bytes.
/// Therefore the values of several rows are looked up column by column before the rows are written,
/// so that the memory accesses overlap.
///
/// The rows stay valid until ids are reused, see [`Values::reuses`].
#[derive(Debug)]
pub struct SegmentRows<'a> {
    /// In the order of the columns of the text.
    pub(super) columns: Vec<RowValues<'a>>,
    /// The rows whose values were looked up.
    pub(super) rows: Vec<usize>,
}

/// The values of a segment's rows in one column.
#[derive(Debug)]
pub(super) enum RowValues<'a> {
    /// No row has a value.
    Absent,
    /// All rows have the same cell.
    Cell(Vec<u8>),
    LineOffsets(&'a Segment),
    Text(Texts<'a>),
    /// Statuses, of which the cells have the numbers.
    StatusCodes(Texts<'a>),
    Numbers(&'a Numbers),
    /// In nanoseconds.
    Durations(&'a Numbers),
    Times(&'a Times),
    Nanoseconds(&'a Times),
    ZoneOffsets(&'a Times),
    /// The members of an object, each after its key with a comma before and a colon after it.
    Object(Vec<(Vec<u8>, RowValues<'a>)>),
}

/// The values of a column of texts.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    ids: &'a Codes,
    dictionary: &'a Dictionary,
    /// Whether a value `-` is a value.
    pub(super) has_literal_dash: bool,
    /// The values of the looked-up rows.
    pub(super) values: Vec<TextValue<'a>>,
}

/// The value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextValue<'a> {
    Absent,
    /// Memory ran out, so the value was not kept.
    Unknown,
    Known(&'a [u8]),
}

impl SegmentRows<'_> {
    /// The number of rows that should be looked up together.
    pub const LOOK_UP_ROWS: usize = 32;

    /// Looks up the values of some rows. [`TextWriter::push`](super::TextWriter::push) then writes
    /// a row by its index in `rows`.
    ///
    /// # Panics
    /// Panics if the segment has no such row.
    pub fn look_up(&mut self, rows: impl IntoIterator<Item = usize>) {
        self.rows.clear();
        self.rows.extend(rows);
        self.columns.iter_mut().for_each(|column| column.look_up(&self.rows));
    }
}

impl RowValues<'_> {
    fn look_up(&mut self, rows: &[usize]) {
        match self {
            Self::Text(texts) | Self::StatusCodes(texts) => texts.look_up(rows),
            Self::Object(members) => members.iter_mut().for_each(|(_, it)| it.look_up(rows)),
            _ => {}
        }
    }
}

impl Texts<'_> {
    fn look_up(&mut self, rows: &[usize]) {
        let Self { ids, dictionary, values, .. } = self;
        let id = |row: &usize| ids.get(*row) as u32;
        rows.iter().for_each(|row| dictionary.prefetch(id(row)));
        values.clear();
        values.extend(rows.iter().map(id).map(|id| match dictionary.prefetched_value(id) {
            Some(bytes) => TextValue::Known(bytes),
            None if id == REMAINDER => TextValue::Unknown,
            None => TextValue::Absent,
        }));
    }
}

impl TextColumn {
    pub(super) fn new(column: &TableColumn, format: TextFormat, values: &Values) -> Self {
        let id = match &column.source {
            CellSource::Text(name) => values.schema().text_column_by_name(name),
            CellSource::StatusCode => Some(Field::Status.column()),
            _ => None,
        };
        Self { column: column.clone(), id, start: format.start(&column.name) }
    }

    /// Whether the values are the offsets of lines, which not every source has.
    pub(super) fn is_line_offset(&self) -> bool {
        self.column.source == CellSource::LineOffset
    }

    /// Returns the values of a segment's rows, other than the offsets of lines. `file` is the cell with
    /// the name of its source.
    pub(super) fn values<'a>(
        &self,
        schema: &TableSchema,
        file: &[u8],
        segment: &'a Segment,
        values: &'a Values,
    ) -> RowValues<'a> {
        let TableColumn { kind, source, has_literal_dash, .. } = &self.column;
        let texts = || texts_of(self.id?, *has_literal_dash, segment, values);
        let of_times = |row_values: fn(&'a Times) -> RowValues<'a>| segment.times().map(row_values);
        let found = match source {
            CellSource::File => Some(RowValues::Cell(file.to_vec())),
            CellSource::LineOffset => None,
            CellSource::Text(_) => texts().map(RowValues::Text),
            CellSource::StatusCode => texts().map(RowValues::StatusCodes),
            CellSource::Number(field) => numbers_of(*field, *kind == CellKind::Seconds, segment),
            CellSource::Time if *kind == CellKind::InstantNanoseconds => {
                of_times(RowValues::Nanoseconds)
            }
            CellSource::Time => of_times(RowValues::Times),
            CellSource::ZoneOffset => of_times(RowValues::ZoneOffsets),
            CellSource::OtherFields => other_fields(schema, segment, values),
            CellSource::EscapedColumns => None,
        };
        found.unwrap_or(RowValues::Absent)
    }
}

fn texts_of<'a>(
    id: ColumnId,
    has_literal_dash: bool,
    segment: &'a Segment,
    values: &'a Values,
) -> Option<Texts<'a>> {
    let ColumnRef::Text(ids) = segment.column(id)? else { return None };
    Some(Texts { ids, dictionary: values.dictionary(id), has_literal_dash, values: Vec::new() })
}

fn numbers_of(field: Field, is_in_seconds: bool, segment: &Segment) -> Option<RowValues<'_>> {
    let numbers = segment.numbers(field.column())?;
    Some(match is_in_seconds {
        true => RowValues::Durations(numbers),
        false => RowValues::Numbers(numbers),
    })
}

/// Returns the fields that no column is for; `None` if no row has such a field.
fn other_fields<'a>(
    schema: &TableSchema,
    segment: &'a Segment,
    values: &'a Values,
) -> Option<RowValues<'a>> {
    let member = |(id, name): (ColumnId, &str)| {
        let column = values.schema().column(id)?;
        let row_values = match (column.kind, column.field) {
            (ColumnKind::Text, _) => RowValues::Text(texts_of(id, true, segment, values)?),
            (ColumnKind::Number(unit), Some(field)) => {
                numbers_of(field, unit == Unit::Nanoseconds, segment)?
            }
            (ColumnKind::Time, _) => RowValues::Times(segment.times()?),
            (ColumnKind::Number(_), None) => return None,
        };
        let mut key = b",".to_vec();
        push_json_string(&mut key, name.as_bytes());
        key.push(b':');
        Some((key, row_values))
    };
    let members: Vec<_> = schema.late_fields(segment, values).filter_map(member).collect();
    (!members.is_empty()).then_some(RowValues::Object(members))
}
