//! One block's records as columns.

use super::codes::Codes;
use super::numbers::Numbers;
use super::selection::Selection;
use super::times::Times;
use crate::field::Field;
use crate::schema::{ColumnId, RecordKind};
use crate::value::Timestamp;

/// The records of one block: a column for each field that some record of the block has.
///
/// A segment is immutable. The ids in its text columns refer to the [`crate::Values`] of its data
/// set, so it can be updated into an aggregate without them, but not shown. Numbers and times are
/// complete in themselves.
///
/// Segments come from a [`crate::BlockReader`], or from [`Self::merged`].
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Field, Format, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr [$time_local] $body_bytes_sent")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = b"192.0.2.7 [17/Dec/2025:09:03:01 +0000] 512\n\
///               192.0.2.8 [17/Dec/2025:09:03:02 +0000] -\n";
/// let segment = reader.read_segment(&Block::new(block.to_vec()), 0, &mut values);
///
/// assert_eq!(segment.rows(), 2);
/// assert_eq!(segment.line_offset(1), 43);
/// assert_eq!(segment.number(Field::Bytes, 0), Some(512));
/// assert_eq!(segment.number(Field::Bytes, 1), None);
/// let (first_ns, last_ns) = segment.time_range_ns().unwrap();
/// assert_eq!(last_ns - first_ns, 1_000_000_000);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Segment {
    pub(crate) kind: RecordKind,
    pub(crate) rows: usize,
    /// The number of the source that contains the block.
    pub(crate) source: u32,
    /// The offset of the block in its source, in bytes.
    pub(crate) block_offset: u64,
    /// In the order of their ids, without columns that are absent in every row.
    pub(crate) columns: Vec<(ColumnId, ColumnData)>,
    /// The offset of each record's line in the block, in bytes.
    pub(crate) line_start: Codes,
}

/// The values of one column of a segment, one for each row.
#[derive(Debug, Clone)]
pub(crate) enum ColumnData {
    Text(Codes),
    Number(Numbers),
    /// Boxed, because it is larger than the others and a segment has only one.
    Time(Box<Times>),
}

/// A borrowed column of a segment: the values of all rows, and which rows have none.
#[derive(Debug, Clone, Copy)]
pub enum ColumnRef<'a> {
    /// Ids of distinct values, [`ABSENT`](crate::ABSENT) for a row without the field.
    Text(&'a Codes),
    /// Numbers in the unit of the column's kind.
    Number(&'a Numbers),
    /// Times with zone offsets.
    Time(&'a Times),
}

impl ColumnData {
    fn as_ref(&self) -> ColumnRef<'_> {
        match self {
            Self::Text(codes) => ColumnRef::Text(codes),
            Self::Number(numbers) => ColumnRef::Number(numbers),
            Self::Time(times) => ColumnRef::Time(times),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Text(codes) => codes.memory_bytes(),
            Self::Number(numbers) => numbers.memory_bytes(),
            Self::Time(times) => size_of::<Times>() + times.memory_bytes(),
        }
    }
}

impl Segment {
    /// Returns the kind of the records.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Returns the number of records.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of the source that contains the records.
    pub fn source(&self) -> u32 {
        self.source
    }

    /// Returns the offset of a record's line in its source, in bytes.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn line_offset(&self, row: usize) -> u64 {
        self.block_offset + self.line_start.get(row)
    }

    /// Returns the columns that some record has, in the order of their ids.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (ColumnId, ColumnRef<'_>)> {
        self.columns.iter().map(|(id, data)| (*id, data.as_ref()))
    }

    /// Returns a whole column without copying it; `None` if no record has a value in it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, ColumnRef, Field, Format, Values};
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let block = Block::new(b"192.0.2.7 200\n192.0.2.7 404\n".to_vec());
    /// let segment = reader.read_segment(&block, 0, &mut values);
    ///
    /// let client = Field::Client.column();
    /// let Some(ColumnRef::Text(codes)) = segment.column(client) else { panic!("no clients") };
    /// assert_eq!(codes.rows(), 2);
    /// assert_eq!(values.dictionary(client).value(codes.get(0) as u32), Some(&b"192.0.2.7"[..]));
    /// assert!(segment.column(Field::Path.column()).is_none());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn column(&self, id: ColumnId) -> Option<ColumnRef<'_>> {
        let position = self.columns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.columns[position].1.as_ref())
    }

    /// Returns the ids of a text column; `None` if no record has a value in it.
    pub fn text(&self, id: ColumnId) -> Option<&Codes> {
        match self.column(id)? {
            ColumnRef::Text(codes) => Some(codes),
            ColumnRef::Number(_) | ColumnRef::Time(_) => None,
        }
    }

    /// Returns the text columns that some record has, in the order of their ids.
    pub fn text_columns(&self) -> impl Iterator<Item = (ColumnId, &Codes)> {
        self.columns().filter_map(|(id, column)| match column {
            ColumnRef::Text(codes) => Some((id, codes)),
            ColumnRef::Number(_) | ColumnRef::Time(_) => None,
        })
    }

    /// Returns the values of a number column; `None` if no record has a value in it.
    pub fn numbers(&self, id: ColumnId) -> Option<&Numbers> {
        match self.column(id)? {
            ColumnRef::Number(numbers) => Some(numbers),
            ColumnRef::Text(_) | ColumnRef::Time(_) => None,
        }
    }

    /// Returns the times of the records; `None` if no record has a time.
    pub fn times(&self) -> Option<&Times> {
        match self.column(Field::Time.column())? {
            ColumnRef::Time(times) => Some(times),
            ColumnRef::Text(_) | ColumnRef::Number(_) => None,
        }
    }

    /// Returns the time of a record.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn time(&self, row: usize) -> Option<Timestamp> {
        self.times()?.get(row)
    }

    /// Calls `visit` with the time of every record in order, in nanoseconds since 1970; `None` for
    /// a record without a time.
    pub fn for_each_time_ns(&self, mut visit: impl FnMut(Option<i64>)) {
        match self.times() {
            Some(times) => times.instants().for_each(&Selection::All(self.rows), |number| {
                visit(number.map(Times::decode_instant));
            }),
            None => (0..self.rows).for_each(|_| visit(None)),
        }
    }

    /// Returns whether a record has no time.
    pub fn has_untimed(&self) -> bool {
        self.rows > 0 && self.times().is_none_or(Times::has_absent)
    }

    /// Returns a number field of a record; `None` if the record has none, and for fields of another
    /// kind.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn number(&self, field: Field, row: usize) -> Option<u64> {
        self.numbers(field.column())?.get(row)
    }

    /// Returns the first and the last time of the records, in nanoseconds since 1970.
    pub fn time_range_ns(&self) -> Option<(i64, i64)> {
        self.times().map(Times::range_ns)
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|(_, data)| data.memory_bytes()).sum();
        let table = self.columns.capacity() * size_of::<(ColumnId, ColumnData)>();
        size_of::<Self>() + table + columns + self.line_start.memory_bytes()
    }
}
