//! Counts records by the values of one field or two.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use weir_core::LateValues;

use super::memory_budget::MemoryBudget;
use super::pair_counts::{PairCount, PairCounts};

/// The memory of an element of [`ValueTally::uncounted`], in a table that is half full.
const UNCOUNTED_BYTES: usize = 2 * (size_of::<((u32, u32), u64)>() + 1);

/// The number of records with each value of a field, or with each pair of values of two, in a
/// part of the log. Exact; its memory grows with the number of different values.
#[derive(Debug, Default)]
pub struct TallyChunk {
    records: u64,
    pairs: PairCounts,
}

/// Counts records by value, or by pair of values, over a whole log in bounded memory.
///
/// When the [`MemoryBudget`] is used up, records with new values are only counted together, in the
/// remainder. Frequent values among these are still found and counted from then on; see
/// [`LateValues`]. Tallies of the same chunks in the same order are equal.
#[derive(Debug, Default)]
pub struct ValueTally {
    records: u64,
    remainder: u64,
    pairs: PairCounts,
    /// The largest number of further records of a pair that are counted in the remainder, by the
    /// ids of its values; only numbers above 0.
    uncounted: HashMap<(u32, u32), u64, RandomState>,
    /// The bytes taken from the budget.
    taken_bytes: usize,
    /// Counts the pairs of values that came after the memory was used up; `None` before.
    late: Option<LatePairs>,
}

#[derive(Debug)]
struct LatePairs {
    /// `None` if there is no memory to count them.
    values: Option<LateValues>,
    state: RandomState,
}

/// A value and the number of records with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TallyEntry<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The records with it.
    pub count: u64,
    /// The largest number of further records with it that are counted in the remainder; 0 if the
    /// count is exact.
    pub uncounted_max: u64,
}

impl TallyChunk {
    /// Counts a record. With one field only, `column` is empty.
    #[inline]
    pub fn add(&mut self, row: &[u8], column: &[u8]) {
        self.records += 1;
        self.pairs.add(row, column, 1);
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.pairs.memory_bytes()
    }
}

impl ValueTally {
    /// Adds the counts of a chunk.
    pub fn add(&mut self, chunk: TallyChunk, budget: &mut MemoryBudget) {
        self.records += chunk.records;
        let pairs = chunk.pairs;
        if self.late.is_none() && budget.has(pairs.memory_bytes()) {
            self.add_all(pairs, budget);
            return;
        }
        // The order decides which values find room, so it must be the same in every run.
        let key = |pair: &PairCount| {
            (Reverse(pair.count), pairs.row(pair.row), pairs.column(pair.column))
        };
        let mut sorted: Vec<PairCount> = pairs.pairs().collect();
        sorted.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        for PairCount { row, column, count } in sorted {
            self.add_pair(pairs.row(row), pairs.column(column), count, budget);
        }
    }

    /// Adds counts that all fit into the memory.
    fn add_all(&mut self, pairs: PairCounts, budget: &mut MemoryBudget) {
        let before = self.pairs.memory_bytes();
        if before == 0 {
            self.pairs = pairs;
        } else {
            self.pairs.add_all(&pairs);
        }
        let added = self.pairs.memory_bytes() - before;
        budget.take(added);
        self.taken_bytes += added;
    }

    fn add_pair(&mut self, row: &[u8], column: &[u8], count: u64, budget: &mut MemoryBudget) {
        let bytes = self.pairs.cost_bytes(row, column);
        if bytes == 0 {
            self.pairs.add(row, column, count);
            return;
        }
        let bytes = if self.late.is_some() { bytes + UNCOUNTED_BYTES } else { bytes };
        let uncounted_max = if budget.take(bytes) {
            self.taken_bytes += bytes;
            Some(self.late.as_mut().map_or(0, |late| late.forget(row, column)))
        } else {
            let late = self.late.get_or_insert_with(|| LatePairs::new(budget.reserve_of_tally()));
            late.offer(row, column, count, bytes)
        };
        let Some(uncounted_max) = uncounted_max else {
            self.remainder += count;
            return;
        };
        self.pairs.add(row, column, count);
        if let ([Some(row), Some(column)], 1..) = (self.pairs.find(row, column), uncounted_max) {
            self.uncounted.insert((row, column), uncounted_max);
        }
    }

    /// Drops all counts, except that of the records.
    pub fn clear(&mut self, budget: &mut MemoryBudget) {
        budget.give_back(self.taken_bytes);
        *self = Self { records: self.records, ..Self::default() };
    }

    /// The number of all records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of records that are only counted together, because their values came after the
    /// memory was used up.
    pub fn remainder(&self) -> u64 {
        self.remainder
    }

    /// The largest number of records that a value, or a pair of values, without an entry can have.
    pub fn unlisted_max(&self) -> u64 {
        let late = self.late.as_ref().and_then(|late| late.values.as_ref());
        late.map_or(self.remainder, |late| late.records_max().min(self.remainder))
    }

    /// The values of the first field, by count and then by value.
    pub fn rows(&self) -> Vec<TallyEntry<'_>> {
        self.entries(self.pairs.id_ends()[0], |pair| pair.row, PairCounts::row)
    }

    /// The values of the second field, in the same order.
    pub fn columns(&self) -> Vec<TallyEntry<'_>> {
        self.entries(self.pairs.id_ends()[1], |pair| pair.column, PairCounts::column)
    }

    /// Returns the number of records with both values, and the largest number of further ones.
    pub fn count(&self, row: &[u8], column: &[u8]) -> (u64, u64) {
        match self.pairs.find(row, column) {
            [Some(row), Some(column)] => {
                let count = self.pairs.count(row, column);
                (count, self.uncounted_max(row, column).min(self.remainder))
            }
            _ => (0, 0),
        }
    }

    fn uncounted_max(&self, row: u32, column: u32) -> u64 {
        self.uncounted.get(&(row, column)).copied().unwrap_or(0)
    }

    /// Sums the pairs by the id of one of their values. All ids are below `id_end`.
    fn entries(
        &self,
        id_end: usize,
        id: fn(&PairCount) -> u32,
        value: fn(&PairCounts, u32) -> &[u8],
    ) -> Vec<TallyEntry<'_>> {
        let mut sums = vec![(0, 0_u64); id_end];
        for pair in self.pairs.pairs() {
            let (count, uncounted_max) = &mut sums[id(&pair) as usize];
            *count += pair.count;
            let more = self.uncounted_max(pair.row, pair.column);
            *uncounted_max = uncounted_max.saturating_add(more);
        }
        let sums = (0..).zip(sums).filter(|(_, (count, _))| *count > 0);
        let entry = |(id, (count, uncounted_max)): (u32, (u64, u64))| TallyEntry {
            value: value(&self.pairs, id),
            count,
            uncounted_max: uncounted_max.min(self.remainder),
        };
        let mut entries: Vec<TallyEntry<'_>> = sums.map(entry).collect();
        entries.sort_unstable_by_key(|entry| (Reverse(entry.count), entry.value));
        entries
    }
}

impl LatePairs {
    fn new(bytes: usize) -> Self {
        Self { values: LateValues::with_memory(bytes), state: RandomState::default() }
    }

    /// See [`LateValues::offer`].
    fn offer(&mut self, row: &[u8], column: &[u8], records: u64, bytes: usize) -> Option<u64> {
        let fingerprint = self.state.hash_one((row, column));
        self.values.as_mut()?.offer(fingerprint, records, bytes)
    }

    /// See [`LateValues::forget`]. Without counters, any number of records may be missing.
    fn forget(&mut self, row: &[u8], column: &[u8]) -> u64 {
        let fingerprint = self.state.hash_one((row, column));
        self.values.as_mut().map_or(u64::MAX, |values| values.forget(fingerprint))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{TallyChunk, TallyEntry, ValueTally};
    use crate::MemoryBudget;

    fn chunk(rows: &[&str]) -> TallyChunk {
        let mut chunk = TallyChunk::default();
        rows.iter().for_each(|row| chunk.add(row.as_bytes(), b""));
        chunk
    }

    fn counts(tally: &ValueTally) -> Vec<(String, u64)> {
        let text =
            |entry: TallyEntry<'_>| (String::from_utf8_lossy(entry.value).into(), entry.count);
        tally.rows().into_iter().map(text).collect()
    }

    #[test]
    fn new_values_without_memory_are_counted_together() {
        let mut budget = MemoryBudget::new(350);
        let mut tally = ValueTally::default();
        tally.add(chunk(&["a", "b", "c", "a"]), &mut budget);
        assert_eq!((tally.records(), tally.remainder(), tally.unlisted_max()), (4, 1, 1));
        let counted = |a: u64| [("a".to_owned(), a), ("b".to_owned(), 1)];
        assert_eq!(counts(&tally), counted(2));
        // Values that are known take no memory.
        tally.add(chunk(&["a", "c"]), &mut budget);
        assert_eq!((tally.records(), tally.remainder()), (6, 2));
        assert_eq!(counts(&tally), counted(3));
    }

    #[test]
    fn a_frequent_value_that_comes_late_is_counted() {
        let mut budget = MemoryBudget::new(1 << 19);
        let mut tally = ValueTally::default();
        let mut late = 0;
        for n in 0..200 {
            let numbers: Vec<String> = (n * 100..n * 100 + 100).map(|n| n.to_string()).collect();
            let mut rows: Vec<&str> = numbers.iter().map(String::as_str).collect();
            if n >= 100 {
                rows.extend(["late"; 30]);
                late += 30;
            }
            tally.add(chunk(&rows), &mut budget);
        }
        let first = &tally.rows()[0];
        assert_eq!(first.value, b"late");
        assert!(first.count <= late && late <= first.count + first.uncounted_max);
        assert!(first.count > late / 2, "{first:?}");
        assert!(tally.unlisted_max() < tally.remainder() / 50, "{}", tally.unlisted_max());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// However little memory there is, the bounds include what a naive counter counts.
        #[test]
        fn bounds_hold_for_every_pair(
            records in prop::collection::vec((0u32..400, 0u32..4), 0..3_000),
            chunk_records in 1usize..500,
            bytes in prop_oneof![0usize..60_000, Just(1 << 20)],
        ) {
            let (mut budget, mut tally) = (MemoryBudget::new(bytes), ValueTally::default());
            let mut again = (MemoryBudget::new(bytes), ValueTally::default());
            let mut exact: BTreeMap<(String, String), u64> = BTreeMap::new();
            for records in records.chunks(chunk_records) {
                let [mut chunk, mut same] = [TallyChunk::default(), TallyChunk::default()];
                for (row, column) in records {
                    // The smaller the number, the more frequent.
                    let pair = ((row * row / 400).to_string(), column.to_string());
                    chunk.add(pair.0.as_bytes(), pair.1.as_bytes());
                    same.add(pair.0.as_bytes(), pair.1.as_bytes());
                    *exact.entry(pair).or_default() += 1;
                }
                tally.add(chunk, &mut budget);
                again.1.add(same, &mut again.0);
            }
            let mut counted = 0;
            for ((row, column), expected) in &exact {
                let (count, uncounted_max) = tally.count(row.as_bytes(), column.as_bytes());
                let most = if count > 0 { count + uncounted_max } else { tally.unlisted_max() };
                prop_assert!((count..=most).contains(expected));
                counted += count;
            }
            prop_assert_eq!(counted + tally.remainder(), tally.records());
            prop_assert_eq!(tally.records(), records.len() as u64);
            prop_assert_eq!((tally.rows(), tally.columns()), (again.1.rows(), again.1.columns()));
            prop_assert!(bytes < 1 << 20 || tally.remainder() == 0);
        }
    }

    #[test]
    fn a_tally_that_is_cleared_gives_back_its_memory() {
        let mut budget = MemoryBudget::new(8_000);
        let (mut tally, mut chunk) = (ValueTally::default(), TallyChunk::default());
        for (row, column) in [(b"a", b"x"), (b"a", b"y"), (b"b", b"x"), (b"a", b"x")] {
            chunk.add(row, column);
        }
        tally.add(chunk, &mut budget);
        assert!(budget.has(6_600) && !budget.has(6_700));
        tally.clear(&mut budget);
        assert!(budget.has(7_000));
        assert_eq!((tally.records(), tally.rows()), (4, Vec::new()));
    }
}
