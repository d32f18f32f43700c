//! One block's records as columns.

use super::codes::Codes;
use super::generation::InFlight;
use super::numbers::Numbers;
use super::selection::Selection;
use crate::field::Field;
use crate::schema::ColumnId;
use crate::value::Timestamp;

/// The records of one block: a column for each field that the block's format fills.
#[derive(Debug, Clone)]
pub struct Segment {
    pub(crate) rows: usize,
    /// The source the block came from, as its reader numbers them.
    pub(crate) source: u32,
    /// Where the block starts in its source.
    pub(crate) block_offset: u64,
    /// Dictionary ids, by [`ColumnId`]; `None` where the format lacks the field.
    pub(crate) text: Vec<Option<Codes>>,
    pub(crate) bytes: Option<Numbers>,
    pub(crate) request_time_ns: Option<Numbers>,
    pub(crate) upstream_time_ns: Option<Numbers>,
    /// Times, see [`encode_time`].
    pub(crate) time: Option<Numbers>,
    /// Zone offsets in seconds, see [`encode_offset`].
    pub(crate) offset: Option<Numbers>,
    /// First and last time in the segment, in nanoseconds since 1970.
    pub(crate) time_range_ns: Option<(i64, i64)>,
    /// Where each record's line starts in the block.
    pub(crate) line_start: Codes,
    /// Until it has arrived in the data set.
    pub(crate) in_flight: Option<InFlight>,
}

/// Times before 1970 are negative; with the sign bit turned they are ordered as unsigned.
#[inline]
pub(crate) fn encode_time(unix_ns: i64) -> u64 {
    (unix_ns as u64) ^ (1 << 63)
}

/// The inverse of [`encode_time`].
#[inline]
pub(crate) fn decode_time(code: u64) -> i64 {
    (code ^ (1 << 63)) as i64
}

/// Offsets lie within a day either way.
const OFFSET_BIAS_S: i64 = 86_400;

#[inline]
pub(crate) fn encode_offset(offset_s: i32) -> u64 {
    (i64::from(offset_s) + OFFSET_BIAS_S) as u64
}

/// The inverse of [`encode_offset`].
#[inline]
pub(crate) fn decode_offset(code: u64) -> i32 {
    (code as i64 - OFFSET_BIAS_S) as i32
}

impl Segment {
    /// The generation of ids that it was read with, until it has arrived.
    pub(crate) fn generation(&self) -> Option<u64> {
        self.in_flight.as_ref().map(InFlight::number)
    }

    /// Says that it is where all segments are that are looked at before values are given up.
    pub fn arrive(&mut self) {
        self.in_flight = None;
    }

    /// Number of records.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The source the records came from, as its reader numbers them.
    pub fn source(&self) -> u32 {
        self.source
    }

    /// Where a record's line starts in its source, in bytes.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn line_offset(&self, row: usize) -> u64 {
        self.block_offset + self.line_start.get(row)
    }

    /// The dictionary ids of a text column; `None` where no record has the field.
    pub fn text(&self, column: ColumnId) -> Option<&Codes> {
        self.text.get(usize::from(column.0))?.as_ref()
    }

    /// A record's time.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn time(&self, row: usize) -> Option<Timestamp> {
        let unix_ns = decode_time(self.time.as_ref()?.get(row)?);
        let offset_s = self.offset.as_ref().and_then(|offset| offset.get(row));
        Some(Timestamp { unix_ns, offset_s: offset_s.map_or(0, decode_offset) })
    }

    /// Calls `visit` with every record's time in nanoseconds since 1970, in order; `None` where
    /// it has none.
    pub fn for_each_time_ns(&self, mut visit: impl FnMut(Option<i64>)) {
        match &self.time {
            Some(times) => {
                times.for_each(&Selection::All(self.rows), |code| visit(code.map(decode_time)));
            }
            None => (0..self.rows).for_each(|_| visit(None)),
        }
    }

    /// True where a record has no time.
    pub fn has_untimed(&self) -> bool {
        self.rows > 0 && self.time.as_ref().is_none_or(Numbers::has_absent)
    }

    /// A number field of a record; `None` where it has none, and for other fields.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn number(&self, field: Field, row: usize) -> Option<u64> {
        let numbers = match field {
            Field::Bytes => &self.bytes,
            Field::RequestTime => &self.request_time_ns,
            Field::UpstreamTime => &self.upstream_time_ns,
            _ => &None,
        };
        numbers.as_ref()?.get(row)
    }

    /// The first and the last time of the records, in nanoseconds since 1970.
    pub fn time_range_ns(&self) -> Option<(i64, i64)> {
        self.time_range_ns
    }

    /// Memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let text: usize = self.text.iter().flatten().map(Codes::memory_bytes).sum();
        let numbers =
            [&self.bytes, &self.request_time_ns, &self.upstream_time_ns, &self.time, &self.offset];
        let numbers: usize = numbers.into_iter().flatten().map(Numbers::memory_bytes).sum();
        let table = self.text.capacity() * size_of::<Option<Codes>>();
        size_of::<Self>() + table + text + numbers + self.line_start.memory_bytes()
    }
}
