//! Quantiles of durations.
//!
//! Numbers are counted by value in a table. Servers log durations in milliseconds or microseconds,
//! so a log of any size has few distinct ones, and their counts are all that a quantile needs. The
//! table is sorted only when a quantile is asked for.
//!
//! Whole milliseconds below 4.096 s, nearly all durations of nginx, have an array of their own;
//! other numbers are in a hash map, which is seeded at random.
//!
//! When there are too many distinct numbers, all are rounded to 11 significant bits. From then on
//! there are at most 2^10 numbers for each power of two, 55,000 in all. Rounding is irreversible,
//! and it does not depend on the order of the numbers: each is rounded in the same way whenever it
//! is added.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::column::{Numbers, Selection};

/// Quantiles by the nearest-rank method. The quantile `q` of `n` numbers is the smallest number
/// that is at least as large as `q * n` of them.
///
/// The result is exact for up to [`Self::EXACT_MAX`] distinct numbers. Beyond that, numbers are
/// rounded to 11 significant bits, an error of at most one part in 2,048, and
/// [`Self::is_estimated`] returns true.
///
/// The method is the first of Hyndman and Fan, "Sample Quantiles in Statistical Packages": the
/// result is always a number that occurs, never one between two.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Evaluation, Field, Fold, Format, Question, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $request_time")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 0.010\n::1 0.020\n::1 0.500\n::1 -\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let mut evaluation = Evaluation::new(&Question::default());
/// evaluation.refresh(&values);
/// evaluation.update(&segment);
/// let times = evaluation.quantiles(Field::RequestTime.column()).unwrap();
/// assert_eq!((times.count(), times.max()), (3, Some(500_000_000)));
/// assert_eq!(times.quantiles([0.5, 0.9]), Some([20_000_000, 500_000_000]));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Units
///
/// Those of the column: nanoseconds for durations, bytes for sizes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quantiles {
    count: u64,
    max: u64,
    /// Counts of whole milliseconds below 4,096, the unit in which nginx logs durations.
    milliseconds: Vec<u64>,
    /// Counts of all other numbers.
    counts: HashMap<u64, u64, foldhash::fast::RandomState>,
    rounded: bool,
}

/// In nanoseconds.
const MILLISECOND: u64 = 1_000_000;
/// The length of the array of milliseconds: 32 KiB of counts.
const MILLISECONDS: u64 = 4_096;

impl Quantiles {
    /// The number of distinct numbers that are counted exactly: at most 4 MiB of counts.
    ///
    /// Reached by logs with microseconds and a wide spread, not by those with milliseconds.
    pub const EXACT_MAX: usize = 1 << 17;

    /// Adds a number of nanoseconds.
    #[inline]
    fn add(&mut self, number: u64) {
        self.add_many(number, 1);
    }

    /// Adds the selected numbers of a column.
    pub(super) fn update(&mut self, numbers: Option<&Numbers>, selection: &Selection) {
        if let Some(numbers) = numbers {
            numbers.for_each(selection, |number| {
                if let Some(number) = number {
                    self.add(number);
                }
            });
        }
    }

    /// Adds the numbers that another instance has counted.
    ///
    /// If either was rounded, the result is. The sum of two exact counts may also exceed the limit
    /// and be rounded.
    pub fn merge(&mut self, other: &Self) {
        if other.rounded {
            self.round();
        }
        let max = self.max.max(other.max);
        for (number, count) in other.iter() {
            self.add_many(number, count);
        }
        self.max = max;
    }

    /// Returns how many numbers were added.
    ///
    /// Absent numbers do not count.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the largest number.
    ///
    /// Exact, even after rounding. `None` if no number was added.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns whether numbers were rounded.
    pub fn is_estimated(&self) -> bool {
        self.rounded
    }

    /// Returns the quantiles `qs`, which must be ascending and from 0 to 1. `None` if no number was
    /// added.
    ///
    /// Quantile 0 is the smallest number and 1 the largest. Sorts the distinct numbers in each
    /// call, so ask for all quantiles at once.
    pub fn quantiles<const N: usize>(&self, qs: [f64; N]) -> Option<[u64; N]> {
        if self.count == 0 {
            return None;
        }
        let sorted: BTreeMap<u64, u64> = self.iter().collect();
        let mut answer = [self.max; N];
        let mut below = 0u64;
        let mut next = 0;
        for (number, count) in sorted {
            below += count;
            while next < N && below >= self.rank(qs[next]) {
                answer[next] = number.min(self.max);
                next += 1;
            }
        }
        Some(answer)
    }

    /// Returns the rank, from 1, of the quantile `q`.
    fn rank(&self, q: f64) -> u64 {
        ((q * self.count as f64).ceil() as u64).clamp(1, self.count)
    }

    /// Adds a number `count` times. Rounds everything when there are too many distinct numbers.
    #[inline]
    fn add_many(&mut self, number: u64, count: u64) {
        self.count += count;
        self.max = self.max.max(number);
        if !self.rounded
            && number < MILLISECONDS * MILLISECOND
            && number.is_multiple_of(MILLISECOND)
        {
            if self.milliseconds.is_empty() {
                self.milliseconds.resize(MILLISECONDS as usize, 0);
            }
            self.milliseconds[(number / MILLISECOND) as usize] += count;
            return;
        }
        let number = if self.rounded { round(number) } else { number };
        *self.counts.entry(number).or_insert(0) += count;
        if !self.rounded && self.counts.len() > Self::EXACT_MAX {
            self.round();
        }
    }

    /// The distinct numbers and their counts, in no order.
    fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let whole = self.milliseconds.iter().enumerate().filter(|(_, count)| **count > 0);
        let whole = whole.map(|(ms, count)| (ms as u64 * MILLISECOND, *count));
        whole.chain(self.counts.iter().map(|(number, count)| (*number, *count)))
    }

    /// Rounds the numbers so far; those that follow are rounded when they are added. Keeps the
    /// maximum exact.
    #[cold]
    fn round(&mut self) {
        if self.rounded {
            return;
        }
        let max = self.max;
        let exact = std::mem::take(self);
        self.rounded = true;
        for (number, count) in exact.iter() {
            self.add_many(number, count);
        }
        self.max = max;
    }
}

/// Keeps the 11 highest bits and sets the rest to the middle of their range.
///
/// The middle halves the error: at most 2^-11 of the number, in either direction. A number below
/// 2^11 stays as it is.
fn round(number: u64) -> u64 {
    let dropped = (64 - number.leading_zeros()).saturating_sub(11);
    let floor = number >> dropped << dropped;
    floor + ((1u64 << dropped) >> 1)
}

#[cfg(test)]
mod tests {
    use super::{MILLISECOND, Quantiles};

    fn of(numbers: impl IntoIterator<Item = u64>) -> Quantiles {
        let mut quantiles = Quantiles::default();
        numbers.into_iter().for_each(|number| quantiles.add(number));
        quantiles
    }

    #[test]
    fn nearest_rank() {
        assert_eq!(Quantiles::default().quantiles([0.5]), None);
        assert_eq!(of([7]).quantiles([0.0, 0.5, 1.0]), Some([7, 7, 7]));
        assert_eq!(of([3, 1, 2, 4]).quantiles([0.25, 0.5, 0.51, 1.0]), Some([1, 2, 3, 4]));
        let milliseconds = of((1..=100).map(|n| n * MILLISECOND));
        let expected = [50, 90, 95, 99].map(|n| n * MILLISECOND);
        assert_eq!(milliseconds.quantiles([0.5, 0.9, 0.95, 0.99]), Some(expected));
    }

    #[test]
    fn many_distinct_numbers_are_rounded_and_it_says_so() {
        let n = 3 * Quantiles::EXACT_MAX as u64;
        let one = of((0..n).map(|i| i * 1_001));
        assert!(one.is_estimated());
        let [median] = one.quantiles([0.5]).unwrap();
        let exact = (n / 2 - 1) * 1_001;
        assert!(median.abs_diff(exact) <= exact / 2_048 + 1);
        assert_eq!(one.max(), Some((n - 1) * 1_001));
        let mut split = of((0..n / 3).map(|i| i * 1_001));
        assert!(!split.is_estimated());
        split.merge(&of((n / 3..n).map(|i| i * 1_001)));
        assert_eq!(split, one, "a split gives the same answer");
    }
}
