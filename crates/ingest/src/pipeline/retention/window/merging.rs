//! Merges the small segments of a window.
//!
//! A quiet feed makes a segment of a few lines twenty times a second, and every answer reads every
//! segment. So the last [`RUN`] small segments are merged into one for each source, the last
//! [`RUN`] of those are merged again, and so on. An hour of such a feed is then a few dozen
//! segments instead of 72,000, and each row has been copied only a few times.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::{RecordKind, Segment};

use super::{Window, WindowSegment};

/// Segments that are merged into one.
const RUN: usize = 16;

/// A new segment with fewer rows is small.
const SMALL_ROWS: usize = 2_048;

/// A merged segment with this many rows is as large as one of a busy feed.
const ROWS_ENOUGH: usize = 16_384;

/// More levels than are ever reached: a segment that was merged n times has at least 16 to the
/// power of n rows.
const LEVELS: usize = 6;

/// The number of times that a segment was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Times(usize),
    /// It is large enough and is not merged again.
    Done,
}

impl Level {
    pub(super) fn of_new(segment: &Segment) -> Self {
        if segment.rows() < SMALL_ROWS { Self::Times(0) } else { Self::Done }
    }

    fn next(self, rows: usize) -> Self {
        match self {
            Self::Times(times) if rows < ROWS_ENOUGH && times + 1 < LEVELS => {
                Self::Times(times + 1)
            }
            _ => Self::Done,
        }
    }
}

/// For each level, an upper bound of the number of its segments in a row at the end of the
/// window, and the number at which a merge is tried.
#[derive(Debug)]
pub(super) struct Runs([(usize, usize); LEVELS]);

impl Runs {
    pub(super) fn new() -> Self {
        Self([(0, RUN); LEVELS])
    }

    fn add(&mut self, level: Level, segments: usize) {
        match level {
            Level::Times(times) => self.0[times].0 += segments,
            // Segments before it are never merged with segments after it.
            Level::Done => *self = Self::new(),
        }
    }
}

impl Window {
    /// Counts a segment of this level, and merges nothing yet.
    pub(super) fn count_run(&mut self, level: Level) {
        self.runs.add(level, 1);
    }

    /// Merges the last segments if they are many and small. Called after a segment of this level
    /// was added. The rows of a source keep their order.
    pub(super) fn merge_small(&mut self, level: Level) {
        self.runs.add(level, 1);
        for times in 0..LEVELS {
            let (segments, wanted) = self.runs.0[times];
            if segments < wanted {
                return;
            }
            let groups = self.last_of(Level::Times(times));
            let count: usize = groups.values().map(Vec::len).sum();
            if count < RUN || groups.len() * 8 > count {
                // Too many sources: merging pays only when there are more segments of each.
                self.runs.0[times] = (count, wanted.max(count) * 2);
                return;
            }
            self.runs.0[times] = (0, RUN);
            for numbers in groups.into_values() {
                let level = self.merge(&numbers, Level::Times(times));
                self.runs.add(level, 1);
            }
        }
    }

    /// The segments at the end of the window that have this level and may be merged, by source
    /// and kind.
    fn last_of(&self, level: Level) -> BTreeMap<(u32, RecordKind), Vec<u64>> {
        let is_ahead = |number: u64| self.ahead.iter().any(|(ahead, _)| *ahead == number);
        let may_be = |(number, kept): &(&u64, &WindowSegment)| {
            // Rows without a time expire by the time at which their segment was read.
            let is_plain = self.clock.is_none() || !kept.has_untimed;
            kept.level == level && kept.is_unbounded() && is_plain && !is_ahead(**number)
        };
        let mut groups: BTreeMap<(u32, RecordKind), Vec<u64>> = BTreeMap::new();
        for (number, kept) in self.kept.iter().rev().take_while(may_be) {
            let group = (kept.segment.source(), kept.segment.kind());
            groups.entry(group).or_default().push(*number);
        }
        groups.values_mut().for_each(|numbers| numbers.reverse());
        groups
    }

    /// Merges these segments into one at the end of the window. Returns its level.
    fn merge(&mut self, numbers: &[u64], level: Level) -> Level {
        if let [number] = numbers
            && let Some(kept) = self.kept.get_mut(number)
        {
            kept.level = level.next(kept.segment.rows());
            return kept.level;
        }
        let parts: Vec<WindowSegment> =
            numbers.iter().filter_map(|number| self.take(*number)).collect();
        let segments: Vec<Arc<Segment>> = parts.iter().map(|part| part.segment.clone()).collect();
        let Some(merged) = Segment::merged(&segments) else { return level };
        let newest =
            |time: fn(&WindowSegment) -> i64| parts.iter().map(time).max().unwrap_or(i64::MIN);
        let kept = WindowSegment {
            level: level.next(merged.rows()),
            bytes: merged.memory_bytes(),
            segment: Arc::new(merged),
            first_ns: i64::MIN,
            last_ns: i64::MAX,
            read_ns: newest(|part| part.read_ns),
            has_untimed: parts.iter().any(|part| part.has_untimed),
            expires_ns: newest(|part| part.expires_ns),
        };
        for (number, part) in numbers.iter().zip(parts) {
            // An answer that has counted the part subtracts it and counts the merged segment
            // instead.
            self.depart(*number, part.segment);
        }
        let level = kept.level;
        self.insert(kept);
        level
    }
}
