//! Counts by value.

use super::row_values::RowValues;
use crate::column::{ABSENT, Codes, Dictionary};
use crate::filter::Selection;

/// What is counted for one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records.
    pub count: u64,
    /// Sum of their response sizes in bytes.
    pub bytes_sent: u64,
    /// Those with a status of 400 to 599.
    pub errors: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.errors += other.errors;
    }
}

/// Counts by value of one text column: dictionary ids are dense, so this is an array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopList {
    tallies: Vec<Tally>,
}

impl TopList {
    /// Adds the selected rows of a column.
    pub(super) fn update(&mut self, codes: &Codes, selection: &Selection, rows: &RowValues) {
        if let Codes::Constant { code, .. } = codes {
            self.cover(*code as usize);
            self.tallies[*code as usize].add(rows.sum);
            return;
        }
        // Made large enough once, so that the loop over the rows does nothing but add.
        self.cover(codes.max() as usize);
        let tallies = &mut self.tallies[..];
        let mut values = rows.bytes.iter().zip(&rows.error);
        codes.for_each(selection, |id| {
            let Some((bytes_sent, error)) = values.next() else { return };
            let errors = u64::from(*error);
            tallies[id as usize].add(Tally { count: 1, bytes_sent: *bytes_sent, errors });
        });
    }

    /// Adds another list of the same column.
    pub fn merge(&mut self, other: &Self) {
        if let Some(last) = other.tallies.len().checked_sub(1) {
            self.cover(last);
        }
        for (tally, other) in self.tallies.iter_mut().zip(&other.tallies) {
            tally.add(*other);
        }
    }

    /// The number of distinct values; records without the field do not count.
    pub fn distinct(&self) -> u64 {
        let counted = self.tallies.iter().skip(ABSENT as usize + 1);
        counted.filter(|tally| tally.count > 0).count() as u64
    }

    /// What was counted for a value.
    pub fn tally(&self, id: u32) -> Tally {
        self.tallies.get(id as usize).copied().unwrap_or_default()
    }

    /// The ids of the `n` values with the highest counts; equal counts in the order of the
    /// values' bytes.
    pub fn top(&self, n: usize, dictionary: &Dictionary) -> Vec<u32> {
        let mut ids: Vec<u32> = (ABSENT + 1..self.tallies.len() as u32)
            .filter(|id| self.tally(*id).count > 0)
            .collect();
        let order = |a: &u32, b: &u32| {
            let counts = self.tally(*b).count.cmp(&self.tally(*a).count);
            counts.then_with(|| dictionary.value(*a).cmp(&dictionary.value(*b)))
        };
        if ids.len() > n && n > 0 {
            ids.select_nth_unstable_by(n - 1, order);
        }
        ids.truncate(n);
        ids.sort_unstable_by(order);
        ids
    }

    /// Makes room for an id.
    fn cover(&mut self, id: usize) {
        if id >= self.tallies.len() {
            self.tallies.resize((id + 1).next_power_of_two(), Tally::default());
        }
    }
}
