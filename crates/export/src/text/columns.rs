//! The columns of a text, and the origin of their values.

use weir_core::{
    Codes, ColumnId, ColumnKind, ColumnRef, Dictionary, Field, FieldAccessor, Numbers, REMAINDER,
    RowReader, Segment, Times, Unit, Values,
};

/// A column of the text.
#[derive(Debug)]
pub(super) struct TextColumn {
    pub(super) source: CellSource,
    /// The bytes before a value: a comma, and in JSON the key.
    pub(super) start: Vec<u8>,
}

/// The origin of a column's values in a segment.
#[derive(Debug, Clone, Copy)]
pub(super) enum CellSource {
    Text(ColumnId),
    Number(Field),
    Time,
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
    /// The first cell.
    pub(super) file: Vec<u8>,
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
    Text(Texts<'a>),
    Numbers(&'a Numbers),
    /// In nanoseconds.
    Durations(&'a Numbers),
    Times(&'a Times),
}

/// The values of a column of texts.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    ids: &'a Codes,
    dictionary: &'a Dictionary,
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
        for column in &mut self.columns {
            if let RowValues::Text(texts) = column {
                texts.look_up(&self.rows);
            }
        }
    }
}

impl Texts<'_> {
    fn look_up(&mut self, rows: &[usize]) {
        let Self { ids, dictionary, values } = self;
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

impl CellSource {
    /// Returns the origin of a field's values; `None` if no column has them.
    pub(super) fn of(field: FieldAccessor, rows: &RowReader) -> Option<Self> {
        match field {
            FieldAccessor::Field(known) => Some(Self::of_known(known)),
            FieldAccessor::Extra(_) => rows.text_column(field).map(Self::Text),
            FieldAccessor::StatusClass => None,
        }
    }

    /// Returns the origin of a known field's values.
    pub(super) fn of_known(field: Field) -> Self {
        match field.kind() {
            ColumnKind::Text => Self::Text(field.column()),
            ColumnKind::Number(_) => Self::Number(field),
            ColumnKind::Time => Self::Time,
        }
    }

    /// Returns the values of a segment's rows.
    pub(super) fn values<'a>(self, segment: &'a Segment, values: &'a Values) -> RowValues<'a> {
        match self {
            Self::Text(id) => match segment.column(id) {
                Some(ColumnRef::Text(ids)) => {
                    let dictionary = values.dictionary(id);
                    RowValues::Text(Texts { ids, dictionary, values: Vec::new() })
                }
                _ => RowValues::Absent,
            },
            Self::Number(field) => match (segment.numbers(field.column()), field.kind()) {
                (Some(numbers), ColumnKind::Number(Unit::Nanoseconds)) => {
                    RowValues::Durations(numbers)
                }
                (Some(numbers), _) => RowValues::Numbers(numbers),
                (None, _) => RowValues::Absent,
            },
            Self::Time => segment.times().map_or(RowValues::Absent, RowValues::Times),
        }
    }
}
