//! Sets of rows of a segment, one bit per row.
//!
//! A set has a word for each 64 rows and caches the number of its members. The two most frequent
//! sets, all rows and none, have no words at all: a question without a filter costs no memory for
//! each segment, and comparing it with another takes constant time.
//!
//! Operations between two sets take them word by word and need sets over the same number of rows.
//! Bits beyond the last row are zero in every set, so counting bits counts rows.

use super::selection::Selection;

/// The number of rows in a word.
const WORD_ROWS: usize = u64::BITS as usize;

/// The rows of one segment that pass a filter, as bits. They are small enough to keep, and fast to
/// compare with those of another filter.
///
/// The rows of two filters over the same segment can be compared: an answer to the one becomes an
/// answer to the other by the rows in which they differ (see [`crate::Recount`]).
///
/// ```
/// use weir_core::{RowBits, Selection};
///
/// let (all, none) = (RowBits::all(100), RowBits::none(100));
/// assert_eq!((all.len(), none.len()), (100, 0));
/// assert_eq!(all.differing(&none), 100);
/// assert_eq!(all.without(&none).selection(), Selection::All(100));
/// assert_eq!(none.without(&all).selection(), Selection::default());
/// ```
///
/// # Memory and time
///
/// At most one bit for each row, an eighth of the narrowest column. [`Self::without`],
/// [`Self::differing`] and [`Self::selection`] take time in proportion to the words, and constant
/// time for sets of all rows or none.
///
/// # Examples
///
/// The rows that pass a filter, and those that do not:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Clause, Evaluation, Filter, Fold, Format, Question, RowBits,
///     Selection, TextTest, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 200\n::1 404\n::1 200\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let errors = Clause::text(&values, "status", TextTest::Between(400, 599), false)?;
/// let filter = Filter::of(vec![errors]);
/// let mut evaluation = Evaluation::new(&Question { filter, ..Question::default() });
/// evaluation.refresh(&values);
/// let pass = evaluation.pass(&segment);
/// assert_eq!((pass.len(), pass.rows()), (1, 3));
/// assert_eq!(pass.selection(), Selection::Rows(vec![1]));
/// let others = RowBits::all(3).without(&pass);
/// assert_eq!(others.selection(), Selection::Rows(vec![0, 2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowBits {
    rows: usize,
    /// The number of set bits.
    passing: usize,
    /// One bit per row, the lowest first, and zeros beyond the last row. Empty if all rows pass or
    /// none does.
    words: Vec<u64>,
}

impl RowBits {
    /// Returns a set in which all of the `rows` rows pass.
    ///
    /// Allocates nothing. If `rows` is 0, the set is both all rows and none.
    pub fn all(rows: usize) -> Self {
        Self { rows, passing: rows, words: Vec::new() }
    }

    /// Returns a set in which none of the `rows` rows passes.
    ///
    /// Allocates nothing.
    pub fn none(rows: usize) -> Self {
        Self { rows, passing: 0, words: Vec::new() }
    }

    /// Returns the number of rows, including those that do not pass.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of rows that pass.
    ///
    /// Counted when the set was made, so this takes no time.
    pub fn len(&self) -> usize {
        self.passing
    }

    /// Returns whether no row passes.
    pub fn is_empty(&self) -> bool {
        self.passing == 0
    }

    /// Returns whether every row passes.
    pub fn is_all(&self) -> bool {
        self.passing == self.rows
    }

    /// Returns the rows that pass here but not in `other`, which must be of the same segment.
    ///
    /// In a set of rows to count this is the difference that an answer still lacks; with the two
    /// sets exchanged, that which it has counted too much.
    pub fn without(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_all() {
            return Self::none(self.rows);
        }
        if other.is_empty() {
            return self.clone();
        }
        let words = 0..self.rows.div_ceil(WORD_ROWS);
        Self::of_words(self.rows, words.map(|at| self.word(at) & !other.word(at)).collect())
    }

    /// Returns the number of rows that pass either here or in `other`, but not in both.
    ///
    /// This is the number of rows to visit to turn an answer over the one set into an answer over
    /// the other. Both must be of the same segment.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::RowBits;
    ///
    /// let (all, none) = (RowBits::all(1_000), RowBits::none(1_000));
    /// assert_eq!(all.differing(&all), 0);
    /// assert_eq!(all.differing(&none), none.differing(&all));
    /// ```
    pub fn differing(&self, other: &Self) -> usize {
        // If one of them has no words, it is all rows or none.
        match (self.words.is_empty(), other.words.is_empty()) {
            (true, true) => return self.passing.abs_diff(other.passing),
            (true, false) if self.is_empty() => return other.passing,
            (true, false) => return self.rows - other.passing,
            (false, true) if other.is_empty() => return self.passing,
            (false, true) => return self.rows - self.passing,
            (false, false) => {}
        }
        let words = 0..self.rows.div_ceil(WORD_ROWS);
        words.map(|at| (self.word(at) ^ other.word(at)).count_ones() as usize).sum()
    }

    /// Returns the rows that pass, as a list of row numbers.
    ///
    /// Ascending. All rows become [`Selection::All`], which has no list; otherwise the list has
    /// four bytes for each row that passes.
    pub fn selection(&self) -> Selection {
        if self.is_all() {
            return Selection::All(self.rows);
        }
        let mut rows = Vec::with_capacity(self.passing);
        for (word, first) in self.words.iter().zip((0..).step_by(WORD_ROWS)) {
            let mut left = *word;
            while left != 0 {
                rows.push(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
        Selection::Rows(rows)
    }

    /// Returns the memory taken in addition to the value itself, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// Keeps the rows whose code passes. There must be a code for every row.
    ///
    /// Words without a row that still passes are not tested. Called once for each clause of a
    /// filter, so each clause tests only what the clauses before it left.
    pub(crate) fn narrow<T: Copy>(&mut self, codes: &[T], passes: impl Fn(T) -> bool) {
        if self.is_empty() {
            return;
        }
        let words = codes.chunks(WORD_ROWS).enumerate().map(|(at, codes)| match self.word(at) {
            0 => 0,
            word => word & word_of(codes, &passes),
        });
        *self = Self::of_words(self.rows, words.collect());
    }

    /// Bits beyond the last row must be zero.
    fn of_words(rows: usize, words: Vec<u64>) -> Self {
        let passing = words.iter().map(|word| word.count_ones() as usize).sum();
        let is_mixed = passing > 0 && passing < rows;
        Self { rows, passing, words: if is_mixed { words } else { Vec::new() } }
    }

    /// The bits of the rows from `64 * at` on, also for a set without words.
    #[inline]
    fn word(&self, at: usize) -> u64 {
        match self.words.get(at) {
            Some(word) => *word,
            None if self.is_empty() => 0,
            None => match self.rows - (at * WORD_ROWS).min(self.rows) {
                0 => 0,
                left @ 1..WORD_ROWS => (1 << left) - 1,
                _ => u64::MAX,
            },
        }
    }
}

/// Returns a mask of the codes that pass, the first in the lowest bit, for up to 64 codes. No
/// branch depends on the result.
#[inline]
fn word_of<T: Copy>(codes: &[T], passes: &impl Fn(T) -> bool) -> u64 {
    let bit = |code: &T| u64::from(passes(*code));
    match <&[T; WORD_ROWS]>::try_from(codes) {
        // An array has a length that the compiler knows.
        Ok(codes) => codes.iter().rev().fold(0, |word, code| word << 1 | bit(code)),
        Err(_) => codes.iter().rev().fold(0, |word, code| word << 1 | bit(code)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{RowBits, Selection};

    fn rows(bits: &RowBits) -> Vec<usize> {
        let mut rows = Vec::new();
        bits.selection().for_each(|row| rows.push(row));
        rows
    }

    fn bits(codes: &[u8], passes: impl Fn(u8) -> bool) -> RowBits {
        let mut bits = RowBits::all(codes.len());
        bits.narrow(codes, passes);
        bits
    }

    #[test]
    fn all_and_none_need_no_memory() {
        for count in [0, 1, 63, 64, 65, 200] {
            let codes = vec![7u8; count];
            assert_eq!(bits(&codes, |_| true), RowBits::all(count));
            assert_eq!(bits(&codes, |_| false), RowBits::none(count));
            assert_eq!(RowBits::all(count).selection(), Selection::All(count));
            assert_eq!(RowBits::all(count).without(&RowBits::none(count)), RowBits::all(count));
            assert_eq!(RowBits::all(count).differing(&RowBits::none(count)), count);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_lists_of_rows(
            codes in prop::collection::vec(0u8..4, 0..300),
            one in 0u8..5,
            other in 0u8..5,
        ) {
            let listed = |passes: &dyn Fn(u8) -> bool| -> Vec<usize> {
                (0..codes.len()).filter(|row| passes(codes[*row])).collect()
            };
            let (first, second) = (bits(&codes, |code| code < one), bits(&codes, |code| code != other));
            prop_assert_eq!(rows(&first), listed(&|code| code < one));
            prop_assert_eq!(first.len(), rows(&first).len());
            let mut both = first.clone();
            both.narrow(&codes, |code| code != other);
            prop_assert_eq!(rows(&both), listed(&|code| code < one && code != other));
            prop_assert_eq!(rows(&first.without(&second)), listed(&|code| code < one && code == other));
            let differing = listed(&|code| (code < one) != (code != other)).len();
            prop_assert_eq!(first.differing(&second), differing);
        }
    }
}
