//! Columns of times.

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    instants: Numbers,
    offsets: Numbers,
    range_ns: (i64, i64),
}

/// The sign bit of an instant is inverted, so that unsigned numbers have the order of the times.
const SIGN_BIT: u64 = 1 << 63;

/// A zone offset is less than a day in either direction.
const OFFSET_BIAS_S: i64 = 86_400;

impl Times {
    /// Packs encoded instants and offsets, [`Numbers::ABSENT`] for a row without a time. `None` if
    /// every row is absent.
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
    pub fn get(&self, row: usize) -> Option<Timestamp> {
        let unix_ns = Self::decode_instant(self.instants.get(row)?);
        let offset_s = Self::decode_offset(self.offsets.get(row)?);
        Some(Timestamp { unix_ns, offset_s })
    }

    /// Returns the first and the last time, in nanoseconds since 1970.
    pub fn range_ns(&self) -> (i64, i64) {
        self.range_ns
    }

    /// Returns the first and the last time of the selected rows, in nanoseconds since 1970; `None`
    /// if none of them has a time.
    pub fn range_ns_of(&self, selection: &Selection) -> Option<(i64, i64)> {
        let (first, last) = self.instants.range(selection)?;
        Some((Self::decode_instant(first), Self::decode_instant(last)))
    }

    /// Returns the smallest and the largest zone offset of the selected rows, in seconds east of
    /// UTC.
    pub fn offset_range_s_of(&self, selection: &Selection) -> Option<(i32, i32)> {
        let (min, max) = self.offsets.range(selection)?;
        Some((Self::decode_offset(min), Self::decode_offset(max)))
    }

    /// Returns the instants as numbers: nanoseconds since 1970, see [`Self::encode_instant`].
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
    pub fn has_absent(&self) -> bool {
        self.instants.has_absent()
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
