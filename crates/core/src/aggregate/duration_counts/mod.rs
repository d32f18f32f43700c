//! How many records took how long in each span of time.

mod scale;

use super::grouping::TimeSpans;
use super::visit::gather;
use crate::column::{Segment, Selection};
use crate::schema::ColumnId;
use scale::{LEAST_NS, STEPS, step_of};

/// Counts the records of each span of time by a duration, on a logarithmic scale.
///
/// The counts are exact: the scale has fixed bounds, and a record is in the step that contains its
/// duration. There are 8 bytes for each of 242 steps in each span.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, DurationCounts, Field, Format, Selection, TimeSpans, Values,
/// };
///
/// let format = Arc::new(Format::parse("[$time_iso8601] $request_time")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "[1970-01-01T00:00:01Z] 0.010\n[1970-01-01T00:00:02Z] 0.014\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let spans = TimeSpans::new(vec![0, 2_000_000_000, 4_000_000_000]);
/// let mut counts = DurationCounts::new(Field::RequestTime.column(), spans);
/// counts.update(&segment, &Selection::All(2));
/// let steps = counts.steps();
/// assert_eq!(steps.bounds_ns, [10_000_000, 12_000_000, 13_000_000, 14_000_000, 16_000_000]);
/// assert_eq!(steps.counts, [[1, 0, 0, 0], [0, 0, 0, 1]]);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DurationCounts {
    column: ColumnId,
    spans: TimeSpans,
    /// For each span the records of each step.
    counts: Vec<[u64; STEPS]>,
    /// Divides all durations, in nanoseconds; 0 before the first.
    unit: u64,
    /// The steps of the selected rows of a segment, kept for their memory.
    buffer: Vec<u8>,
}

/// The counts of a [`DurationCounts`] in those steps in which there is a record, and between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationSteps {
    /// The bounds of the steps in nanoseconds, ascending. A step holds the durations from its bound up
    /// to the next one, which is not included. Empty if no record has a duration.
    pub bounds_ns: Vec<u64>,
    /// For each span the records of each step.
    pub counts: Vec<Vec<u64>>,
}

/// How many steps of the scale are joined to one. Their divisions of a power of ten are regular.
const JOINED: [usize; 3] = [1, 2, 4];

/// The step of a row without the duration.
const NO_STEP: u8 = u8::MAX;

impl DurationCounts {
    /// The number of steps up to which each is a row that a person can see: as many as a chart has
    /// lines of three pixels. All steps of the scale, joined by four, are 62.
    pub const STEPS_MAX: usize = 64;

    /// Creates counts of the durations of a column in spans of time.
    pub fn new(column: ColumnId, spans: TimeSpans) -> Self {
        let counts = vec![[0; STEPS]; spans.len()];
        Self { column, spans, counts, unit: 0, buffer: Vec::new() }
    }

    /// Adds the selected rows of a segment. Rows without the duration, or outside of all spans, are in
    /// no step.
    pub fn update(&mut self, segment: &Segment, selection: &Selection) {
        let Some(numbers) = segment.numbers(self.column) else { return };
        self.add_unit(numbers.whole_unit());
        gather(numbers.codes(), selection, &mut self.buffer, |code| {
            numbers.decode(code).map_or(NO_STEP, step_of)
        });
        let mut steps = self.buffer.iter();
        let counts = &mut self.counts;
        self.spans.for_each(segment, selection, |span| {
            let (Some(step), Some(span)) = (steps.next(), span) else { return };
            if let Some(count) = counts[span].get_mut(usize::from(*step)) {
                *count += 1;
            }
        });
    }

    /// Adds counts over other rows, of the same column and in the same spans.
    pub fn merge(&mut self, other: &Self) {
        self.add_unit(other.unit);
        let pairs = self.counts.iter_mut().zip(&other.counts);
        for (own, other) in pairs.flat_map(|(own, other)| own.iter_mut().zip(other)) {
            *own += other;
        }
    }

    /// Returns the counts in at most [`Self::STEPS_MAX`] steps: neighbours are joined if there are more.
    ///
    /// If all durations are whole milliseconds, so are the bounds, and no step lies between two
    /// milliseconds. The same holds for seconds and microseconds.
    pub fn steps(&self) -> DurationSteps {
        let is_used = |step: &usize| self.counts.iter().any(|counts| counts[*step] > 0);
        let (Some(first), Some(last)) = ((0..STEPS).find(is_used), (0..STEPS).rfind(is_used))
        else {
            let counts = vec![Vec::new(); self.counts.len()];
            return DurationSteps { bounds_ns: Vec::new(), counts };
        };
        let divisions = JOINED.map(|joined| self.division(first, last, joined));
        let division = divisions.iter().find(|steps| steps.len() <= Self::STEPS_MAX + 1);
        let division = division.or(divisions.last()).map_or(&[][..], Vec::as_slice);
        let row = |counts: &[u64; STEPS]| {
            division.windows(2).map(|step| counts[step[0]..step[1]].iter().sum()).collect()
        };
        DurationSteps {
            bounds_ns: division.iter().map(|step| self.bound_ns(*step)).collect(),
            counts: self.counts.iter().map(row).collect(),
        }
    }

    /// Returns the first step of each group of `joined` steps, from that of `first` on, and the step
    /// after the group of `last`. Groups without a multiple of the unit are left out.
    fn division(&self, first: usize, last: usize, joined: usize) -> Vec<usize> {
        // The first and the last step are no part of the regular scale.
        let begin = |step: usize| match step {
            0 => 0,
            step if step == STEPS - 1 => step,
            step => (step - 1) / joined * joined + 1,
        };
        let mut starts: Vec<usize> = (first..=last).map(begin).collect();
        starts.push(match last {
            0 => 1,
            last => (begin(last) + joined).min(if last == STEPS - 1 { STEPS } else { STEPS - 1 }),
        });
        starts.dedup();
        // Of steps with the same bound all but the last are empty.
        let bounds: Vec<u64> = starts.iter().map(|step| self.bound_ns(*step)).collect();
        let is_last = |at: &usize| bounds.get(at + 1) != Some(&bounds[*at]);
        (0..starts.len()).filter(is_last).map(|at| starts[at]).collect()
    }

    /// The least duration that is in a step or above, of those that are multiples of the unit.
    fn bound_ns(&self, step: usize) -> u64 {
        let (least, unit) = (LEAST_NS[step], self.unit.max(1));
        least.checked_next_multiple_of(unit).unwrap_or(least)
    }

    fn add_unit(&mut self, unit: u64) {
        self.unit = match (self.unit, unit) {
            (0, unit) | (unit, 0) => unit,
            (own, other) => own.min(other),
        };
    }
}
