//! The distribution of a number in each group, for percentiles.
//!
//! A histogram for each group would take kilobytes for a value that occurs once, and a table of
//! groups and numbers an access to distant memory for each row. Instead, the rows are sorted by
//! group now and then, by counting, and a group is a slice of what was sorted:
//!
//! ```text
//! rows       (b, 12) (a, 3) (b, 12) (a, 5)
//! run        starts  a: 0, b: 2, end: 4
//!            codes   3 5 12 12
//! merged     starts  a: 0, b: 2, end: 3
//!            codes   3 5 12
//!            counts  1 1  2
//! ```
//!
//! Runs of similar length are merged, and equal numbers of a group are then counted. A row is so
//! merged a logarithmic number of times, and takes two bytes until then. Numbers are rounded to 11
//! significant bits ([`super::rounded`]), so a group of any size has few thousand of them.

use std::sync::Arc;

use super::rounded;
use crate::aggregate::visit::gather;
use crate::column::{Numbers, Selection};

/// The number of rows that are sorted at once. 24 MiB wait at most.
const WAITING_MAX: usize = 1 << 22;

#[derive(Debug, Clone, Default)]
pub(super) struct Distribution {
    /// The groups and codes of rows that are not in a run yet.
    groups: Vec<u32>,
    codes: Vec<u16>,
    /// Copies of a table share them.
    runs: Vec<Arc<Run>>,
    /// Divides all numbers; 0 before the first.
    unit: u64,
}

/// Rounded numbers, sorted by group.
#[derive(Debug, Default, PartialEq)]
struct Run {
    /// The place of the first number of each group, and the end of the last.
    starts: Vec<u32>,
    codes: Vec<u16>,
    /// How often each number occurs. Empty if all occur once; then a number may be repeated, in no
    /// order.
    counts: Vec<u32>,
}

impl Distribution {
    /// Adds the numbers of the selected rows. `buffer` is overwritten.
    pub(super) fn add(
        &mut self,
        groups: &[u32],
        numbers: &Numbers,
        selection: &Selection,
        buffer: &mut Vec<u16>,
    ) {
        let unit = numbers.whole_unit();
        self.unit = if self.unit == 0 { unit } else { self.unit.min(unit) };
        // A code above all others stands for an absent number.
        gather(numbers.codes(), selection, buffer, |code| {
            numbers.decode(code).map_or(u16::MAX, rounded::code)
        });
        if self.codes.len() + buffer.len() > WAITING_MAX {
            self.arrange();
        }
        if buffer.contains(&u16::MAX) {
            let present = groups.iter().zip(&*buffer).filter(|(_, code)| **code != u16::MAX);
            for (group, code) in present {
                self.groups.push(*group);
                self.codes.push(*code);
            }
        } else {
            self.groups.extend_from_slice(groups);
            self.codes.extend_from_slice(buffer);
        }
    }

    /// Sorts the waiting rows.
    pub(super) fn arrange(&mut self) {
        let (groups, codes) = (std::mem::take(&mut self.groups), std::mem::take(&mut self.codes));
        if !codes.is_empty() {
            self.push(Arc::new(Run::sorted(&groups, &codes, &[])));
        }
    }

    /// Returns whether rows wait to be sorted.
    pub(super) fn waits(&self) -> bool {
        !self.codes.is_empty()
    }

    /// Adds a run, and merges those that are not much longer than the next one.
    fn push(&mut self, run: Arc<Run>) {
        let mut run = run;
        // Runs of a few threads wait for one another, because an answer needs no merged ones.
        while self.runs.len() >= Self::UNMERGED_MAX
            && self.runs.last().is_some_and(|last| last.codes.len() <= 2 * run.codes.len())
        {
            let last = self.runs.pop().unwrap_or_default();
            run = Arc::new(Run::merged(&last, &run));
        }
        self.runs.push(run);
    }

    /// The number of runs from which they are merged.
    const UNMERGED_MAX: usize = 8;

    /// Adds the numbers of another distribution, whose groups have these numbers here.
    pub(super) fn merge(&mut self, other: &Self, renumbered: Option<&[u32]>) {
        self.unit = match (self.unit, other.unit) {
            (0, unit) | (unit, 0) => unit,
            (own, other) => own.min(other),
        };
        let new_number = |group: u32| renumbered.map_or(group, |numbers| numbers[group as usize]);
        for run in &other.runs {
            let run = if renumbered.is_some() {
                Arc::new(run.renumbered(new_number))
            } else {
                run.clone()
            };
            self.push(run);
        }
        self.groups.extend(other.groups.iter().map(|group| new_number(*group)));
        self.codes.extend_from_slice(&other.codes);
        if self.codes.len() > WAITING_MAX {
            self.arrange();
        }
    }

    /// Returns the quantiles of a group. The waiting rows must have been sorted.
    pub(super) fn quantiles(&self, group: u32, qs: &[f64]) -> Option<Vec<u64>> {
        debug_assert!(self.codes.is_empty(), "rows are arranged before they are asked for");
        let mut gathered = Gathered::default();
        gathered.gather(&self.runs, group);
        let values = qs.iter().map(|q| Some(rounded::number(gathered.quantile(*q)?, self.unit)));
        values.collect()
    }

    /// Returns a quantile of each of many groups. The waiting rows must have been sorted.
    pub(super) fn quantile_of_each(&self, groups: &[u32], q: f64) -> Vec<Option<u64>> {
        debug_assert!(self.codes.is_empty(), "rows are arranged before they are asked for");
        let mut gathered = Gathered::default();
        let quantile = |group: &u32| {
            gathered.gather(&self.runs, *group);
            Some(rounded::number(gathered.quantile(q)?, self.unit))
        };
        groups.iter().map(quantile).collect()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let runs = self.runs.iter().map(|run| run.memory_bytes());
        self.groups.capacity() * 4 + self.codes.capacity() * 2 + runs.sum::<usize>()
    }
}

/// The numbers of one group from all runs.
#[derive(Debug, Default)]
struct Gathered {
    /// Each occurs once.
    single: Vec<u16>,
    /// In order once a quantile was asked for.
    counted: Vec<(u16, u64)>,
    count: u64,
}

impl Gathered {
    fn gather(&mut self, runs: &[Arc<Run>], group: u32) {
        self.single.clear();
        self.counted.clear();
        for run in runs {
            let range = run.range(group);
            let codes = &run.codes[range.clone()];
            match run.counts.get(range) {
                Some(counts) if !run.counts.is_empty() => {
                    let counts = counts.iter().map(|count| u64::from(*count));
                    self.counted.extend(codes.iter().copied().zip(counts));
                }
                _ => self.single.extend_from_slice(codes),
            }
        }
        if !self.counted.is_empty() {
            self.counted.extend(self.single.drain(..).map(|code| (code, 1)));
            self.counted.sort_unstable();
        }
        let counted = self.counted.iter().map(|(_, count)| count).sum::<u64>();
        self.count = self.single.len() as u64 + counted;
    }

    fn quantile(&mut self, q: f64) -> Option<u16> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        if !self.single.is_empty() {
            let (_, code, _) = self.single.select_nth_unstable(rank as usize - 1);
            return Some(*code);
        }
        let mut below = 0;
        let reaches = |(_, count): &&(u16, u64)| {
            below += count;
            below >= rank
        };
        self.counted.iter().find(reaches).map(|(code, _)| *code)
    }
}

impl Run {
    /// Sorts numbers by their groups. `counts` is empty if each occurs once.
    fn sorted(groups: &[u32], codes: &[u16], counts: &[u32]) -> Self {
        let most = groups.iter().max().map_or(0, |group| *group as usize + 1);
        let mut starts = vec![0u32; most + 1];
        groups.iter().for_each(|group| starts[*group as usize + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // Each place moves up to the start of the next group.
        let mut places = starts.clone();
        let mut sorted = vec![0; codes.len()];
        let mut sorted_counts = vec![0; counts.len()];
        for (index, (group, code)) in groups.iter().zip(codes).enumerate() {
            let place = &mut places[*group as usize];
            sorted[*place as usize] = *code;
            if let Some(count) = counts.get(index) {
                sorted_counts[*place as usize] = *count;
            }
            *place += 1;
        }
        Self { starts, codes: sorted, counts: sorted_counts }
    }

    /// Merges two runs, and counts the equal numbers of each group.
    fn merged(one: &Self, other: &Self) -> Self {
        let groups = one.starts.len().max(other.starts.len()).saturating_sub(1);
        let mut merged =
            Self { starts: Vec::with_capacity(groups + 1), codes: Vec::new(), counts: Vec::new() };
        merged.starts.push(0);
        let mut numbers: Vec<(u16, u32)> = Vec::new();
        for group in 0..groups as u32 {
            numbers.clear();
            for run in [one, other] {
                let range = run.range(group);
                let count = |place: usize| run.counts.get(place).copied().unwrap_or(1);
                numbers.extend(range.map(|place| (run.codes[place], count(place))));
            }
            numbers.sort_unstable_by_key(|(code, _)| *code);
            merged.push_group(&numbers);
        }
        merged.codes.shrink_to_fit();
        merged.counts.shrink_to_fit();
        merged
    }

    /// Adds the numbers of the next group, in order.
    fn push_group(&mut self, numbers: &[(u16, u32)]) {
        let start = self.codes.len();
        for (code, count) in numbers {
            let is_same = self.codes.len() > start && self.codes.last() == Some(code);
            let sum =
                self.counts.last().filter(|_| is_same).and_then(|last| last.checked_add(*count));
            match (sum, self.counts.last_mut()) {
                (Some(sum), Some(last)) => *last = sum,
                // A number that occurs more than 2^32 times has several places.
                _ => {
                    self.codes.push(*code);
                    self.counts.push(*count);
                }
            }
        }
        self.starts.push(self.codes.len() as u32);
    }

    /// Returns the run with other numbers of the groups. Several may become one.
    fn renumbered(&self, new_number: impl Fn(u32) -> u32) -> Self {
        let mut groups = Vec::with_capacity(self.codes.len());
        for group in 0..self.starts.len().saturating_sub(1) as u32 {
            groups.extend(self.range(group).map(|_| new_number(group)));
        }
        Self::sorted(&groups, &self.codes, &self.counts)
    }

    fn range(&self, group: u32) -> std::ops::Range<usize> {
        let place = group as usize;
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.codes.capacity() * 2 + self.counts.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arc, Distribution, Run, rounded};

    /// Runs over these rows, cut at every `step` rows.
    fn in_steps(rows: &[(u32, u64)], step: usize) -> Distribution {
        let mut distribution = Distribution { unit: 1, ..Distribution::default() };
        for part in rows.chunks(step) {
            let groups: Vec<u32> = part.iter().map(|(group, _)| *group).collect();
            let codes: Vec<u16> = part.iter().map(|(_, number)| rounded::code(*number)).collect();
            distribution.push(Arc::new(Run::sorted(&groups, &codes, &[])));
        }
        distribution
    }

    /// The definition: the smallest number that is at least as large as `q` of them.
    fn naive(rows: &[(u32, u64)], group: u32, q: f64) -> Option<u64> {
        let own = rows.iter().filter(|(own, _)| *own == group);
        let mut numbers: Vec<u64> = own.map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        let rank = ((q * numbers.len() as f64).ceil() as usize).max(1);
        numbers.get(rank - 1).copied()
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_rows(
            rows in prop::collection::vec((0u32..5, prop_oneof![0u64..50, any::<u64>()]), 0..300),
            step in 1usize..40,
        ) {
            let distribution = in_steps(&rows, step);
            for group in 0..6 {
                for q in [0.0, 0.5, 0.95, 1.0] {
                    let exact = naive(&rows, group, q);
                    let own = distribution.quantiles(group, &[q]).map(|quantiles| quantiles[0]);
                    prop_assert_eq!(own.map(rounded::code), exact.map(rounded::code));
                    prop_assert_eq!(distribution.quantile_of_each(&[group], q), vec![own]);
                }
            }
        }

        #[test]
        fn renumbered_groups_keep_their_numbers(
            rows in prop::collection::vec((0u32..4, 0u64..2_000), 0..200),
            step in 1usize..40,
        ) {
            let mut merged = Distribution::default();
            merged.merge(&in_steps(&rows, step), Some(&[2, 0, 1, 1]));
            let moved: Vec<(u32, u64)> =
                rows.iter().map(|(group, number)| ([2, 0, 1, 1][*group as usize], *number)).collect();
            for group in 0..4 {
                let exact = naive(&moved, group, 0.75);
                prop_assert_eq!(merged.quantile_of_each(&[group], 0.75), vec![exact]);
            }
        }
    }
}
