//! Columns of numbers.
//!
//! Sizes and durations of one block are close to each other compared with 64 bits, and durations
//! are multiples of a coarse unit: nginx logs milliseconds, and times of most logs are whole
//! seconds. So a segment stores, for each number, how many units it is above the smallest. The
//! encoding is that of the columnar file formats (frame of reference), with a divisor.
//!
//! | numbers of a block | unit | width |
//! |---|---|---|
//! | times within 4 minutes, in whole seconds | 1 s | 8 bits |
//! | times within 18 hours, in whole seconds | 1 s | 16 bits |
//! | durations up to 1 minute, in milliseconds | 1 ms | 16 bits |
//! | sizes up to 64 kB | 1 byte | 16 bits |
//! | sizes up to 4 GB | 1 byte | 32 bits |
//!
//! Packing reads the numbers a few times, each in a loop without branches, and allocates only the
//! result.

use super::codes::Codes;
use super::selection::Selection;

/// Unsigned numbers, one for each row, some of them absent.
///
/// They are stored as differences from the smallest, in the coarsest unit that loses nothing, and
/// in the narrowest width: frame-of-reference encoding with a common divisor. Code 0 is an absent
/// number, so that no validity bitmap is needed.
///
/// ```text
/// numbers   1,250 ms   absent   1,000 ms   4,000 ms      in nanoseconds
/// base      1,000 ms
/// unit      1 ms
/// codes     251        0        1          3,001         in 16 bits each
/// ```
///
/// The order of the codes is the order of the numbers, so a range of numbers is a range of codes,
/// and a filter compares codes without decoding them.
///
/// # Absent numbers
///
/// One row at least has a number: a column without any is left out of its segment. Numbers may be
/// up to 2^64 - 2, since the largest stands for an absent one in the input.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Field, Format, Selection, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr $request_time")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 1.250\n::1 -\n::1 1.000\n::1 4.000\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let times = segment.numbers(Field::RequestTime.column()).unwrap();
/// assert_eq!((times.get(0), times.get(1)), (Some(1_250_000_000), None));
/// let range = times.range(&Selection::All(4));
/// assert_eq!(range, Some((1_000_000_000, 4_000_000_000)));
/// assert_eq!(times.memory_bytes(), 4 * 2);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// The smallest number.
    pub(super) base: u64,
    /// A power of a thousand.
    pub(super) unit: u64,
    /// 0 where absent, else 1 + (number - base) / unit.
    pub(super) codes: Codes,
}

impl Numbers {
    /// Stands for an absent number in the input of [`Self::pack`].
    pub(crate) const ABSENT: u64 = u64::MAX;

    /// Packs numbers that differ by less than 2^64 - 1, [`Self::ABSENT`] for a row without one.
    /// `None` if every row is absent.
    pub(crate) fn pack(numbers: &[u64]) -> Option<Self> {
        let base = numbers.iter().copied().min().filter(|base| *base != Self::ABSENT)?;
        let unit = coarsest_unit(numbers, base);
        // Division by a unit that the compiler knows takes a few cycles, by any other unit dozens.
        let codes = match unit {
            NANOSECOND => pack_in::<NANOSECOND>(numbers, base),
            MICROSECOND => pack_in::<MICROSECOND>(numbers, base),
            MILLISECOND => pack_in::<MILLISECOND>(numbers, base),
            _ => pack_in::<SECOND>(numbers, base),
        };
        Some(Self { base, unit, codes })
    }

    /// Returns the number of one row.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// In the unit of the column ([`crate::Unit`]); `None` if the row has no number.
    pub fn get(&self, row: usize) -> Option<u64> {
        self.decode(self.codes.get(row))
    }

    /// Calls `visit` with the number of every selected row, in order.
    ///
    /// Absent numbers are visited as `None`, so that the visits correspond to the rows.
    ///
    /// # Panics
    /// If a selected row does not exist.
    #[inline]
    pub fn for_each(&self, selection: &Selection, mut visit: impl FnMut(Option<u64>)) {
        self.codes.for_each(selection, |code| visit(self.decode(code)));
    }

    /// Returns the smallest and the largest number of the selected rows; `None` if all are absent.
    ///
    /// Reads the codes of the selected rows and decodes two of them.
    ///
    /// # Panics
    /// If a selected row does not exist.
    pub fn range(&self, selection: &Selection) -> Option<(u64, u64)> {
        if let (Codes::Constant { code, .. }, false) = (&self.codes, selection.is_empty()) {
            return self.decode(*code).map(|number| (number, number));
        }
        // Codes have the order of the numbers. Wrapping makes 0, an absent number, the largest.
        let (mut min, mut max) = (u64::MAX, 0);
        self.codes.for_each(selection, |code| {
            min = min.min(code.wrapping_sub(1));
            max = max.max(code);
        });
        Some((self.decode(min.wrapping_add(1))?, self.decode(max)?))
    }

    /// Returns the packed numbers: 0 if absent, otherwise in the order of the numbers.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Returns a power of a thousand. All numbers differ by multiples of it.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Returns the largest power of a thousand up to 10^9 that divides every number.
    pub(crate) fn whole_unit(&self) -> u64 {
        let is_constant = matches!(self.codes, Codes::Constant { .. });
        let divides = |unit: &u64| {
            self.base.is_multiple_of(*unit) && (is_constant || self.unit.is_multiple_of(*unit))
        };
        Self::UNITS.into_iter().rev().find(divides).unwrap_or(1)
    }

    /// Returns the number of every row, if all rows have the same.
    pub(crate) fn constant(&self) -> Option<u64> {
        match &self.codes {
            Codes::Constant { code, .. } => self.decode(*code),
            _ => None,
        }
    }

    /// Returns whether a row has no number.
    pub(crate) fn has_absent(&self) -> bool {
        match &self.codes {
            Codes::Constant { code, .. } => *code == 0,
            Codes::U8(codes) => codes.contains(&0),
            Codes::U16(codes) => codes.contains(&0),
            Codes::U32(codes) => codes.contains(&0),
            Codes::U64(codes) => codes.contains(&0),
        }
    }

    /// Returns the smallest and the largest code of the numbers from `min` to `max`, both included;
    /// `None` if no code is in that range.
    ///
    /// The codes are those of this segment; another segment has another base and unit. A bound
    /// between two steps is rounded inwards, so a number passes exactly if its code is in the
    /// range. Code 0, an absent number, is in no range.
    pub(crate) fn code_range(&self, min: u64, max: u64) -> Option<(u64, u64)> {
        let last = max.checked_sub(self.base)? / self.unit;
        let first = min.saturating_sub(self.base).div_ceil(self.unit);
        (first <= last).then(|| (first.saturating_add(1), last.saturating_add(1)))
    }

    /// Returns the memory taken, in bytes.
    ///
    /// On the heap, without the value itself.
    pub fn memory_bytes(&self) -> usize {
        self.codes.memory_bytes()
    }

    /// Returns the number that a code stands for.
    ///
    /// `None` for code 0. A code that the column does not have may overflow.
    #[inline]
    pub(crate) fn decode(&self, code: u64) -> Option<u64> {
        code.checked_sub(1).map(|steps| self.base + steps * self.unit)
    }
}

// The units to try. Numbers are bytes or nanoseconds, and most times are whole seconds or
// milliseconds.
const NANOSECOND: u64 = 1;
const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

impl Numbers {
    /// The units that are tried.
    pub(super) const UNITS: [u64; 4] = [NANOSECOND, MICROSECOND, MILLISECOND, SECOND];
}

/// Returns the coarsest unit that loses nothing. If all numbers are equal, every unit fits, and the
/// first is as good as the others.
fn coarsest_unit(numbers: &[u64], base: u64) -> u64 {
    if all_in::<SECOND>(numbers, base) {
        SECOND
    } else if all_in::<MILLISECOND>(numbers, base) {
        MILLISECOND
    } else if all_in::<MICROSECOND>(numbers, base) {
        MICROSECOND
    } else {
        NANOSECOND
    }
}

/// Returns whether every number is a whole number of units above the base.
fn all_in<const UNIT: u64>(numbers: &[u64], base: u64) -> bool {
    numbers.iter().all(|number| (number - base).is_multiple_of(UNIT) || *number == Numbers::ABSENT)
}

/// The width follows from the largest number alone, because codes have the order of the numbers.
fn pack_in<const UNIT: u64>(numbers: &[u64], base: u64) -> Codes {
    let code = |number: u64| match number {
        Numbers::ABSENT => 0,
        number => 1 + (number - base) / UNIT,
    };
    let first = numbers.first().copied().unwrap_or(Numbers::ABSENT);
    // Adding one wraps absent numbers to 0, so that the maximum is that of the present numbers.
    let (max, differing) = numbers.iter().fold((0, 0), |(max, differing), number| {
        (number.wrapping_add(1).max(max), differing | (number ^ first))
    });
    match differing {
        0 => Codes::Constant { code: code(first), rows: numbers.len() },
        _ => Codes::narrow(code(max.wrapping_sub(1)), numbers.iter().map(|number| code(*number))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Selection};

    fn pack(numbers: &[Option<u64>]) -> Option<Numbers> {
        let numbers: Vec<u64> =
            numbers.iter().map(|number| number.unwrap_or(Numbers::ABSENT)).collect();
        Numbers::pack(&numbers)
    }

    #[test]
    fn unpacks_to_the_packed_numbers() {
        for numbers in [
            vec![Some(0), None, Some(u64::MAX - 1)],
            vec![Some(5_000_000_000), Some(7_000_000_000)],
            vec![Some(5_000_000_001), Some(7_000_000_001), None],
            vec![None, Some(3)],
        ] {
            let packed = pack(&numbers).unwrap();
            for (row, number) in numbers.iter().enumerate() {
                assert_eq!(packed.get(row), *number);
            }
            let mut seen = Vec::new();
            packed.for_each(&Selection::All(numbers.len()), |number| seen.push(number));
            assert_eq!(seen, numbers);
        }
        assert_eq!(pack(&[None, None]), None);
    }

    #[test]
    fn ranges_ignore_absent_numbers() {
        let numbers = [None, Some(7), Some(3), None, Some(5)];
        let packed = pack(&numbers).unwrap();
        assert_eq!(packed.range(&Selection::All(5)), Some((3, 7)));
        assert_eq!(packed.range(&Selection::Rows(vec![3, 4])), Some((5, 5)));
        assert_eq!(packed.range(&Selection::Rows(vec![0, 3])), None);
        assert_eq!(packed.range(&Selection::Rows(vec![])), None);
        let constant = pack(&[Some(9), Some(9)]).unwrap();
        assert_eq!(constant.range(&Selection::All(2)), Some((9, 9)));
        assert_eq!(constant.range(&Selection::Rows(vec![])), None);
    }

    #[test]
    fn a_range_of_numbers_is_one_of_codes() {
        let numbers = [None, Some(5_000), Some(7_000), Some(12_000)];
        let packed = pack(&numbers).unwrap();
        assert!(packed.has_absent() && packed.constant().is_none());
        for (min, max) in
            [(0, u64::MAX), (5_000, 7_000), (5_001, 6_999), (6_000, 12_000), (0, 4_999), (9, 5_000)]
        {
            let range = packed.code_range(min, max);
            for (row, number) in numbers.iter().enumerate() {
                let code = packed.codes().get(row);
                let is_inside = range.is_some_and(|(first, last)| (first..=last).contains(&code));
                let expected = number.is_some_and(|number| (min..=max).contains(&number));
                assert_eq!(is_inside, expected, "{number:?} from {min} to {max}");
            }
        }
        assert_eq!(pack(&[Some(9), Some(9)]).unwrap().constant(), Some(9));
        let widest = pack(&[Some(0), Some(u64::MAX - 1)]).unwrap();
        assert_eq!(widest.code_range(0, u64::MAX), Some((1, u64::MAX)));
    }

    #[test]
    fn whole_seconds_are_small() {
        let second = 1_000_000_000u64;
        let times: Vec<_> = (0..1000u64).map(|n| Some((1_765_949_581 + n / 5) * second)).collect();
        assert_eq!(pack(&times).unwrap().memory_bytes(), 1000);
    }
}
