//! Small segments of a window become fewer.
//!
//! A quiet feed makes a segment of every few lines, twenty times a second, and who asks about the
//! window looks at every segment. So whenever the last [`RUN`] segments are small they become one
//! for each source; when so many of those have come they become one again, and so on: an hour of
//! such a feed is a few dozen segments instead of 72,000, and each row was copied a few times.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::{RecordKind, Segment};

use super::{Kept, Window};

/// Segments that become one.
const RUN: usize = 16;

/// A segment with fewer rows is small when it is new.
const SMALL_ROWS: usize = 2_048;

/// A merged segment with as many rows is as large as those of busy feeds.
const ROWS_ENOUGH: usize = 16_384;

/// More than are ever reached: 16 to the power of this many rows.
const LEVELS: usize = 6;

/// How far a segment is: how often it was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Times(usize),
    /// It is merged no more.
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

/// How many segments of each level stand behind one another at the end of the window, at the
/// most, and at how many of them merging is tried.
#[derive(Debug)]
pub(super) struct Runs([(usize, usize); LEVELS]);

impl Runs {
    pub(super) fn new() -> Self {
        Self([(0, RUN); LEVELS])
    }

    fn add(&mut self, level: Level, segments: usize) {
        match level {
            Level::Times(times) => self.0[times].0 += segments,
            // Nothing is merged across it.
            Level::Done => *self = Self::new(),
        }
    }
}

impl Window {
    /// Merges the last segments where they are many and small, after one of this level has
    /// come. The order of a source's rows stays.
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
                // Of too many sources: there is no use in that before there are more of each.
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

    /// The last segments, as far as they are of this level and may be merged, by source and kind.
    fn last_of(&self, level: Level) -> BTreeMap<(u32, RecordKind), Vec<u64>> {
        let is_ahead = |number: u64| self.ahead.iter().any(|(ahead, _)| *ahead == number);
        let may_be = |(number, kept): &(&u64, &Kept)| {
            // Those without a time leave as old as they were when they were read.
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

    /// Makes one segment of these, which is the newest then; gives its level.
    fn merge(&mut self, numbers: &[u64], level: Level) -> Level {
        if let [number] = numbers
            && let Some(kept) = self.kept.get_mut(number)
        {
            kept.level = level.next(kept.segment.rows());
            return kept.level;
        }
        let parts: Vec<Kept> = numbers.iter().filter_map(|number| self.take(*number)).collect();
        let segments: Vec<Arc<Segment>> = parts.iter().map(|part| part.segment.clone()).collect();
        let Some(merged) = Segment::merged(&segments) else { return level };
        let newest = |time: fn(&Kept) -> i64| parts.iter().map(time).max().unwrap_or(i64::MIN);
        let kept = Kept {
            level: level.next(merged.rows()),
            bytes: merged.memory_bytes(),
            segment: Arc::new(merged),
            first_ns: i64::MIN,
            last_ns: i64::MAX,
            read_ns: newest(|part| part.read_ns),
            has_untimed: parts.iter().any(|part| part.has_untimed),
            leaves_ns: newest(|part| part.leaves_ns),
        };
        for (number, part) in numbers.iter().zip(parts) {
            // Whoever has counted its rows takes them away and counts those of the merged one.
            self.depart(*number, part.segment);
        }
        let level = kept.level;
        self.insert(kept);
        level
    }
}
