//! Counts records by the values of one field or two, in a part of the log.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use weir_core::{ABSENT, Dictionary};

/// The number of records with each value of a field, or with each pair of values of two, a row and
/// a column of a table. Exact; its memory grows with the number of different values.
///
/// Values have ids, so a count takes a few bytes. With one field, all columns are empty.
#[derive(Debug, Default)]
pub struct TallyChunk {
    pub(super) records: u64,
    /// Without the empty value, whose id is [`ABSENT`].
    pub(super) rows: Dictionary,
    /// Without the empty value, too.
    pub(super) columns: Dictionary,
    pub(super) counts: HashMap<PairIds, u64, RandomState>,
}

/// The ids of a row and of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PairIds {
    pub(super) row: u32,
    pub(super) column: u32,
}

/// A row and a column.
pub(super) type Pair<'a> = (&'a [u8], &'a [u8]);

/// The memory of the count of a pair, in a table that is half full.
const PAIR_BYTES: usize = 2 * size_of::<(PairIds, u64)>();

impl TallyChunk {
    /// Counts a record. With one field only, `column` is empty.
    #[inline]
    pub fn add(&mut self, row: &[u8], column: &[u8]) {
        self.records += 1;
        self.add_pair((row, column), 1);
    }

    /// Returns the memory taken, in bytes. Adding the pairs to others takes at most this much more.
    pub fn memory_bytes(&self) -> usize {
        self.rows.charge_bytes() + self.columns.charge_bytes() + self.counts.len() * PAIR_BYTES
    }

    /// Adds to the count of a pair. Returns its ids.
    #[inline]
    pub(super) fn add_pair(&mut self, (row, column): Pair<'_>, count: u64) -> PairIds {
        let ids = PairIds { row: id(&mut self.rows, row), column: id(&mut self.columns, column) };
        *self.counts.entry(ids).or_default() += count;
        ids
    }

    /// Adds the counts of all pairs of another chunk. Each value is looked up once.
    pub(super) fn add_pairs(&mut self, other: &Self) {
        let rows = ids_of_all(&mut self.rows, &other.rows);
        let columns = ids_of_all(&mut self.columns, &other.columns);
        for (ids, count) in &other.counts {
            let (row, column) = (rows[ids.row as usize], columns[ids.column as usize]);
            *self.counts.entry(PairIds { row, column }).or_default() += count;
        }
    }

    /// Returns the values of a pair.
    pub(super) fn pair(&self, ids: PairIds) -> Pair<'_> {
        let row = self.rows.value(ids.row).unwrap_or_default();
        (row, self.columns.value(ids.column).unwrap_or_default())
    }

    /// Returns the ids of a pair and its count, if it is known.
    pub(super) fn find(&self, (row, column): Pair<'_>) -> Option<(PairIds, u64)> {
        let ids =
            PairIds { row: known_id(&self.rows, row)?, column: known_id(&self.columns, column)? };
        Some((ids, *self.counts.get(&ids)?))
    }

    /// Returns the memory that a pair takes when it is added: 0 if it is known.
    pub(super) fn cost_bytes(&self, pair: Pair<'_>) -> usize {
        match self.find(pair) {
            Some(_) => 0,
            None => {
                PAIR_BYTES + value_bytes(&self.rows, pair.0) + value_bytes(&self.columns, pair.1)
            }
        }
    }
}

#[inline]
fn id(values: &mut Dictionary, value: &[u8]) -> u32 {
    if value.is_empty() { ABSENT } else { values.intern(value) }
}

fn known_id(values: &Dictionary, value: &[u8]) -> Option<u32> {
    if value.is_empty() { Some(ABSENT) } else { values.find(value) }
}

/// Returns the memory that a value takes when it is added.
fn value_bytes(values: &Dictionary, value: &[u8]) -> usize {
    match known_id(values, value) {
        Some(_) => 0,
        None => Dictionary::cost_bytes(value.len()),
    }
}

/// Returns the ids that all values of other ids have, by these.
fn ids_of_all(values: &mut Dictionary, others: &Dictionary) -> Vec<u32> {
    let other_ids = 0..others.ids() as u32;
    other_ids.map(|other| id(values, others.value(other).unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::TallyChunk;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counts_and_costs_are_those_of_a_naive_counter(
            records in prop::collection::vec(("[ab]{0,2}", "[ab]{0,2}", 1u64..4), 0..200),
        ) {
            let (mut chunk, mut exact) = (TallyChunk::default(), BTreeMap::new());
            for (row, column, count) in &records {
                let pair = (row.as_bytes(), column.as_bytes());
                let bytes = chunk.memory_bytes() + chunk.cost_bytes(pair);
                let ids = chunk.add_pair(pair, *count);
                prop_assert_eq!(chunk.memory_bytes(), bytes);
                prop_assert_eq!(chunk.cost_bytes(pair), 0);
                prop_assert_eq!(chunk.pair(ids), pair);
                *exact.entry(pair).or_insert(0) += count;
            }
            let mut copy = TallyChunk::default();
            copy.add_pairs(&chunk);
            prop_assert_eq!(copy.memory_bytes(), chunk.memory_bytes());
            prop_assert_eq!(copy.counts.len(), exact.len());
            for (pair, count) in exact {
                let found = copy.find(pair).map(|(ids, count)| (copy.pair(ids), count));
                prop_assert_eq!(found, Some((pair, count)));
            }
        }
    }

    #[test]
    fn adding_pairs_takes_no_more_memory_than_they_have() {
        let (mut all, mut part) = (TallyChunk::default(), TallyChunk::default());
        all.add(b"a", b"x");
        all.add(b"b", b"y");
        part.add(b"a", b"y");
        let most = all.memory_bytes() + part.memory_bytes();
        all.add_pairs(&part);
        assert_eq!(all.counts.len(), 3);
        assert!(all.memory_bytes() <= most);
    }
}
