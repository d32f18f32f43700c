//! The innermost counting loops, which add a record and its response size in one word.
//!
//! They compute this:
//!
//! ```text
//! for row in selection:
//!     records[codes[row]] += 1
//!     bytes[codes[row]] += size[row]
//! ```
//!
//! The code differs from it in three ways:
//!
//! 1. The two sums of a value are in one word: one random access and one addition per row and
//!    column.
//! 2. Only the low bits of a size are added. The few large sizes are added separately, and the
//!    words are emptied into wider sums before they can overflow (see [`super::TopList`]).
//! 3. Columns of few values are counted in four arrays in turn, so that an addition rarely has to
//!    wait for the one before it to the same sum.
//!
//! A word is divided like this:
//!
//! ```text
//! bit   63                    44 43                                        0
//!       | records, 20 bits      | low bits of the sizes, 44 bits, signed    |
//! ```
//!
//! Subtraction borrows from the records if the bytes become negative; reading the records adds the
//! borrow back. Both parts have a bit more than [`PackedTally::VISITS_MAX`] rows can need, so
//! neither reaches the other.

use super::visit::Visit;
use crate::column::Selection;

/// A count of records (high bits) and the low bits of their response sizes (low bits) in one word.
/// Counting accesses one of these at random for every row and column. The word keeps that memory
/// small, and one addition updates both parts.
///
/// Both parts may be negative if rows are removed. The arithmetic is modulo 2^64; reading the
/// records undoes the borrow from the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PackedTally(u64);

/// The lowest bit of the records.
const BYTES_BITS: u32 = 44;

impl PackedTally {
    /// The number of rows that can be counted before a part might overflow: 2^19 - 1 records need
    /// 19 bits and a sign, and the same number of sizes of [`Visit::LOW_BITS`] need 43 bits and a
    /// sign.
    pub(super) const VISITS_MAX: usize = (1 << (BYTES_BITS - 1 - Visit::LOW_BITS)) - 1;

    /// Returns the number of records.
    #[inline]
    pub(super) fn records(self) -> i64 {
        (self.0 as i64).wrapping_sub(self.low_bytes()) >> BYTES_BITS
    }

    /// Returns the sum of the bytes.
    #[inline]
    pub(super) fn low_bytes(self) -> i64 {
        const SPARE: u32 = u64::BITS - BYTES_BITS;
        (self.0 << SPARE) as i64 >> SPARE
    }

    /// Counts `records` records, at most [`Self::VISITS_MAX`], and the sum of their low bytes.
    #[inline]
    pub(super) fn count_many<const ADDS: bool>(&mut self, records: usize, low_bytes: u64) {
        self.apply::<ADDS>(Self(((records as u64) << BYTES_BITS).wrapping_add(low_bytes)));
    }

    /// `low_bytes` is below two to the power of [`Visit::LOW_BITS`].
    #[inline]
    fn count<const ADDS: bool>(&mut self, low_bytes: u32) {
        self.apply::<ADDS>(Self(1 << BYTES_BITS | u64::from(low_bytes)));
    }

    /// Adds or subtracts both parts at once.
    #[inline]
    fn apply<const ADDS: bool>(&mut self, other: Self) {
        let sum = if ADDS { self.0.wrapping_add(other.0) } else { self.0.wrapping_sub(other.0) };
        self.0 = sum;
    }
}

/// Counts rows by their codes, which must be less than the length of `sums`.
///
/// `low_bytes` has an element for each selected row. A code without a sum is not counted, which the
/// bounds of the ids rule out.
#[inline]
pub(super) fn count_packed<T: Copy + Into<u32>, const ADDS: bool>(
    sums: &mut [PackedTally],
    codes: &[T],
    selection: &Selection,
    low_bytes: &[u32],
) {
    let mut count = |code: T, low_bytes: u32| {
        let id: u32 = code.into();
        if let Some(sum) = sums.get_mut(id as usize) {
            sum.count::<ADDS>(low_bytes);
        }
    };
    match selection {
        Selection::All(_) => {
            codes.iter().zip(low_bytes).for_each(|(code, bytes)| count(*code, *bytes));
        }
        Selection::Rows(rows) => {
            for (row, bytes) in rows.iter().zip(low_bytes) {
                if let Some(code) = codes.get(*row as usize) {
                    count(*code, *bytes);
                }
            }
        }
    }
}

/// Counts rows as [`count_packed`] does, for codes of eight bits. These have few values, and equal
/// codes often follow each other. An addition to a sum has to wait for the previous addition to the
/// same sum. So neighbouring rows are counted in different arrays, which are added together at the
/// end.
///
/// Pays from a few hundred rows on: the arrays must be cleared and added for each segment.
pub(super) fn count_in_lanes<const ADDS: bool>(
    sums: &mut [PackedTally],
    codes: &[u8],
    selection: &Selection,
    low_bytes: &[u32],
) {
    const LANES: usize = 4;
    let mut lanes = [[PackedTally::default(); 256]; LANES];
    let mut count = |lane: usize, code: u8, low_bytes: u32| {
        lanes[lane][usize::from(code)].count::<true>(low_bytes);
    };
    let (fours, rest) = low_bytes.as_chunks::<LANES>();
    match selection {
        Selection::All(_) => {
            let (codes, rest_codes) = codes.as_chunks::<LANES>();
            for (codes, bytes) in codes.iter().zip(fours) {
                for lane in 0..LANES {
                    count(lane, codes[lane], bytes[lane]);
                }
            }
            rest_codes.iter().zip(rest).for_each(|(code, bytes)| count(0, *code, *bytes));
        }
        Selection::Rows(rows) => {
            let code = |row: u32| codes.get(row as usize).copied().unwrap_or(0);
            let (rows, rest_rows) = rows.as_chunks::<LANES>();
            for (rows, bytes) in rows.iter().zip(fours) {
                for lane in 0..LANES {
                    count(lane, code(rows[lane]), bytes[lane]);
                }
            }
            rest_rows.iter().zip(rest).for_each(|(row, bytes)| count(0, code(*row), *bytes));
        }
    }
    for lane in lanes {
        sums.iter_mut().zip(lane).for_each(|(sum, counted)| sum.apply::<ADDS>(counted));
    }
}

#[cfg(test)]
mod tests {
    use super::{PackedTally, Visit, count_in_lanes, count_packed};
    use crate::column::Selection;

    #[test]
    fn both_parts_hold_their_extremes() {
        for low_bytes in [0, 1, (1 << Visit::LOW_BITS) - 1] {
            let mut packed = PackedTally::default();
            for _ in 0..PackedTally::VISITS_MAX {
                packed.count::<false>(low_bytes);
            }
            let records = PackedTally::VISITS_MAX as i64;
            assert_eq!(
                (packed.records(), packed.low_bytes()),
                (-records, -records * i64::from(low_bytes))
            );
            for _ in 0..2 * PackedTally::VISITS_MAX {
                packed.count::<true>(low_bytes);
            }
            assert_eq!(
                (packed.records(), packed.low_bytes()),
                (records, records * i64::from(low_bytes))
            );
        }
    }

    #[test]
    fn counting_aside_makes_no_difference() {
        let codes: Vec<u8> = (0..1_003u32).map(|n| (n * n % 7) as u8).collect();
        for selection in
            [Selection::All(codes.len()), Selection::Rows((3..900).step_by(2).collect())]
        {
            let low_bytes: Vec<u32> = (0..selection.len() as u32).map(|n| n * 3).collect();
            let (mut plain, mut aside) =
                (vec![PackedTally::default(); 7], vec![PackedTally::default(); 7]);
            count_packed::<_, true>(&mut plain, &codes, &selection, &low_bytes);
            count_in_lanes::<true>(&mut aside, &codes, &selection, &low_bytes);
            assert_eq!(plain, aside);
            assert_eq!(
                plain.iter().map(|packed| packed.records()).sum::<i64>(),
                selection.len() as i64
            );
            count_in_lanes::<false>(&mut aside, &codes, &selection, &low_bytes);
            assert_eq!(aside, vec![PackedTally::default(); 7]);
        }
    }
}
