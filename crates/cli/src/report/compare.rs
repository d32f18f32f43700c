//! `--compare`: a range of time beside the one before it.

use std::cmp::Reverse;

use weir_core::{Evaluation, REMAINDER, Tally, Timestamp, Values, Zone, format_rfc3339};
use weir_view::Report;

use super::group::GroupRow;
use super::tallies::Names;
use crate::outcome::Failure;

const SECOND_NS: i64 = 1_000_000_000;

/// What was before, and what has changed since.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) now_range: Range,
    pub(crate) before_range: Range,
    /// The report about the range before.
    pub(crate) before: Report,
    /// The fields in the order of their columns.
    pub(crate) lists: Vec<Changes>,
}

/// A range of time: from an instant on, and up to another one, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) since_ns: i64,
    pub(crate) until_ns: i64,
}

/// How the values of a field have changed: each list has the largest changes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) field: String,
    /// Values of both ranges, also those that are as frequent as before.
    pub(crate) both: Vec<GroupRow>,
    pub(crate) both_values: u64,
    /// Values that the range before does not have.
    pub(crate) new: Vec<GroupRow>,
    pub(crate) new_values: u64,
    /// Values that only the range before has.
    pub(crate) vanished: Vec<GroupRow>,
    pub(crate) vanished_values: u64,
}

impl Range {
    /// The range of `--since` and `--until`, and the one of the same length before it. Where
    /// `until_ns` is missing it ends with the log, whose first and last time are given, in whole
    /// seconds; where `since_ns` is missing, the time up to there is halved.
    pub(super) fn now_and_before(
        since_ns: Option<i64>,
        until_ns: Option<i64>,
        (first_ns, last_ns): (i64, i64),
    ) -> Result<(Self, Self), Failure> {
        let log_end_ns = (last_ns.div_euclid(SECOND_NS) + 1).saturating_mul(SECOND_NS);
        if let Some(since_ns) = since_ns {
            let until_ns = until_ns.unwrap_or(log_end_ns);
            if until_ns <= since_ns {
                return Err(Failure::new(
                    "--compare: nothing was logged at --since or later; give an earlier time",
                ));
            }
            let length_ns = until_ns.saturating_sub(since_ns);
            let before = Self { since_ns: since_ns.saturating_sub(length_ns), until_ns: since_ns };
            return Ok((Self { since_ns, until_ns }, before));
        }
        let end_ns = until_ns.unwrap_or(log_end_ns).min(log_end_ns);
        let first_ns = first_ns.div_euclid(SECOND_NS).saturating_mul(SECOND_NS);
        let length_s = end_ns.saturating_sub(first_ns) / SECOND_NS;
        if length_s < 2 {
            return Err(Failure::new(
                "--compare: there is no time to halve; say from when on with --since",
            ));
        }
        let middle_ns = first_ns + (length_s / 2 + length_s % 2) * SECOND_NS;
        let now = Self { since_ns: middle_ns, until_ns: end_ns };
        Ok((now, Self { since_ns: first_ns, until_ns: middle_ns }))
    }

    /// Its two ends, RFC 3339 in a zone.
    pub(crate) fn stamps(&self, zone: &Zone) -> [String; 2] {
        [self.since_ns, self.until_ns].map(|unix_ns| {
            let offset_s = zone.offset_s(unix_ns.div_euclid(1_000_000_000));
            format_rfc3339(Timestamp { unix_ns, offset_s })
        })
    }
}

impl Changes {
    /// How the values of a field differ between two answers, in so many rows of each kind;
    /// `None` where neither has any.
    pub(super) fn new(
        field: &str,
        values: &Values,
        now: &Evaluation,
        before: &Evaluation,
        top: usize,
    ) -> Option<Self> {
        let names = Names::of(field, values)?;
        let (now, before) = (names.tallies(now), names.tallies(before));
        let mut kinds: [Vec<usize>; 3] = Default::default();
        // Requests without the field are no value of it.
        for id in REMAINDER as usize..now.len() {
            match (now[id].count, before[id].count) {
                (0, 0) => {}
                (_, 0) => kinds[1].push(id),
                (0, _) => kinds[2].push(id),
                (_, _) => kinds[0].push(id),
            }
        }
        let rows = |mut ids: Vec<usize>| {
            let change = |id: usize| now[id].count.abs_diff(before[id].count);
            // Millions of values need not be put in order for the first ten.
            if ids.len() > top && top > 0 {
                ids.select_nth_unstable_by_key(top - 1, |id| {
                    (Reverse(change(*id)), names.value(*id as u32))
                });
            }
            ids.truncate(top);
            ids.sort_by_key(|id| (Reverse(change(*id)), names.value(*id as u32)));
            let row = |id: usize| row(&names, id, &now, &before);
            ids.into_iter().map(row).collect::<Vec<_>>()
        };
        let [both_values, new_values, vanished_values] =
            kinds.each_ref().map(|ids| ids.len() as u64);
        if both_values + new_values + vanished_values == 0 {
            return None;
        }
        let [both, new, vanished] = kinds.map(rows);
        let field = field.to_owned();
        Some(Self { field, both, both_values, new, new_values, vanished, vanished_values })
    }
}

fn row(names: &Names<'_>, id: usize, now: &[Tally], before: &[Tally]) -> GroupRow {
    GroupRow {
        value: names.value(id as u32).to_vec(),
        is_remainder: id == REMAINDER as usize,
        now: now[id],
        before: before[id],
    }
}

/// A difference with its sign.
pub(crate) fn difference(now: u64, before: u64) -> i128 {
    i128::from(now) - i128::from(before)
}

/// A difference in percent of what was before; `None` where nothing was.
pub(crate) fn percent(now: u64, before: u64) -> Option<f64> {
    (before > 0).then(|| difference(now, before) as f64 * 100.0 / before as f64)
}

#[cfg(test)]
mod tests {
    use super::Range;

    const S: i64 = super::SECOND_NS;

    /// In seconds, of a log from 100.5 to 199.5.
    fn ranges(since: Option<i64>, until: Option<i64>) -> Option<[(i64, i64); 2]> {
        let [since, until] = [since, until].map(|bound| bound.map(|bound| bound * S));
        let log = (100 * S + S / 2, 199 * S + S / 2);
        let (now, before) = Range::now_and_before(since, until, log).ok()?;
        Some([now, before].map(|range| (range.since_ns / S, range.until_ns / S)))
    }

    #[test]
    fn the_range_before_is_as_long() {
        assert_eq!(ranges(Some(150), Some(180)), Some([(150, 180), (120, 150)]));
        assert_eq!(ranges(Some(150), None), Some([(150, 200), (100, 150)]), "to the log's end");
        assert_eq!(ranges(None, None), Some([(150, 200), (100, 150)]), "halves");
        assert_eq!(ranges(None, Some(140)), Some([(120, 140), (100, 120)]));
        assert_eq!(ranges(None, Some(900)), Some([(150, 200), (100, 150)]), "no time behind it");
        assert_eq!(ranges(None, Some(103)), Some([(102, 103), (100, 102)]));
        assert_eq!(ranges(Some(200), None), None);
        assert_eq!(ranges(None, Some(101)), None);
        let whole = Range::now_and_before(Some(i64::MIN + 5), Some(i64::MAX), (0, i64::MAX));
        assert!(whole.is_ok(), "no overflow");
    }
}
