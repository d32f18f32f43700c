//! The selected rows of a data set in the order of their times.
//!
//! The simple version sorts all rows by time, which takes 24 bytes for each of them. Departures from
//! it:
//! 1. The time from the first to the last row is divided into equal spans, whose rows are counted in
//!    one pass. Rows are sorted only in the spans that have wanted ones.
//! 2. A span with too many rows to be sorted is divided again, until it is one nanosecond. The rows
//!    of one nanosecond are in line order, so they are counted off without being sorted.

use std::ops::Range;
use std::sync::Arc;

use weir_core::{RowBits, Segment, Snapshots};

use crate::snapshot_work::{Interruption, SnapshotWork};

/// The number of spans.
const SPANS: u64 = 4_096;

/// The most rows that are sorted at once.
const SORTED_MAX: u64 = 1 << 16;

/// A segment and its selected rows.
type Rows<'a> = (&'a Segment, Arc<RowBits>);

/// Where a row is in the order of all rows by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimeKey {
    pub(crate) time_ns: Option<i64>,
    pub(crate) source: u32,
    pub(crate) offset: u64,
}

impl TimeKey {
    fn of(segment: &Segment, row: usize, time_ns: Option<i64>) -> Self {
        Self { time_ns, source: segment.source(), offset: segment.line_offset(row) }
    }
}

/// A row: the index of its segment, and its number there.
type Place = (usize, usize);

/// The numbers of rows in the spans of the whole time.
#[derive(Debug)]
pub(crate) struct TimeOrder {
    /// The rows without a time, which come before all others.
    untimed: u64,
    spans: Spans,
}

/// A part of time in equal spans, and the number of rows in each of them.
#[derive(Debug)]
struct Spans {
    /// The time at which they begin, in nanoseconds since 1970.
    start: i64,
    /// The length of each.
    width: u64,
    counts: Vec<u64>,
}

impl Spans {
    /// Divides the time from `first` to `last`, which is in the last span.
    fn new(first: i64, last: i64) -> Self {
        let width = first.abs_diff(last) / SPANS + 1;
        Self { start: first, width, counts: vec![0; SPANS as usize] }
    }

    /// The span of a time from `first` to `last`.
    fn index(&self, time_ns: i64) -> usize {
        (self.start.abs_diff(time_ns) / self.width) as usize
    }

    /// The spans before that of a time, and its own; none of its own if it is after all of them.
    fn before(&self, time_ns: i64) -> (u64, Range<i128>) {
        let index = if time_ns < self.start { 0 } else { self.index(time_ns) };
        let index = index.min(self.counts.len());
        (self.counts[..index].iter().sum(), self.time(index..index + 1))
    }

    /// The time of some spans, which may end beyond all times.
    fn time(&self, spans: Range<usize>) -> Range<i128> {
        let at = |index: usize| i128::from(self.start) + i128::from(self.width) * index as i128;
        at(spans.start)..at(spans.end)
    }
}

impl TimeOrder {
    /// Counts the rows, whose segments are in line order.
    ///
    /// # Errors
    /// If the answer is abandoned.
    pub(crate) fn new<D: Snapshots>(
        work: &SnapshotWork<'_, D>,
        rows: &[Rows<'_>],
    ) -> Result<Self, Interruption> {
        let ranges = rows.iter().filter_map(|(segment, _)| segment.time_range_ns());
        let (first, last) = ranges
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
            .unwrap_or_default();
        let mut order = Self { untimed: 0, spans: Spans::new(first, last) };
        let counted = work.spread(rows.iter(), |it| order.count(it))?;
        for (untimed, counts) in counted {
            order.untimed += untimed;
            for (index, count) in counts {
                order.spans.counts[index as usize] += u64::from(count);
            }
        }
        Ok(order)
    }

    /// Counts the rows of a segment: those without a time, and for each span with rows their number.
    fn count(&self, rows: &Rows<'_>) -> (u64, Vec<(u32, u32)>) {
        let mut counts = vec![0_u32; SPANS as usize];
        let mut untimed = 0;
        for_each_row(rows, |_, time_ns| match time_ns {
            Some(time_ns) => counts[self.spans.index(time_ns)] += 1,
            None => untimed += 1,
        });
        let counts = (0_u32..).zip(counts).filter(|(_, count)| *count > 0);
        (untimed, counts.collect())
    }

    /// Returns the number of rows before a place in the order, the oldest first.
    ///
    /// # Errors
    /// If the answer is abandoned.
    pub(crate) fn rank<D: Snapshots>(
        &self,
        work: &SnapshotWork<'_, D>,
        rows: &[Rows<'_>],
        key: TimeKey,
    ) -> Result<u64, Interruption> {
        let (mut rank, time) = match key.time_ns {
            Some(time_ns) => {
                let (before, time) = self.spans.before(time_ns);
                (self.untimed + before, Some(time))
            }
            None => (0, None),
        };
        for it in rows {
            if time.as_ref().is_some_and(|time| !overlaps(it.0, time)) {
                continue;
            }
            work.check_wanted()?;
            for_each_row(it, |row, time_ns| {
                let is_there = match (time_ns, &time) {
                    (Some(time_ns), Some(time)) => time.contains(&i128::from(time_ns)),
                    (time_ns, time) => time_ns.is_none() && time.is_none(),
                };
                rank += u64::from(is_there && TimeKey::of(it.0, row, time_ns) < key);
            });
        }
        Ok(rank)
    }

    /// Returns up to `count` rows after the first `from` ones, the oldest first.
    ///
    /// # Errors
    /// If the answer is abandoned.
    pub(crate) fn rows<D: Snapshots>(
        &self,
        work: &SnapshotWork<'_, D>,
        rows: &[Rows<'_>],
        from: u64,
        count: usize,
    ) -> Result<Vec<Place>, Interruption> {
        let mut found = Vec::new();
        let wanted = from..from.saturating_add(count as u64);
        if wanted.start < self.untimed {
            let last = wanted.end.min(self.untimed);
            counted_off(work, rows, None, wanted.start..last, &mut found)?;
        }
        let below = |rank: u64| rank.saturating_sub(self.untimed);
        of_spans(work, rows, &self.spans, below(wanted.start)..below(wanted.end), &mut found)?;
        Ok(found)
    }
}

/// Adds the rows of some spans with these numbers, counted in the order of their times.
fn of_spans<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    rows: &[Rows<'_>],
    spans: &Spans,
    wanted: Range<u64>,
    found: &mut Vec<Place>,
) -> Result<(), Interruption> {
    let mut before = 0;
    let mut index = 0;
    while index < spans.counts.len() && before < wanted.end {
        let mut end = index + 1;
        let mut held = spans.counts[index];
        if before + held <= wanted.start {
            (index, before) = (end, before + held);
            continue;
        }
        // Neighbours are sorted together, because a pass takes as long for one span as for some.
        while end < spans.counts.len()
            && before + held < wanted.end
            && held + spans.counts[end] <= SORTED_MAX
        {
            held += spans.counts[end];
            end += 1;
        }
        let time = spans.time(index..end);
        let own = wanted.start.max(before) - before..wanted.end.min(before + held) - before;
        if held <= SORTED_MAX {
            sorted(work, rows, &time, own, found)?;
        } else if spans.width == 1 {
            counted_off(work, rows, Some(time.start), own, found)?;
        } else {
            of_spans(work, rows, &parts_of(work, rows, &time)?, own, found)?;
        }
        (index, before) = (end, before + held);
    }
    Ok(())
}

/// Divides a time, and counts its rows.
fn parts_of<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    rows: &[Rows<'_>],
    time: &Range<i128>,
) -> Result<Spans, Interruption> {
    let instant = |time: i128| i64::try_from(time).unwrap_or(i64::MAX);
    let mut parts = Spans::new(instant(time.start), instant(time.end - 1));
    for it in rows.iter().filter(|it| overlaps(it.0, time)) {
        work.check_wanted()?;
        for_each_row(it, |_, time_ns| {
            if let Some(time_ns) = time_ns.filter(|it| time.contains(&i128::from(*it))) {
                let index = parts.index(time_ns);
                parts.counts[index] += 1;
            }
        });
    }
    Ok(parts)
}

/// Adds the rows of a time with these numbers, after sorting all of them.
fn sorted<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    rows: &[Rows<'_>],
    time: &Range<i128>,
    wanted: Range<u64>,
    found: &mut Vec<Place>,
) -> Result<(), Interruption> {
    let mut all: Vec<(TimeKey, Place)> = Vec::new();
    for (index, it) in rows.iter().enumerate().filter(|(_, it)| overlaps(it.0, time)) {
        work.check_wanted()?;
        for_each_row(it, |row, time_ns| {
            if time_ns.is_some_and(|it| time.contains(&i128::from(it))) {
                all.push((TimeKey::of(it.0, row, time_ns), (index, row)));
            }
        });
    }
    all.sort_unstable();
    let wanted = wanted.start as usize..(wanted.end as usize).min(all.len());
    found.extend(all.get(wanted).unwrap_or_default().iter().map(|(_, place)| *place));
    Ok(())
}

/// Adds the rows of one moment with these numbers, or of those without a time, in line order.
fn counted_off<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    rows: &[Rows<'_>],
    moment_ns: Option<i128>,
    wanted: Range<u64>,
    found: &mut Vec<Place>,
) -> Result<(), Interruption> {
    let mut number = 0;
    for (index, it) in rows.iter().enumerate() {
        if number >= wanted.end {
            break;
        }
        if moment_ns.is_some_and(|time_ns| !overlaps(it.0, &(time_ns..time_ns + 1))) {
            continue;
        }
        work.check_wanted()?;
        for_each_row(it, |row, time_ns| {
            if time_ns.map(i128::from) == moment_ns {
                if wanted.contains(&number) {
                    found.push((index, row));
                }
                number += 1;
            }
        });
    }
    Ok(())
}

/// Whether a segment may have rows of a time.
fn overlaps(segment: &Segment, time: &Range<i128>) -> bool {
    let range = segment.time_range_ns();
    range
        .is_some_and(|(first, last)| i128::from(first) < time.end && i128::from(last) >= time.start)
}

/// Calls `visit` with the number and the time of each selected row.
fn for_each_row((segment, rows): &Rows<'_>, visit: impl FnMut(usize, Option<i64>)) {
    segment.for_each_time_ns_of(&rows.selection(), visit);
}
