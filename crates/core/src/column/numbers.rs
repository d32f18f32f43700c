//! Columns of numbers.

use super::codes::Codes;
use crate::filter::Selection;

/// Unsigned numbers, one a row, some of them absent: differences from the smallest, in
/// the coarsest unit that loses nothing, in the narrowest width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// The smallest number.
    base: u64,
    /// A power of a thousand.
    unit: u64,
    /// 0 where absent, else 1 + (number - base) / unit.
    codes: Codes,
}

impl Numbers {
    /// The units that are tried: numbers are bytes or nanoseconds, and times mostly come in
    /// whole seconds or milliseconds.
    const UNITS: [u64; 3] = [1_000_000_000, 1_000_000, 1_000];

    /// Packs numbers that lie less than 2^64 - 1 apart. `None` where every row is absent.
    pub fn pack(numbers: impl ExactSizeIterator<Item = Option<u64>> + Clone) -> Option<Self> {
        let present = numbers.clone().flatten();
        let base = present.clone().min()?;
        // Where all are equal any unit fits, and the first is as good as the others.
        let unit = Self::UNITS
            .into_iter()
            .find(|unit| present.clone().all(|number| (number - base) % unit == 0))
            .unwrap_or(1);
        let code = |number: Option<u64>| number.map_or(0, |number| 1 + (number - base) / unit);
        Some(Self { base, unit, codes: Codes::pack(numbers.map(code)) })
    }

    /// The number of one row.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn get(&self, row: usize) -> Option<u64> {
        self.decode(self.codes.get(row))
    }

    /// Calls `visit` with the number of every selected row, in order.
    #[inline]
    pub fn for_each(&self, selection: &Selection, mut visit: impl FnMut(Option<u64>)) {
        self.codes.for_each(selection, |code| visit(self.decode(code)));
    }

    /// The smallest and the largest number of the selected rows; `None` where all are absent.
    pub fn range(&self, selection: &Selection) -> Option<(u64, u64)> {
        if let (Codes::Constant { code, .. }, false) = (&self.codes, selection.is_empty()) {
            return self.decode(*code).map(|number| (number, number));
        }
        // Codes have the order of the numbers; 0, which is absent, becomes the largest.
        let (mut min, mut max) = (u64::MAX, 0);
        self.codes.for_each(selection, |code| {
            min = min.min(code.wrapping_sub(1));
            max = max.max(code);
        });
        Some((self.decode(min.wrapping_add(1))?, self.decode(max)?))
    }

    /// Memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.codes.memory_bytes()
    }

    #[inline]
    fn decode(&self, code: u64) -> Option<u64> {
        code.checked_sub(1).map(|steps| self.base + steps * self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;
    use crate::filter::Selection;

    #[test]
    fn gives_back_what_was_packed() {
        for numbers in [
            vec![Some(0), None, Some(u64::MAX - 1)],
            vec![Some(5_000_000_000), Some(7_000_000_000)],
            vec![Some(5_000_000_001), Some(7_000_000_001), None],
            vec![None, Some(3)],
        ] {
            let packed = Numbers::pack(numbers.iter().copied()).unwrap();
            for (row, number) in numbers.iter().enumerate() {
                assert_eq!(packed.get(row), *number);
            }
            let mut seen = Vec::new();
            packed.for_each(&Selection::All(numbers.len()), |number| seen.push(number));
            assert_eq!(seen, numbers);
        }
        assert_eq!(Numbers::pack([None, None].into_iter()), None);
    }

    #[test]
    fn ranges_leave_out_what_is_absent() {
        let numbers = [None, Some(7), Some(3), None, Some(5)];
        let packed = Numbers::pack(numbers.into_iter()).unwrap();
        assert_eq!(packed.range(&Selection::All(5)), Some((3, 7)));
        assert_eq!(packed.range(&Selection::Rows(vec![3, 4])), Some((5, 5)));
        assert_eq!(packed.range(&Selection::Rows(vec![0, 3])), None);
        assert_eq!(packed.range(&Selection::Rows(vec![])), None);
        let constant = Numbers::pack([Some(9), Some(9)].into_iter()).unwrap();
        assert_eq!(constant.range(&Selection::All(2)), Some((9, 9)));
        assert_eq!(constant.range(&Selection::Rows(vec![])), None);
    }

    #[test]
    fn whole_seconds_are_small() {
        let second = 1_000_000_000u64;
        let times: Vec<_> = (0..1000u64).map(|n| Some((1_765_949_581 + n / 5) * second)).collect();
        assert_eq!(Numbers::pack(times.into_iter()).unwrap().memory_bytes(), 1000);
    }
}
