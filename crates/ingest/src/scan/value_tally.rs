//! Counts records by the values of one field or two.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use weir_core::LateValues;

use super::memory_budget::MemoryBudget;

/// The memory of a value in addition to its bytes: its slot in a table with spare room, and the
/// table of the second field's values.
const ROW_BYTES: usize = 224;
const CELL_BYTES: usize = 80;

/// The records with a pair of values.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    count: u64,
    /// The largest number of further records that are counted in the remainder.
    uncounted_max: u64,
}

/// The counts of the values of the second field, for one value of the first.
type Columns = HashMap<Vec<u8>, Cell, RandomState>;
type Rows = HashMap<Vec<u8>, Columns, RandomState>;

/// The number of records with each value of a field, or with each pair of values of two, in a
/// part of the log. Exact; its memory grows with the number of different values.
#[derive(Debug, Default)]
pub struct TallyChunk {
    records: u64,
    rows: Rows,
    memory_bytes: usize,
}

/// The same for a whole log, in bounded memory.
///
/// When the [`MemoryBudget`] is used up, records with new values are only counted together, in the
/// remainder. Frequent ones among these values are found all the same and counted from then on; see
/// [`LateValues`]. If chunks of the same records come in the same order, tallies are equal.
#[derive(Debug, Default)]
pub struct ValueTally {
    records: u64,
    remainder: u64,
    rows: Rows,
    /// The bytes that were taken from the budget.
    memory_bytes: usize,
    /// Pairs of values that came when the memory was used up; `None` before.
    late: Option<Late>,
}

#[derive(Debug)]
struct Late {
    /// `None` if there is no memory to count them.
    values: Option<LateValues>,
    state: RandomState,
}

/// A value and the number of records with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyEntry {
    /// The value.
    pub value: Vec<u8>,
    /// The records with it.
    pub count: u64,
    /// The largest number of further records with it that are counted in the remainder; 0 if the
    /// count is exact.
    pub uncounted_max: u64,
}

impl TallyChunk {
    /// Counts a record. With one field only, `column` is empty.
    pub fn add(&mut self, row: &[u8], column: &[u8]) {
        self.records += 1;
        // A value is copied only when it is new.
        let Some(columns) = self.rows.get_mut(row) else {
            self.memory_bytes += row_bytes(row) + cell_bytes(column);
            let cell = Cell { count: 1, uncounted_max: 0 };
            self.rows.insert(row.to_vec(), Columns::from_iter([(column.to_vec(), cell)]));
            return;
        };
        match columns.get_mut(column) {
            Some(cell) => cell.count += 1,
            None => {
                self.memory_bytes += cell_bytes(column);
                columns.insert(column.to_vec(), Cell { count: 1, uncounted_max: 0 });
            }
        }
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl ValueTally {
    /// Adds the counts of a chunk.
    pub fn add(&mut self, chunk: TallyChunk, budget: &mut MemoryBudget) {
        self.records += chunk.records;
        if self.late.is_none() && budget.has(chunk.memory_bytes) {
            self.add_rows(chunk.rows, budget);
            return;
        }
        // The order decides which values find room, so it must be the same in every run.
        let cells = chunk.rows.into_iter().flat_map(|(row, columns)| {
            columns.into_iter().map(move |(column, cell)| (row.clone(), column, cell.count))
        });
        let mut cells: Vec<_> = cells.collect();
        cells.sort_unstable_by(|(row, column, count), (other_row, other_column, other)| {
            (Reverse(count), row, column).cmp(&(Reverse(other), other_row, other_column))
        });
        for (row, column, count) in cells {
            self.add_cell(row, column, count, budget);
        }
    }

    /// Adds counts for all of which there is memory.
    fn add_rows(&mut self, rows: Rows, budget: &mut MemoryBudget) {
        let mut added = 0;
        for (row, columns) in rows {
            let own = match self.rows.entry(row) {
                Entry::Vacant(entry) => {
                    added += row_bytes(entry.key());
                    added += columns.keys().map(|column| cell_bytes(column)).sum::<usize>();
                    entry.insert(columns);
                    continue;
                }
                Entry::Occupied(entry) => entry.into_mut(),
            };
            for (column, cell) in columns {
                match own.get_mut(&column) {
                    Some(known) => known.count += cell.count,
                    None => {
                        added += cell_bytes(&column);
                        own.insert(column, cell);
                    }
                }
            }
        }
        self.memory_bytes += added;
        budget.take(added);
    }

    fn add_cell(&mut self, row: Vec<u8>, column: Vec<u8>, count: u64, budget: &mut MemoryBudget) {
        let columns = self.rows.get_mut(&row);
        let is_new_row = columns.is_none();
        if let Some(cell) = columns.and_then(|columns| columns.get_mut(&column)) {
            cell.count += count;
            return;
        }
        let bytes = cell_bytes(&column) + if is_new_row { row_bytes(&row) } else { 0 };
        let uncounted_max = if budget.take(bytes) {
            self.memory_bytes += bytes;
            Some(self.late.as_mut().map_or(0, |late| late.forget(&row, &column)))
        } else {
            let late = self.late.get_or_insert_with(|| Late::new(budget.reserve_of_tally()));
            late.offer(&row, &column, count, bytes)
        };
        match uncounted_max {
            Some(uncounted_max) => {
                let cell = Cell { count, uncounted_max };
                self.rows.entry(row).or_default().insert(column, cell);
            }
            None => self.remainder += count,
        }
    }

    /// Drops all counts, except that of the records.
    pub fn clear(&mut self, budget: &mut MemoryBudget) {
        budget.give_back(self.memory_bytes);
        *self = Self { records: self.records, ..Self::default() };
    }

    /// The number of all records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of records among them that are only counted together, because their values came
    /// after the memory was used up.
    pub fn remainder(&self) -> u64 {
        self.remainder
    }

    /// The largest number of records that a value, or a pair of values, without an entry can have.
    pub fn unlisted_max(&self) -> u64 {
        let late = self.late.as_ref().and_then(|late| late.values.as_ref());
        late.map_or(self.remainder, |late| late.records_max().min(self.remainder))
    }

    /// The values of the first field, by count and then by value.
    pub fn rows(&self) -> Vec<TallyEntry> {
        sorted(self.rows.iter().map(|(row, columns)| self.entry(row, columns.values())).collect())
    }

    /// The values of the second field, in the same order.
    pub fn columns(&self) -> Vec<TallyEntry> {
        let mut cells: HashMap<&[u8], Vec<&Cell>, RandomState> = HashMap::default();
        for (column, cell) in self.rows.values().flatten() {
            cells.entry(column).or_default().push(cell);
        }
        let entry = |(column, cells): (&[u8], Vec<&Cell>)| self.entry(column, cells.into_iter());
        sorted(cells.into_iter().map(entry).collect())
    }

    /// The number of records with both values, and how many more there may be.
    pub fn count(&self, row: &[u8], column: &[u8]) -> (u64, u64) {
        let cell = self.rows.get(row).and_then(|columns| columns.get(column)).copied();
        let Cell { count, uncounted_max } = cell.unwrap_or_default();
        (count, uncounted_max.min(self.remainder))
    }

    fn entry<'a>(&self, value: &[u8], cells: impl Iterator<Item = &'a Cell>) -> TallyEntry {
        let mut entry = TallyEntry { value: value.to_vec(), count: 0, uncounted_max: 0 };
        for cell in cells {
            entry.count += cell.count;
            entry.uncounted_max = entry.uncounted_max.saturating_add(cell.uncounted_max);
        }
        entry.uncounted_max = entry.uncounted_max.min(self.remainder);
        entry
    }
}

impl Late {
    fn new(bytes: usize) -> Self {
        Self { values: LateValues::with_memory(bytes), state: RandomState::default() }
    }

    /// See [`LateValues::offer`].
    fn offer(&mut self, row: &[u8], column: &[u8], records: u64, bytes: usize) -> Option<u64> {
        let fingerprint = self.state.hash_one((row, column));
        self.values.as_mut()?.offer(fingerprint, records, bytes)
    }

    /// See [`LateValues::forget`]. Without counters any number of records may be missing.
    fn forget(&mut self, row: &[u8], column: &[u8]) -> u64 {
        let fingerprint = self.state.hash_one((row, column));
        self.values.as_mut().map_or(u64::MAX, |values| values.forget(fingerprint))
    }
}

fn row_bytes(row: &[u8]) -> usize {
    row.len() + ROW_BYTES
}

fn cell_bytes(column: &[u8]) -> usize {
    column.len() + CELL_BYTES
}

fn sorted(mut entries: Vec<TallyEntry>) -> Vec<TallyEntry> {
    entries.sort_by(|one, other| {
        (Reverse(one.count), &one.value).cmp(&(Reverse(other.count), &other.value))
    });
    entries
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
        let text = |entry: TallyEntry| (String::from_utf8(entry.value).unwrap(), entry.count);
        tally.rows().into_iter().map(text).collect()
    }

    #[test]
    fn new_values_without_memory_are_counted_together() {
        let mut budget = MemoryBudget::new(800);
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
        let mut budget = MemoryBudget::new(1 << 20);
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
            records in prop::collection::vec((0u32..40, 0u32..4), 0..3_000),
            chunk_records in 1usize..500,
            bytes in prop_oneof![0usize..30_000, Just(1 << 20)],
        ) {
            let (mut budget, mut tally) = (MemoryBudget::new(bytes), ValueTally::default());
            let mut again = (MemoryBudget::new(bytes), ValueTally::default());
            let mut exact: BTreeMap<(String, String), u64> = BTreeMap::new();
            for records in records.chunks(chunk_records) {
                let [mut chunk, mut same] = [TallyChunk::default(), TallyChunk::default()];
                for (row, column) in records {
                    // The smaller the number, the more frequent.
                    let pair = ((row * row / 40).to_string(), column.to_string());
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
        assert!(budget.has(6_000) && !budget.has(7_000));
        tally.clear(&mut budget);
        assert!(budget.has(7_000));
        assert_eq!((tally.records(), tally.rows()), (4, Vec::new()));
    }
}
