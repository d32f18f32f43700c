//! One block's records as columns.
//!
//! A segment is the unit of everything after reading: it is shared between threads without a lock,
//! updated into aggregates as a whole, and dropped as a whole when its rows have expired. A block
//! of 1 MiB of combined lines has about 5,000 records.
//!
//! Columns are a list sorted by id, searched by bisection: formats have ten to twenty columns, of
//! hundreds that a data set may have.

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
/// # Examples
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
///
/// # Size
///
/// A segment takes a few bytes for each row and narrow column, and some hundred bytes for itself. A
/// feed that delivers a few lines at a time should therefore merge its segments ([`Self::merged`]).
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
///
/// Its variant is that of the column's kind in the schema.
#[derive(Debug, Clone)]
pub(crate) enum ColumnData {
    Text(Codes),
    Number(Numbers),
    /// Boxed, because it is larger than the others and a segment has only one.
    Time(Box<Times>),
}

/// A borrowed column of a segment: the values of all rows, and which rows have none.
///
/// A `match` on it is exhaustive over all that a column can be, so an exporter that handles the
/// three variants handles every column of every log.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, ColumnRef, Format, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr [$time_iso8601] $body_bytes_sent")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = Block::new(b"::1 [2025-12-17T09:03:01Z] 512\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let mut cells = Vec::new();
/// for (id, column) in segment.columns() {
///     cells.push(match column {
///         ColumnRef::Text(codes) => {
///             let value = values.dictionary(id).value(codes.get(0) as u32);
///             String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
///         }
///         ColumnRef::Number(numbers) => format!("{:?}", numbers.get(0)),
///         ColumnRef::Time(times) => format!("{}", times.get(0).unwrap().unix_ns),
///     });
/// }
/// assert_eq!(cells, ["::1", "Some(512)", "1765962181000000000"]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum ColumnRef<'a> {
    /// Ids of distinct values, [`ABSENT`](crate::ABSENT) for a row without the field.
    ///
    /// The values are in [`crate::Values::dictionary`].
    Text(&'a Codes),
    /// Numbers in the unit of the column's kind.
    ///
    /// See [`crate::ColumnKind::Number`].
    Number(&'a Numbers),
    /// Times with zone offsets.
    ///
    /// Each segment has at most one such column, that of [`Field::Time`].
    Time(&'a Times),
}

impl ColumnData {
    /// The column as callers see it.
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
    ///
    /// One for the whole segment: a block is read with one format, and a format has one kind.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Returns the number of records.
    ///
    /// Lines that were not parsed are not among them. May be 0, for a block of such lines.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of the source that contains the records.
    ///
    /// The number that the caller passed to [`crate::BlockReader::read`].
    pub fn source(&self) -> u32 {
        self.source
    }

    /// Returns the offset of a record's line in its source, in bytes.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// With it a program finds the line again in the source, as long as the source still has it. Of
    /// unpacked text, if the source is an archive. Offsets ascend with the rows.
    #[inline]
    pub fn line_offset(&self, row: usize) -> u64 {
        self.block_offset + self.line_start.get(row)
    }

    /// Returns the columns that some record has, in the order of their ids.
    ///
    /// An exporter writes these; see [`ColumnRef`].
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
    ///
    /// Time is logarithmic in the number of columns. A column of the data set that this segment
    /// lacks is absent in every row.
    pub fn column(&self, id: ColumnId) -> Option<ColumnRef<'_>> {
        let position = self.columns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.columns[position].1.as_ref())
    }

    /// Returns the ids of a text column; `None` if no record has a value in it.
    ///
    /// Also `None` for a column of numbers or times.
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
    ///
    /// Also `None` for a column of text or times.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Field, Format, Selection, Values};
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $body_bytes_sent")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let block = Block::new(b"::1 512\n::1 -\n::1 88\n".to_vec());
    /// let segment = reader.read_segment(&block, 0, &mut values);
    ///
    /// let mut sum = 0;
    /// let sizes = segment.numbers(Field::Bytes.column()).expect("some line has a size");
    /// sizes.for_each(&Selection::All(segment.rows()), |size| sum += size.unwrap_or(0));
    /// assert_eq!(sum, 600);
    /// assert!(segment.numbers(Field::Client.column()).is_none());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
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
    ///
    /// `None` if the line has no time.
    pub fn time(&self, row: usize) -> Option<Timestamp> {
        self.times()?.get(row)
    }

    /// Returns the offset of the first line with a time in its source, in bytes, and the zone
    /// offset of that time, in seconds east of UTC.
    pub fn first_timed_record(&self) -> Option<(u64, i32)> {
        let times = self.times()?;
        let first = (0..self.rows).find_map(|row| Some((row, times.get(row)?)));
        first.map(|(row, time)| (self.line_offset(row), time.offset_s))
    }

    /// Calls `visit` with the time of every record in order, in nanoseconds since 1970; `None` for
    /// a record without a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
    ///
    /// let format = Arc::new(Format::parse("$msec $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let block = Block::new(b"1.5 200\n2.0 404\n".to_vec());
    /// let segment = reader.read_segment(&block, 0, &mut values);
    ///
    /// let mut times_ns = Vec::new();
    /// segment.for_each_time_ns(|time_ns| times_ns.push(time_ns));
    /// assert_eq!(times_ns, [Some(1_500_000_000), Some(2_000_000_000)]);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn for_each_time_ns(&self, mut visit: impl FnMut(Option<i64>)) {
        match self.times() {
            Some(times) => times.instants().for_each(&Selection::All(self.rows), |number| {
                visit(number.map(Times::decode_instant));
            }),
            None => (0..self.rows).for_each(|_| visit(None)),
        }
    }

    /// Calls `visit` with the row and the time of every selected record, as
    /// [`Self::for_each_time_ns`].
    pub fn for_each_time_ns_of(&self, rows: &Selection, mut visit: impl FnMut(usize, Option<i64>)) {
        let Some(times) = self.times() else { return rows.for_each(|row| visit(row, None)) };
        let mut number = 0;
        times.instants().for_each(rows, |time| {
            let row = match rows {
                Selection::All(_) => number,
                Selection::Rows(rows) => rows[number] as usize,
            };
            number += 1;
            visit(row, time.map(Times::decode_instant));
        });
    }

    /// Returns whether a record has no time.
    ///
    /// False for a segment without records.
    pub fn has_untimed(&self) -> bool {
        self.rows > 0 && self.times().is_none_or(Times::has_absent)
    }

    /// Returns a number field of a record; `None` if the record has none, and for fields of another
    /// kind.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// In the unit of [`Field::kind`]. Searches the column in each call; for many rows take
    /// [`Self::numbers`].
    pub fn number(&self, field: Field, row: usize) -> Option<u64> {
        self.numbers(field.column())?.get(row)
    }

    /// Returns the first and the last time of the records, in nanoseconds since 1970.
    ///
    /// `None` if no record has a time. Known since the segment was made: no row is read. Records
    /// need not be in the order of their times.
    pub fn time_range_ns(&self) -> Option<(i64, i64)> {
        self.times().map(Times::range_ns)
    }

    /// Returns the memory taken, in bytes.
    ///
    /// Distinct values are not included: they belong to the data set
    /// ([`crate::Values::memory_bytes`]).
    pub fn memory_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|(_, data)| data.memory_bytes()).sum();
        let table = self.columns.capacity() * size_of::<(ColumnId, ColumnData)>();
        size_of::<Self>() + table + columns + self.line_start.memory_bytes()
    }
}
