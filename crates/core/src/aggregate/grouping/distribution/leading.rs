//! The groups with the largest quantiles, found without sorting all rows.
//!
//! Few rows decide which groups lead. If the quantile of a group is at least `t`, so are all its
//! numbers from that rank on, and their count tells it:
//!
//! ```text
//! quantile(group) >= t  if and only if  rows(group, number >= t) > records(group) - rank
//! ```
//!
//! So a bound `t` is chosen that a small share of all rows reaches, and only those rows are sorted.
//! All other groups are below `t`. If too few groups reach it, a larger share is tried.

use super::Distribution;
use super::rows::Rows;
use super::run::Run;
use crate::aggregate::grouping::rounded;

/// A group with its quantile.
pub(super) type Leading = (u32, u64);

/// About so many rows are looked at to choose a bound.
const SAMPLED_MAX: usize = 1 << 16;

/// The share of the rows beyond which sorting all of them is no more work.
const SHARE_MAX: f64 = 1.0 / 16.0;

/// A row at or above the bound: the group, the code, and how often it occurs.
type TailRow = (u32, u16, u32);

impl Distribution {
    /// Returns groups with their quantile `q` so that those of all other groups that may lead are
    /// smaller: `least` of them or more, or `None` if a large share of all rows is needed to find
    /// them. The search begins with the largest `share` of the rows.
    pub(in crate::aggregate::grouping) fn leading(
        &self,
        q: f64,
        least: usize,
        may_lead: impl Fn(u32) -> bool,
        share: f64,
    ) -> Option<Vec<Leading>> {
        let counts = self.counts();
        let (sample, most) = (self.sample(), self.places() / 8 + 1);
        let mut share = share;
        while share <= SHARE_MAX {
            let tail = self.tail(bound(&sample, share), most)?;
            let leading: Vec<Leading> = tail
                .chunk_by(|one, other| one.0 == other.0)
                .filter(|rows| may_lead(rows[0].0))
                .filter_map(|rows| {
                    let (group, count) = (rows[0].0, counts[rows[0].0 as usize]);
                    let code = nth_largest(rows, count + 1 - super::rank(q, count))?;
                    Some((group, rounded::number(code, self.unit)))
                })
                .collect();
            if leading.len() >= least {
                return Some(leading);
            }
            share *= 4.0;
        }
        None
    }

    /// The number of rows with a number, by group.
    fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = Vec::new();
        for rows in self.unsorted() {
            let most = rows.groups.iter().max().map_or(0, |group| *group as usize + 1);
            counts.resize(most.max(counts.len()), 0);
            rows.groups.iter().for_each(|group| counts[*group as usize] += 1);
        }
        for run in &self.runs {
            counts.resize(run.groups().max(counts.len()), 0);
            for (group, count) in (0..run.groups() as u32).zip(&mut counts) {
                *count += run.records(group);
            }
        }
        counts
    }

    /// The number of codes that are kept.
    fn places(&self) -> usize {
        let unsorted: usize = self.unsorted().map(Rows::len).sum();
        unsorted + self.runs.iter().map(|run| run.codes.len()).sum::<usize>()
    }

    /// How often each code occurs in a sample of the rows.
    fn sample(&self) -> Vec<u64> {
        let step = self.places().div_ceil(SAMPLED_MAX).max(1);
        let mut sample = vec![0; usize::from(u16::MAX) + 1];
        for rows in self.unsorted() {
            rows.codes.iter().step_by(step).for_each(|code| sample[usize::from(*code)] += 1);
        }
        for run in &self.runs {
            for place in (0..run.codes.len()).step_by(step) {
                sample[usize::from(run.codes[place])] += u64::from(run.count(place));
            }
        }
        sample
    }

    /// Returns the rows whose code is at least `bound`, sorted; `None` if they are more than `most`.
    fn tail(&self, bound: u16, most: usize) -> Option<Vec<TailRow>> {
        let mut tail: Vec<TailRow> = Vec::new();
        for rows in self.unsorted() {
            for (groups, codes) in rows.groups.chunks(64).zip(rows.codes.chunks(64)) {
                // Nearly all chunks have none: one comparison of the largest, without a branch for
                // each row.
                if codes.iter().fold(0, |largest, code| largest.max(*code)) < bound {
                    continue;
                }
                let own = groups.iter().zip(codes).filter(|(_, code)| **code >= bound);
                tail.extend(own.map(|(group, code)| (*group, *code, 1)));
                if tail.len() > most {
                    return None;
                }
            }
        }
        for run in &self.runs {
            for group in 0..run.groups() as u32 {
                let own = run.range(group).filter(|place| run.codes[*place] >= bound);
                tail.extend(own.map(|place| (group, run.codes[place], run.count(place))));
                if tail.len() > most {
                    return None;
                }
            }
        }
        tail.sort_unstable();
        Some(tail)
    }
}

impl Run {
    /// The number of groups, with those that have no row here.
    fn groups(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of rows of a group.
    fn records(&self, group: u32) -> u64 {
        let range = self.range(group);
        match self.counts.get(range.clone()) {
            Some(counts) if !self.counts.is_empty() => {
                counts.iter().map(|count| u64::from(*count)).sum()
            }
            _ => range.len() as u64,
        }
    }

    /// How often the number at a place occurs there.
    fn count(&self, place: usize) -> u32 {
        self.counts.get(place).copied().unwrap_or(1)
    }
}

/// The smallest code so that at most about this share of the sample is not below it.
fn bound(sample: &[u64], share: f64) -> u16 {
    let wanted = share * sample.iter().sum::<u64>() as f64;
    let mut above = 0;
    let reaches = |(_, count): &(usize, &u64)| {
        above += **count;
        above as f64 >= wanted
    };
    let code = sample.iter().enumerate().rev().find(reaches).map_or(0, |(code, _)| code);
    u16::try_from(code).unwrap_or(u16::MAX)
}

/// Returns the `n`th largest code of the rows of a group, from 1; `None` if they are fewer.
fn nth_largest(rows: &[TailRow], n: u64) -> Option<u16> {
    let mut above = 0;
    let reaches = |(_, _, count): &&TailRow| {
        above += u64::from(*count);
        above >= n
    };
    rows.iter().rev().find(reaches).map(|(_, code, _)| *code)
}
