//! Bounds in time that apply to every question.
//!
//! In a sliding window, rows expire by their time, one by one and not by segment. Removing them
//! from a segment would copy it, so the segment stays, and the bounds travel with it. They are
//! tested like a clause on the time, as a range of codes.

use crate::column::{Codes, RowBits, Segment, Times};

/// The bounds of a data set in time, which exclude the rows that have left its window.
///
/// Rows of a segment expire one by one, but segments are immutable. So a snapshot has bounds for
/// each segment ([`crate::SnapshotSegment`]), and every answer applies them before its filter.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, Selection, TimeBounds, Values};
///
/// let format = Arc::new(Format::parse("$msec $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "1.0 200\n2.0 200\n3.0 200\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let bounds = TimeBounds { first_ns: 2_000_000_000, ..TimeBounds::ALL };
/// assert_eq!(bounds.rows(&segment).selection(), Selection::Rows(vec![1, 2]));
/// assert_eq!(bounds.time_range_ns(&segment), Some((2_000_000_000, 3_000_000_000)));
/// assert_eq!(TimeBounds::ALL.rows(&segment).len(), 3);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBounds {
    /// The earliest time within the bounds, in nanoseconds since 1970.
    pub first_ns: i64,
    /// The latest time within the bounds, in nanoseconds since 1970.
    pub last_ns: i64,
    /// Whether rows without a time are within the bounds.
    ///
    /// They have no time by which they could expire, so a data set decides for all of them at once.
    pub untimed: bool,
}

impl TimeBounds {
    /// Every row.
    ///
    /// For a data set that keeps everything; [`Self::rows`] then reads nothing.
    pub const ALL: Self = Self { first_ns: i64::MIN, last_ns: i64::MAX, untimed: true };

    /// Returns the rows of a segment within these bounds.
    ///
    /// Takes one pass over the times, unless the bounds are [`Self::ALL`].
    pub fn rows(&self, segment: &Segment) -> RowBits {
        let mut bits = RowBits::all(segment.rows());
        if *self != Self::ALL {
            self.narrow(segment, &mut bits);
        }
        bits
    }

    /// Returns the earliest and the latest time of the rows within these bounds.
    ///
    /// In nanoseconds since 1970; `None` if no row within the bounds has a time.
    pub fn time_range_ns(&self, segment: &Segment) -> Option<(i64, i64)> {
        let selection = self.rows(segment).selection();
        segment.times()?.range_ns_of(&selection)
    }

    /// Removes the rows outside the bounds. A segment without times is kept or removed as a whole.
    fn narrow(&self, segment: &Segment, bits: &mut RowBits) {
        let Some(times) = segment.times().map(Times::instants) else {
            if !self.untimed {
                *bits = RowBits::none(segment.rows());
            }
            return;
        };
        let range = [self.first_ns, self.last_ns].map(Times::encode_instant);
        // Code 0 stands for an absent time, and no range of codes begins before 1.
        let (min, max) = times.code_range(range[0], range[1]).unwrap_or((1, 0));
        let passes = |code: u64| (min..=max).contains(&code) || code == 0 && self.untimed;
        match times.codes() {
            Codes::Constant { code, .. } if passes(*code) => {}
            Codes::Constant { .. } => *bits = RowBits::none(segment.rows()),
            Codes::U8(codes) => bits.narrow(codes, |code| passes(u64::from(code))),
            Codes::U16(codes) => bits.narrow(codes, |code| passes(u64::from(code))),
            Codes::U32(codes) => bits.narrow(codes, |code| passes(u64::from(code))),
            Codes::U64(codes) => bits.narrow(codes, passes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::TimeBounds;
    use crate::block::{Block, BlockLimits};
    use crate::column::Segment;
    use crate::format::Format;
    use crate::read::BlockReader;
    use crate::values::Values;

    const SECOND_NS: i64 = 1_000_000_000;
    /// The origin of the test times.
    const START_S: i64 = 1_700_000_000;

    fn in_ns(time: i64) -> i64 {
        (START_S + time) * SECOND_NS
    }

    /// Returns a segment with a row for each time. It has no time column if the first is `None`.
    fn segment(times: &[Option<i64>]) -> Segment {
        let mut values = Values::new(1 << 20);
        let definition = if times[0].is_some() { "json:client=c,time=t" } else { "json:client=c" };
        let format = Format::parse(definition).expect("a format");
        let mut reader = BlockReader::new(Arc::new(format), BlockLimits::default(), &mut values);
        let line = |time: &Option<i64>| match time {
            Some(time) => format!("{{\"c\":\"192.0.2.1\",\"t\":{}}}\n", START_S + time),
            None => "{\"c\":\"192.0.2.1\"}\n".to_owned(),
        };
        let log: String = times.iter().map(line).collect();
        reader.read_segment(&Block::new(log.into_bytes()), 0, &mut values)
    }

    #[test]
    fn bounds_are_the_same_as_a_look_at_each_row() {
        let mixed: Vec<_> = (0..300i64).map(|n| Some(n * n % 401)).collect();
        for times in [mixed, vec![None, None], vec![Some(5), Some(5)], vec![Some(0), Some(70_000)]]
        {
            let segment = segment(&times);
            assert_eq!(segment.rows(), times.len());
            for (first, last) in [(0, 400), (5, 5), (6, 4), (100, 69_999), (-9, 1_000_000)] {
                for untimed in [false, true] {
                    let [first_ns, last_ns] = [first, last].map(in_ns);
                    let bounds = TimeBounds { first_ns, last_ns, untimed };
                    let is_in = |time: &Option<i64>| {
                        time.map_or(untimed, |time| (first..=last).contains(&time))
                    };
                    let mut rows = Vec::new();
                    bounds.rows(&segment).selection().for_each(|row| rows.push(row));
                    let expected: Vec<_> =
                        (0..times.len()).filter(|row| is_in(&times[*row])).collect();
                    assert_eq!(rows, expected, "{bounds:?}");
                    let inside = || expected.iter().filter_map(|row| times[*row]);
                    let range = inside().min().zip(inside().max());
                    let range = range.map(|(min, max)| (in_ns(min), in_ns(max)));
                    assert_eq!(bounds.time_range_ns(&segment), range);
                }
            }
            assert!(TimeBounds::ALL.rows(&segment).is_all());
        }
    }
}
