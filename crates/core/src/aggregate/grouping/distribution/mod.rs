//! The distribution of a number in each group, for percentiles.
//!
//! A histogram for each group would take kilobytes for a value that occurs once, and a table of
//! groups and numbers an access to distant memory for each row. Instead, rows are kept as they come
//! ([`rows`]). If they are many, they are sorted by group, by counting, and a group is a slice of
//! what was sorted ([`run`]):
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
//!
//! Few groups are shown. Which of them lead is found from few rows ([`leading`]), and the quantiles
//! of a few groups by one look at each row, so most answers sort nothing.

mod leading;
mod rows;
mod run;

use std::sync::Arc;

use super::rounded;
use crate::aggregate::visit::gather;
use crate::column::{Numbers, Selection};
use rows::Rows;
use run::Run;

/// The number of rows of one thread that are kept unsorted: 24 MiB.
const ROWS_MAX: usize = 1 << 22;

/// The number of rows of all threads that are kept unsorted: 96 MiB.
const MERGED_ROWS_MAX: usize = 1 << 24;

/// The number of pieces of unsorted rows. Each answer over a growing log adds one or a few.
const PARTS_MAX: usize = 128;

/// The number of groups up to which every row is compared with them.
const FEW_GROUPS: usize = 64;

/// The share of the rows with which a search for leading groups begins.
const LEADING_SHARE: f64 = 1.0 / 256.0;

#[derive(Debug, Clone, Default)]
pub(super) struct Distribution {
    /// Rows that are added.
    rows: Rows,
    /// Rows that were added before. Copies of a table share them, and the runs.
    parts: Vec<Arc<Rows>>,
    runs: Vec<Arc<Run>>,
    /// Divides all numbers; 0 before the first.
    unit: u64,
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
        gather(numbers.codes(), selection, buffer, |code| {
            numbers.decode(code).map_or(Rows::NO_NUMBER, rounded::code)
        });
        if self.rows.len() + buffer.len() > ROWS_MAX {
            self.sort();
        }
        self.rows.extend(groups, buffer);
    }

    /// Puts the rows into a form that copies share.
    pub(super) fn arrange(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            self.parts.push(Arc::new(rows));
        }
    }

    /// Returns the rows that are not sorted.
    fn unsorted(&self) -> impl Iterator<Item = &Rows> {
        self.parts.iter().map(Arc::as_ref).chain([&self.rows])
    }

    /// Sorts all rows.
    fn sort(&mut self) {
        self.arrange();
        for rows in std::mem::take(&mut self.parts) {
            self.push(Arc::new(rows.sorted()));
        }
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
        let new_number = |numbers: &[u32], group: u32| numbers[group as usize];
        for run in &other.runs {
            self.push(match renumbered {
                Some(numbers) => Arc::new(run.renumbered(|group| new_number(numbers, group))),
                None => run.clone(),
            });
        }
        let added = other.parts.iter().map(|rows| match renumbered {
            Some(numbers) => Arc::new(rows.renumbered(|group| new_number(numbers, group))),
            None => rows.clone(),
        });
        self.parts.extend(added);
        if !other.rows.is_empty() {
            let rows = match renumbered {
                Some(numbers) => other.rows.renumbered(|group| new_number(numbers, group)),
                None => other.rows.clone(),
            };
            self.parts.push(Arc::new(rows));
        }
        let rows: usize = self.unsorted().map(Rows::len).sum();
        if rows > MERGED_ROWS_MAX || self.parts.len() > PARTS_MAX {
            self.sort();
        }
    }

    /// Returns quantiles of each of some groups; `qs` must be ascending.
    pub(super) fn quantiles_of_each(&self, groups: &[u32], qs: &[f64]) -> Vec<Option<Vec<u64>>> {
        let runs = self.runs_with(groups);
        let mut gathered = Gathered::default();
        let quantiles = |group: &u32| {
            gathered.gather(&runs, *group);
            let quantiles = qs.iter();
            quantiles.map(|q| Some(rounded::number(gathered.quantile(*q)?, self.unit))).collect()
        };
        groups.iter().map(quantiles).collect()
    }

    /// Returns runs that have all rows of some groups.
    fn runs_with(&self, groups: &[u32]) -> Vec<Arc<Run>> {
        let sorted = self.runs.iter().cloned();
        if groups.len() > FEW_GROUPS {
            let others = self.unsorted().map(|rows| Arc::new(rows.sorted()));
            return sorted.chain(others).collect();
        }
        let most = groups.iter().max().map_or(0, |group| *group as usize + 1);
        let mut is_wanted = vec![false; most];
        groups.iter().for_each(|group| is_wanted[*group as usize] = true);
        let mut wanted = Rows::default();
        for rows in self.unsorted() {
            let own = rows.groups.iter().zip(&rows.codes);
            for (group, code) in
                own.filter(|(group, _)| is_wanted.get(**group as usize) == Some(&true))
            {
                wanted.groups.push(*group);
                wanted.codes.push(*code);
            }
        }
        sorted.chain([Arc::new(wanted.sorted())]).collect()
    }

    /// Returns groups with their quantile `q`, so that those of all other groups that may lead are
    /// smaller; `least` of them or more. `None` if that would take long.
    pub(super) fn leading_quantiles(
        &self,
        q: f64,
        least: usize,
        may_lead: impl Fn(u32) -> bool,
    ) -> Option<Vec<(u32, u64)>> {
        self.leading(q, least, may_lead, LEADING_SHARE)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let runs = self.runs.iter().map(|run| run.memory_bytes());
        self.unsorted().map(Rows::memory_bytes).sum::<usize>() + runs.sum::<usize>()
    }
}

/// Returns the rank, from 1, of the quantile `q` of `count` numbers, of which there must be one.
fn rank(q: f64, count: u64) -> u64 {
    ((q * count as f64).ceil() as u64).clamp(1, count)
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
        let rank = rank(q, self.count);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Distribution, rounded};

    /// What happens to the rows of a step.
    #[derive(Debug, Clone, Copy)]
    enum Form {
        Rows,
        Part,
        Run,
    }

    fn some_forms() -> impl Strategy<Value = Vec<Form>> {
        prop::collection::vec(prop::sample::select(vec![Form::Rows, Form::Part, Form::Run]), 1..5)
    }

    /// A distribution of these rows, cut at every `step` rows, in one form after the other.
    fn in_steps(rows: &[(u32, u64)], step: usize, forms: &[Form]) -> Distribution {
        let forms = |at: usize| forms[at % forms.len()];
        let mut distribution = Distribution { unit: 1, ..Distribution::default() };
        for (at, part) in rows.chunks(step).enumerate() {
            let groups: Vec<u32> = part.iter().map(|(group, _)| *group).collect();
            let codes: Vec<u16> = part.iter().map(|(_, number)| rounded::code(*number)).collect();
            distribution.rows.extend(&groups, &codes);
            match forms(at) {
                Form::Rows => {}
                Form::Part => distribution.arrange(),
                Form::Run => distribution.sort(),
            }
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
            forms in some_forms(),
        ) {
            let distribution = in_steps(&rows, step, &forms);
            // Also more groups than are looked for one by one.
            for groups in [(0..6).collect::<Vec<u32>>(), (0..100).collect()] {
                let qs = [0.0, 0.5, 0.95, 1.0];
                let own = distribution.quantiles_of_each(&groups, &qs);
                for (group, own) in groups.iter().zip(own) {
                    let exact: Option<Vec<u64>> =
                        qs.iter().map(|q| naive(&rows, *group, *q)).collect();
                    let codes = |numbers: Option<Vec<u64>>| {
                        numbers.map(|numbers| numbers.into_iter().map(rounded::code).collect::<Vec<_>>())
                    };
                    prop_assert_eq!(codes(own), codes(exact));
                }
            }
        }

        #[test]
        fn leading_groups_are_those_of_all_quantiles(
            rows in prop::collection::vec((0u32..40, prop_oneof![0u64..50, any::<u64>()]), 0..400),
            step in 1usize..40,
            forms in some_forms(),
            (share, q) in (0.0..0.2, prop::sample::select(vec![0.0, 0.3, 0.5, 0.95, 1.0])),
            least in 1usize..8,
        ) {
            let distribution = in_steps(&rows, step, &forms);
            let may_lead = |group: u32| !group.is_multiple_of(3);
            if let Some(leading) = distribution.leading(q, least, may_lead, share) {
                prop_assert!(leading.len() >= least);
                let smallest = leading.iter().map(|(_, own)| rounded::code(*own)).min();
                for group in 0..40 {
                    let exact = naive(&rows, group, q).map(rounded::code);
                    match leading.iter().find(|(own, _)| *own == group) {
                        Some((_, own)) => {
                            prop_assert!(may_lead(group));
                            prop_assert_eq!(Some(rounded::code(*own)), exact);
                        }
                        None => prop_assert!(!may_lead(group) || exact < smallest),
                    }
                }
            }
        }

        #[test]
        fn renumbered_groups_keep_their_numbers(
            rows in prop::collection::vec((0u32..4, 0u64..2_000), 0..200),
            step in 1usize..40,
            forms in some_forms(),
        ) {
            let mut merged = Distribution::default();
            merged.merge(&in_steps(&rows, step, &forms), Some(&[2, 0, 1, 1]));
            let moved: Vec<(u32, u64)> =
                rows.iter().map(|(group, number)| ([2, 0, 1, 1][*group as usize], *number)).collect();
            for group in 0..4 {
                let exact = naive(&moved, group, 0.75);
                let own = merged.quantiles_of_each(&[group], &[0.75]);
                prop_assert_eq!(own, vec![exact.map(|exact| vec![exact])]);
            }
        }
    }

    #[test]
    fn few_rows_lead_among_many() {
        // Group g has 30 rows of g, and one far outside. The latter are a thirtieth of all rows, and
        // decide nothing.
        let rows = (0..5_000u32).flat_map(|group| {
            (0..31).map(move |row| (group, if row == 30 { 1 << 40 } else { u64::from(group) }))
        });
        let rows: Vec<(u32, u64)> = rows.collect();
        let distribution = in_steps(&rows, 7_000, &[Form::Rows, Form::Part, Form::Run]);
        let leading = distribution.leading_quantiles(0.9, 10, |_| true).expect("few rows");
        assert!((10..1_000).contains(&leading.len()), "{}", leading.len());
        let mut numbers: Vec<u32> = leading.iter().map(|(group, _)| *group).collect();
        numbers.sort_unstable();
        let first = 5_000 - numbers.len() as u32;
        assert_eq!(numbers, (first..5_000).collect::<Vec<u32>>());
        // All rows are alike, so none is found without the others.
        let alike: Vec<(u32, u64)> = (0..20_000).map(|row| (row % 100, 7)).collect();
        let alike = in_steps(&alike, 900, &[Form::Rows]);
        assert_eq!(alike.leading_quantiles(0.95, 10, |_| true), None);
    }
}
