//! The number of records with each pair of values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use weir_core::Dictionary;

use super::value_tally::TallyEntry;

/// The number of records with each pair of values of two fields, a row and a column of a table.
/// With one field, all columns are empty.
///
/// Values have ids, so a count takes a few bytes, and a pair that is already known takes no more
/// memory.
#[derive(Debug, Default)]
pub(super) struct PairCounts {
    rows: Dictionary,
    /// Without the empty value, whose id is [`EMPTY_COLUMN`].
    columns: Dictionary,
    /// The first cell of each row, by the id of the row less [`FIRST_ID`]. Most rows have no other.
    first_cells: Vec<Cell>,
    /// The count of each other cell, by the ids of its row and column.
    more_cells: HashMap<(u32, u32), u64, RandomState>,
    memory_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    column: u32,
    count: u64,
}

/// A pair of values by its ids, and the number of records with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PairCount {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) count: u64,
}

/// The lowest id of a value in a dictionary.
const FIRST_ID: u32 = 2;

/// The id of the empty column. No value of a dictionary has it.
const EMPTY_COLUMN: u32 = 0;

/// The memory of the first cell of a row, in an array with spare room.
const FIRST_CELL_BYTES: usize = 2 * size_of::<Cell>();

/// The memory of a row when all are put in order and printed, besides its text: a sum, an entry, and
/// its count in digits.
const OUTPUT_BYTES: usize = size_of::<(u64, u64)>() + size_of::<TallyEntry<'_>>() + 16;

/// The memory of another cell, in a table that is half full.
const CELL_BYTES: usize = 2 * (size_of::<((u32, u32), u64)>() + 1);

impl PairCounts {
    /// Adds records of a pair.
    #[inline]
    pub(super) fn add(&mut self, row: &[u8], column: &[u8], count: u64) {
        let row_id = self.row_id(row);
        let column_id = self.column_id(column);
        self.add_to_cell(row_id, column_id, count);
    }

    /// Adds all counts of `others`. Each value is looked up once.
    pub(super) fn add_all(&mut self, others: &Self) {
        let ids = |end: usize| FIRST_ID..end as u32;
        let rows: Vec<u32> = ids(others.rows.ids()).map(|id| self.row_id(others.row(id))).collect();
        let columns: Vec<u32> =
            ids(others.columns.ids()).map(|id| self.column_id(others.column(id))).collect();
        for PairCount { row, column, count } in others.pairs() {
            let column = match column {
                EMPTY_COLUMN => EMPTY_COLUMN,
                column => columns[(column - FIRST_ID) as usize],
            };
            self.add_to_cell(rows[(row - FIRST_ID) as usize], column, count);
        }
    }

    #[inline]
    fn row_id(&mut self, row: &[u8]) -> u32 {
        let id = self.rows.intern(row);
        if (id - FIRST_ID) as usize == self.first_cells.len() {
            self.first_cells.push(Cell { column: EMPTY_COLUMN, count: 0 });
            self.memory_bytes += row_bytes(row);
        }
        id
    }

    #[inline]
    fn column_id(&mut self, column: &[u8]) -> u32 {
        if column.is_empty() {
            return EMPTY_COLUMN;
        }
        let known = self.columns.ids();
        let id = self.columns.intern(column);
        if self.columns.ids() > known {
            self.memory_bytes += Dictionary::cost_bytes(column.len());
        }
        id
    }

    #[inline]
    fn add_to_cell(&mut self, row: u32, column: u32, count: u64) {
        let first = &mut self.first_cells[(row - FIRST_ID) as usize];
        if first.count == 0 {
            *first = Cell { column, count };
        } else if first.column == column {
            first.count += count;
        } else {
            self.add_to_other_cell(row, column, count);
        }
    }

    fn add_to_other_cell(&mut self, row: u32, column: u32, count: u64) {
        match self.more_cells.entry((row, column)) {
            Entry::Occupied(mut entry) => *entry.get_mut() += count,
            Entry::Vacant(entry) => {
                entry.insert(count);
                self.memory_bytes += CELL_BYTES;
            }
        }
    }

    /// Returns the ids of a pair, of which either value may be unknown.
    pub(super) fn find(&self, row: &[u8], column: &[u8]) -> [Option<u32>; 2] {
        let column = if column.is_empty() { Some(EMPTY_COLUMN) } else { self.columns.find(column) };
        [self.rows.find(row), column]
    }

    /// Returns the records of a pair of ids, 0 if it is not known.
    pub(super) fn count(&self, row: u32, column: u32) -> u64 {
        match self.first_cells.get(row.saturating_sub(FIRST_ID) as usize) {
            Some(cell) if cell.column == column => cell.count,
            _ => self.more_cells.get(&(row, column)).copied().unwrap_or(0),
        }
    }

    /// Returns the memory that a pair takes when it is added: 0 if it is known.
    pub(super) fn cost_bytes(&self, row: &[u8], column: &[u8]) -> usize {
        let ids = self.find(row, column);
        let column_bytes = match ids[1] {
            Some(_) => 0,
            None => Dictionary::cost_bytes(column.len()),
        };
        match ids {
            [Some(row), Some(column)] if self.count(row, column) > 0 => 0,
            [Some(_), _] => CELL_BYTES + column_bytes,
            [None, _] => row_bytes(row) + column_bytes,
        }
    }

    /// Returns all pairs, in the order of their rows' first records.
    pub(super) fn pairs(&self) -> impl Iterator<Item = PairCount> {
        let first = (FIRST_ID..).zip(&self.first_cells);
        let first =
            first.map(|(row, cell)| PairCount { row, column: cell.column, count: cell.count });
        let more = self.more_cells.iter();
        first.chain(more.map(|((row, column), count)| PairCount {
            row: *row,
            column: *column,
            count: *count,
        }))
    }

    /// Returns the row of this id.
    pub(super) fn row(&self, id: u32) -> &[u8] {
        self.rows.value(id).unwrap_or_default()
    }

    /// Returns the column of this id.
    pub(super) fn column(&self, id: u32) -> &[u8] {
        self.columns.value(id).unwrap_or_default()
    }

    /// Returns the numbers above the ids of all rows and of all columns.
    pub(super) fn id_ends(&self) -> [usize; 2] {
        [self.rows.ids(), self.columns.ids()]
    }

    /// Returns the memory charged for the pairs, in bytes. Adding them to other pairs takes at most
    /// this much more.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

/// The memory of a new row with its first cell, also while it is printed.
fn row_bytes(row: &[u8]) -> usize {
    Dictionary::cost_bytes(row.len()) + FIRST_CELL_BYTES + OUTPUT_BYTES + row.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::PairCounts;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counts_and_costs_are_those_of_a_naive_counter(
            records in prop::collection::vec(("[ab]{0,2}", "[ab]{0,2}", 1u64..4), 0..200),
        ) {
            let (mut pairs, mut exact) = (PairCounts::default(), BTreeMap::new());
            for (row, column, count) in &records {
                let [row, column] = [row.as_bytes(), column.as_bytes()];
                let bytes = pairs.memory_bytes() + pairs.cost_bytes(row, column);
                pairs.add(row, column, *count);
                prop_assert_eq!(pairs.memory_bytes(), bytes);
                prop_assert_eq!(pairs.cost_bytes(row, column), 0);
                *exact.entry((row, column)).or_insert(0) += count;
            }
            let mut copy = PairCounts::default();
            copy.add_all(&pairs);
            prop_assert_eq!(copy.memory_bytes(), pairs.memory_bytes());
            let all: Vec<_> = copy.pairs().collect();
            let pairs = copy;
            prop_assert_eq!(all.len(), exact.len());
            for pair in all {
                let key = (pairs.row(pair.row), pairs.column(pair.column));
                prop_assert_eq!(exact.get(&key), Some(&pair.count));
                prop_assert_eq!(pairs.find(key.0, key.1), [Some(pair.row), Some(pair.column)]);
                prop_assert_eq!(pairs.count(pair.row, pair.column), pair.count);
            }
        }
    }

    #[test]
    fn adding_pairs_takes_no_more_memory_than_they_have() {
        let (mut all, mut part) = (PairCounts::default(), PairCounts::default());
        all.add(b"a", b"x", 1);
        all.add(b"b", b"y", 1);
        part.add(b"a", b"y", 1);
        let most = all.memory_bytes() + part.memory_bytes();
        all.add_all(&part);
        assert_eq!(all.pairs().count(), 3);
        assert!(all.memory_bytes() <= most);
    }
}
