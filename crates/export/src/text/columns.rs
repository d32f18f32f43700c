//! The columns of a text, and where their values are.

use weir_core::{
    Codes, ColumnId, ColumnKind, ColumnRef, Dictionary, Field, FieldAccessor, Numbers, REMAINDER,
    RowReader, Segment, Times, Unit, Values,
};

/// A column of the text.
#[derive(Debug)]
pub(super) struct TextColumn {
    pub(super) source: CellSource,
    /// What stands before a value: a comma, and in JSON the key.
    pub(super) start: Vec<u8>,
}

/// Where the values of a column are in a segment.
#[derive(Debug, Clone, Copy)]
pub(super) enum CellSource {
    Text(ColumnId),
    Number(Field),
    Time,
}

/// Rows of a segment, for a [`TextWriter`](super::TextWriter) to write.
///
/// A text takes two accesses to memory that is seldom in the cache: to its place, and to its bytes. So the
/// values of some rows are looked up before these rows are written, column by column, and memory
/// delivers them at the same time.
///
/// It stands for the same rows as long as the ids of the segment do, see [`Values::reuses`].
#[derive(Debug)]
pub struct SegmentRows<'a> {
    /// The first cell.
    pub(super) file: Vec<u8>,
    /// In the order of the columns of the text.
    pub(super) columns: Vec<RowValues<'a>>,
    /// The rows whose values were looked up.
    pub(super) rows: Vec<usize>,
}

/// The values of the rows of a segment in one column.
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
    /// The values of the rows that were looked up.
    pub(super) values: Vec<TextValue<'a>>,
}

/// The value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextValue<'a> {
    Absent,
    /// Memory was used up, so that it was not kept.
    Unknown,
    Known(&'a [u8]),
}

impl SegmentRows<'_> {
    /// The number of rows that should be looked up at the same time.
    pub const LOOK_UP_ROWS: usize = 32;

    /// Looks up the values of some rows. A row is written by its index in `rows` then.
    ///
    /// # Panics
    /// If the segment has no such row.
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
    /// Where the values of a field are; `None` if no column has them.
    pub(super) fn of(field: FieldAccessor, rows: &RowReader) -> Option<Self> {
        match field {
            FieldAccessor::Field(known) => Some(Self::of_known(known)),
            FieldAccessor::Extra(_) => rows.text_column(field).map(Self::Text),
            FieldAccessor::StatusClass => None,
        }
    }

    /// Where the values of a known field are.
    pub(super) fn of_known(field: Field) -> Self {
        match field.kind() {
            ColumnKind::Text => Self::Text(field.column()),
            ColumnKind::Number(_) => Self::Number(field),
            ColumnKind::Time => Self::Time,
        }
    }

    /// The values of the rows of a segment.
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
