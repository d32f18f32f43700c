//! Columns of times.
//!
//! Instants are signed nanoseconds and zone offsets signed seconds; a column of numbers has
//! unsigned ones. So both are mapped to unsigned numbers without changing their order:
//!
//! | value | number | example |
//! |---|---|---|
//! | an instant | sign bit inverted | -1 ns is 2^63 - 1, 0 is 2^63 |
//! | an offset | 86,400 added | -18,000 s is 68,400 |
//!
//! The offset is stored apart, because it is constant in nearly every log, and then takes no memory
//! for each row. The times of a block of a busy server, in whole seconds, take one byte for each
//! row.

use super::numbers::Numbers;
use super::selection::Selection;
use crate::value::Timestamp;

/// Times, one for each row, some of them absent: instants, and the zone offsets that were logged
/// with them.
///
/// Both are columns of unsigned numbers with an order-preserving encoding, see [`Self::instants`]
/// and [`Self::offsets`]. A row has either both or none.
///
/// ```
/// use weir_core::Times;
///
/// let [before, epoch] = [-1, 0].map(Times::encode_instant);
/// assert!(before < epoch);
/// assert_eq!(Times::decode_instant(before), -1);
///
/// let [west, east] = [-18_000, 3_600].map(Times::encode_offset);
/// assert!(west < east);
/// assert_eq!(Times::decode_offset(west), -18_000);
/// ```
///
/// The earliest and the latest instant are kept, so the range of a whole segment costs nothing. At
/// least one row has a time.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
///
/// let format = Arc::new(Format::parse("$time_iso8601 $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "1970-01-01T02:00:09+02:00 200\n1970-01-01T02:00:03+02:00 200\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let times = segment.times().unwrap();
/// let first = times.get(0).unwrap();
/// assert_eq!((first.unix_ns, first.offset_s), (9_000_000_000, 7_200));
/// assert_eq!(times.range_ns(), (3_000_000_000, 9_000_000_000));
/// assert_eq!(times.memory_bytes(), 2);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    pub(super) instants: Numbers,
    pub(super) offsets: Numbers,
    pub(super) range_ns: (i64, i64),
}

/// The sign bit of an instant is inverted, so that unsigned numbers have the order of the times.
const SIGN_BIT: u64 = 1 << 63;

/// A zone offset is less than a day in either direction.
const OFFSET_BIAS_S: i64 = 86_400;

impl Times {
    /// Packs encoded instants and offsets, [`Numbers::ABSENT`] for a row without a time. `None` if
    /// every row is absent.
    ///
    /// Both slices have an element for each row, and are absent in the same rows. Two instants must
    /// differ by less than 2^64 - 1, which [`Timestamp`] guarantees.
    pub(crate) fn pack(instants: &[u64], offsets: &[u64]) -> Option<Self> {
        let (instants_packed, offsets) = (Numbers::pack(instants)?, Numbers::pack(offsets)?);
        let (first, last) = instants_packed.range(&Selection::All(instants.len()))?;
        let range_ns = (Self::decode_instant(first), Self::decode_instant(last));
        Some(Self { instants: instants_packed, offsets, range_ns })
    }

    /// Returns the time of a row.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// `None` if the row has no time.
    pub fn get(&self, row: usize) -> Option<Timestamp> {
        let unix_ns = Self::decode_instant(self.instants.get(row)?);
        let offset_s = Self::decode_offset(self.offsets.get(row)?);
        Some(Timestamp { unix_ns, offset_s })
    }

    /// Returns a time of each step of a length from the first time to the last, if all were logged with one
    /// offset.
    pub(crate) fn steps(
        &self,
        step_ns: i64,
    ) -> Option<impl ExactSizeIterator<Item = Timestamp> + use<>> {
        let offset_s = Self::decode_offset(self.offsets.constant()?);
        let (first, last) = self.range_ns;
        let (first, last) = (first.div_euclid(step_ns), last.div_euclid(step_ns));
        let count = usize::try_from(last - first + 1).ok()?;
        Some((0..count).map(move |step| {
            let unix_ns = (first + step as i64).saturating_mul(step_ns);
            Timestamp { unix_ns, offset_s }
        }))
    }

    /// Returns whether a time has a part below a microsecond.
    ///
    /// In constant time.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
    ///
    /// let format = Arc::new(Format::parse("$time_iso8601 $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// for (fraction, has_nanoseconds) in [("000123", false), ("000123000", false), ("000123001", true)] {
    ///     let lines = format!("1969-12-31T23:00:00.{fraction}Z 200\n");
    ///     let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
    ///     assert_eq!(segment.times().unwrap().has_nanoseconds(), has_nanoseconds);
    /// }
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn has_nanoseconds(&self) -> bool {
        // The other times differ from the first by multiples of the unit.
        self.range_ns.0 % 1_000 != 0 || !self.instants.unit().is_multiple_of(1_000)
    }

    /// Returns the first and the last time, in nanoseconds since 1970.
    ///
    /// In constant time.
    pub fn range_ns(&self) -> (i64, i64) {
        self.range_ns
    }

    /// Returns the first and the last time of the selected rows, in nanoseconds since 1970; `None`
    /// if none of them has a time.
    ///
    /// Reads every selected row.
    ///
    /// # Panics
    /// If a selected row does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Format, Selection, Values};
    ///
    /// let format = Arc::new(Format::parse("$msec $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let block = Block::new(b"3.0 200\n1.0 200\n2.0 200\n".to_vec());
    /// let segment = reader.read_segment(&block, 0, &mut values);
    ///
    /// let times = segment.times().unwrap();
    /// let selection = Selection::Rows(vec![0, 2]);
    /// assert_eq!(times.range_ns_of(&selection), Some((2_000_000_000, 3_000_000_000)));
    /// assert_eq!(times.range_ns_of(&Selection::default()), None);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn range_ns_of(&self, selection: &Selection) -> Option<(i64, i64)> {
        let (first, last) = self.instants.range(selection)?;
        Some((Self::decode_instant(first), Self::decode_instant(last)))
    }

    /// Returns the smallest and the largest zone offset of the selected rows, in seconds east of
    /// UTC.
    ///
    /// `None` if none of them has a time. A log whose range is wider than zero crosses a change of
    /// its clock, or was written in several zones.
    ///
    /// # Panics
    /// If a selected row does not exist.
    pub fn offset_range_s_of(&self, selection: &Selection) -> Option<(i32, i32)> {
        let (min, max) = self.offsets.range(selection)?;
        Some((Self::decode_offset(min), Self::decode_offset(max)))
    }

    /// Returns the instants as numbers: nanoseconds since 1970, see [`Self::encode_instant`].
    ///
    /// In their order, so a range of instants is a range of these numbers.
    pub fn instants(&self) -> &Numbers {
        &self.instants
    }

    /// Returns the zone offsets as numbers: seconds east of UTC, see [`Self::encode_offset`].
    pub fn offsets(&self) -> &Numbers {
        &self.offsets
    }

    /// Returns the memory taken in addition to the value itself, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.instants.memory_bytes() + self.offsets.memory_bytes()
    }

    /// Returns whether a row has no time.
    ///
    /// In constant time if all rows have the same zone offset, as in most logs. Reads the offsets
    /// until the first such row otherwise.
    pub fn has_absent(&self) -> bool {
        self.offsets.has_absent()
    }

    /// Returns the offset of every row, if all rows have the same.
    pub(crate) fn constant_offset_s(&self) -> Option<i32> {
        self.offsets.constant().map(Self::decode_offset)
    }

    /// Returns the number that stands for an instant, in nanoseconds since 1970.
    #[inline]
    pub const fn encode_instant(unix_ns: i64) -> u64 {
        (unix_ns as u64) ^ SIGN_BIT
    }

    /// The inverse of [`Self::encode_instant`].
    #[inline]
    pub const fn decode_instant(number: u64) -> i64 {
        (number ^ SIGN_BIT) as i64
    }

    /// Returns the number that stands for a zone offset, in seconds east of UTC.
    #[inline]
    pub const fn encode_offset(offset_s: i32) -> u64 {
        (offset_s as i64 + OFFSET_BIAS_S) as u64
    }

    /// The inverse of [`Self::encode_offset`].
    #[inline]
    pub const fn decode_offset(number: u64) -> i32 {
        (number as i64 - OFFSET_BIAS_S) as i32
    }
}
