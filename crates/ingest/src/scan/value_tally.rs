//! Counts records by the values of one field or two.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use super::memory_budget::MemoryBudget;

/// The memory of a value in addition to its bytes: its slot in a table with spare room, and the
/// table of the second field's values.
const ROW_BYTES: usize = 224;
const CELL_BYTES: usize = 80;

/// The counts of the values of the second field, for one value of the first.
type Columns = HashMap<Vec<u8>, u64, RandomState>;

/// The number of records with each value of a field, or with each pair of values of two.
#[derive(Debug, Default)]
pub struct ValueTally {
    /// The number of all records.
    pub records: u64,
    /// The number of records among them whose values came after the memory was used up.
    pub remainder: u64,
    rows: HashMap<Vec<u8>, Columns, RandomState>,
}

/// A value and the number of records with it.
pub type TallyEntry = (Vec<u8>, u64);

impl ValueTally {
    /// Counts a record. With one field only, `column` is empty. A new value takes memory.
    pub fn add(&mut self, row: &[u8], column: &[u8], memory: &MemoryBudget) {
        self.records += 1;
        // A value is copied only when it is new.
        let Some(columns) = self.rows.get_mut(row) else {
            if memory.take(row_bytes(row) + cell_bytes(column)) {
                let columns = Columns::from_iter([(column.to_vec(), 1)]);
                self.rows.insert(row.to_vec(), columns);
            } else {
                self.remainder += 1;
            }
            return;
        };
        match columns.get_mut(column) {
            Some(count) => *count += 1,
            None if memory.take(cell_bytes(column)) => {
                columns.insert(column.to_vec(), 1);
            }
            None => self.remainder += 1,
        }
    }

    /// Drops the counts and gives back their memory.
    pub fn release(self, memory: &MemoryBudget) {
        for (row, columns) in &self.rows {
            memory.give_back(row_bytes(row));
            columns.keys().for_each(|column| memory.give_back(cell_bytes(column)));
        }
    }

    /// Adds the counts of another tally, and releases the memory of values that both have.
    pub fn merge(&mut self, other: Self, memory: &MemoryBudget) {
        self.records += other.records;
        self.remainder += other.remainder;
        if self.rows.is_empty() {
            self.rows = other.rows;
            return;
        }
        for (row, columns) in other.rows {
            let own = match self.rows.entry(row) {
                Entry::Vacant(entry) => {
                    entry.insert(columns);
                    continue;
                }
                Entry::Occupied(entry) => {
                    memory.give_back(row_bytes(entry.key()));
                    entry.into_mut()
                }
            };
            for (column, count) in columns {
                match own.entry(column) {
                    Entry::Vacant(entry) => {
                        entry.insert(count);
                    }
                    Entry::Occupied(mut entry) => {
                        memory.give_back(cell_bytes(entry.key()));
                        *entry.get_mut() += count;
                    }
                }
            }
        }
    }

    /// The values of the first field, by count and then by value.
    pub fn rows(&self) -> Vec<TallyEntry> {
        let counts = self.rows.iter().map(|(row, columns)| (row.clone(), columns.values().sum()));
        sorted(counts.collect())
    }

    /// The values of the second field, in the same order.
    pub fn columns(&self) -> Vec<TallyEntry> {
        let mut totals: HashMap<&[u8], u64, RandomState> = HashMap::default();
        for (column, count) in self.rows.values().flatten() {
            *totals.entry(column).or_default() += count;
        }
        sorted(totals.into_iter().map(|(column, count)| (column.to_vec(), count)).collect())
    }

    /// The number of records with both values.
    pub fn count(&self, row: &[u8], column: &[u8]) -> u64 {
        self.rows.get(row).and_then(|columns| columns.get(column)).copied().unwrap_or(0)
    }
}

fn row_bytes(row: &[u8]) -> usize {
    row.len() + ROW_BYTES
}

fn cell_bytes(column: &[u8]) -> usize {
    column.len() + CELL_BYTES
}

fn sorted(mut counts: Vec<TallyEntry>) -> Vec<TallyEntry> {
    counts.sort_by(|(one, count), (other, others)| others.cmp(count).then_with(|| one.cmp(other)));
    counts
}

#[cfg(test)]
mod tests {
    use super::ValueTally;
    use crate::MemoryBudget;

    #[test]
    fn new_values_without_memory_are_counted_together() {
        let memory = MemoryBudget::new(700);
        let mut tally = ValueTally::default();
        for row in [b"a", b"b", b"c", b"a"] {
            tally.add(row, b"", &memory);
        }
        assert_eq!((tally.records, tally.remainder), (4, 1));
        assert_eq!(tally.rows(), [(b"a".to_vec(), 2), (b"b".to_vec(), 1)]);
        // The memory of a value that both have is given back.
        let mut other = ValueTally::default();
        let more = MemoryBudget::new(1_000);
        other.add(b"a", b"", &more);
        tally.merge(other, &memory);
        tally.add(b"c", b"", &memory);
        assert_eq!((tally.records, tally.remainder), (6, 1));
    }

    #[test]
    fn a_tally_that_is_released_gives_back_its_memory() {
        let memory = MemoryBudget::new(1_000);
        let mut tally = ValueTally::default();
        for (row, column) in [(b"a", b"x"), (b"a", b"y"), (b"b", b"x"), (b"a", b"x")] {
            tally.add(row, column, &memory);
        }
        assert!(!memory.take(1_000));
        tally.release(&memory);
        assert!(memory.take(1_000) && !memory.take(1));
    }
}
