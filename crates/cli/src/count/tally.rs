//! Counts by value.

use std::collections::HashMap;

/// How many requests have each value, or each pair of values.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Requests that were counted.
    pub(super) records: u64,
    rows: HashMap<Vec<u8>, HashMap<Vec<u8>, u64>>,
}

/// A value and how many requests have it.
pub(super) type Share = (Vec<u8>, u64);

impl Tally {
    /// Counts a request; where there is one field only, `column` is empty.
    pub(super) fn add(&mut self, row: &[u8], column: &[u8]) {
        self.records += 1;
        // A value is copied only when it is new.
        let Some(columns) = self.rows.get_mut(row) else {
            let columns = HashMap::from([(column.to_vec(), 1)]);
            self.rows.insert(row.to_vec(), columns);
            return;
        };
        match columns.get_mut(column) {
            Some(count) => *count += 1,
            None => {
                columns.insert(column.to_vec(), 1);
            }
        }
    }

    /// Takes in another's counts.
    pub(super) fn merge(&mut self, other: Self) {
        self.records += other.records;
        for (row, columns) in other.rows {
            let own = self.rows.entry(row).or_default();
            for (column, count) in columns {
                *own.entry(column).or_default() += count;
            }
        }
    }

    /// The values of the first field, by count and then by value.
    pub(super) fn rows(&self) -> Vec<Share> {
        let shares = self.rows.iter().map(|(row, columns)| (row.clone(), columns.values().sum()));
        sorted(shares.collect())
    }

    /// The values of the second field, in the same order.
    pub(super) fn columns(&self) -> Vec<Share> {
        let mut totals: HashMap<&[u8], u64> = HashMap::new();
        for (column, count) in self.rows.values().flatten() {
            *totals.entry(column).or_default() += count;
        }
        sorted(totals.into_iter().map(|(column, count)| (column.to_vec(), count)).collect())
    }

    /// How many requests have both values.
    pub(super) fn count(&self, row: &[u8], column: &[u8]) -> u64 {
        self.rows.get(row).and_then(|columns| columns.get(column)).copied().unwrap_or(0)
    }
}

fn sorted(mut shares: Vec<Share>) -> Vec<Share> {
    shares.sort_by(|(one, count), (other, others)| others.cmp(count).then_with(|| one.cmp(other)));
    shares
}
