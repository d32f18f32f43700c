//! Answers over a window whose oldest rows leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Counted, Evaluation, Recount, RowBits, Segment, TimeBounds};
use weir_ingest::{Moment, Slot};
use weir_view::Report;

use super::evaluator::{Answer, Evaluator, offsets_s};
use super::spread::spread;
use super::{format_of, read_counts};

/// An answer over a window, and which rows it counts.
#[derive(Debug, Clone)]
pub(super) struct Slid {
    evaluation: Evaluation,
    counted: Vec<CountedSlot>,
}

/// The rows of one segment that an answer counts.
#[derive(Debug, Clone)]
struct CountedSlot {
    number: u64,
    /// The bounds that the segment had.
    bounds: TimeBounds,
    rows: RowBits,
}

/// The answers about a window that others are made from: the last one to this question, that
/// about all rows, and the last one about some.
#[derive(Debug, Clone, Default)]
pub(super) struct SlidBases {
    pub(super) current: Option<Arc<Slid>>,
    all: Option<Arc<Slid>>,
    last: Option<Arc<Slid>>,
    /// What [`Values::reuses`](weir_core::Values::reuses) was when the question learnt values.
    reuses: u64,
}

/// A base beside a moment of the window: the segments of both, and which rows the base counts
/// of them.
struct Beside<'a> {
    evaluation: &'a Evaluation,
    /// Those of the moment, in order, and behind them those that only the base counts.
    segments: Vec<Arc<Segment>>,
    rows: Vec<RowBits>,
}

impl SlidBases {
    /// Each may take one part in this many of the data set's memory.
    const MEMORY_SHARE: usize = 32;

    /// Makes the current answer one of those to start another question from.
    pub(super) fn keep_current(&mut self, memory_bytes_max: usize) {
        let Some(current) = self.current.take() else { return };
        let fits = current.memory_bytes() <= memory_bytes_max / Self::MEMORY_SHARE;
        let is_all = current.evaluation.filter().is_unconditional();
        let place = if is_all { &mut self.all } else { &mut self.last };
        *place = fits.then_some(current);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        [&self.all, &self.last].into_iter().flatten().map(|known| known.memory_bytes()).sum()
    }

    /// Of the answers that the moment still has all rows of, the one that differs least from
    /// `passes`, which are those of the slots; `None` where nothing is as near.
    fn nearest(&self, moment: &Moment, passes: &[RowBits]) -> Option<Beside<'_>> {
        let known = [&self.current, &self.last, &self.all].into_iter().flatten();
        let beside = known.filter_map(|known| Beside::new(known, moment));
        let cost = |beside: &Beside<'_>| -> usize {
            let (slots, left) = beside.rows.split_at(passes.len());
            let differing = slots.iter().zip(passes).map(|(rows, pass)| rows.differing(pass));
            differing.sum::<usize>() + left.iter().map(RowBits::len).sum::<usize>()
        };
        let from_nothing: usize = passes.iter().map(RowBits::len).sum();
        let nearest = beside.map(|beside| (cost(&beside), beside)).min_by_key(|(cost, _)| *cost);
        nearest.filter(|(cost, _)| *cost < from_nothing).map(|(_, beside)| beside)
    }
}

impl<'a> Beside<'a> {
    /// `None` where rows that are counted have left so long ago that nobody has them any more.
    fn new(known: &'a Slid, moment: &Moment) -> Option<Self> {
        let mut segments: Vec<_> = moment.slots.iter().map(|slot| slot.segment.clone()).collect();
        let mut rows: Vec<_> =
            segments.iter().map(|segment| RowBits::none(segment.rows())).collect();
        let mut place = 0;
        for counted in &known.counted {
            while moment.slots.get(place).is_some_and(|slot| slot.number < counted.number) {
                place += 1;
            }
            if moment.slots.get(place).is_some_and(|slot| slot.number == counted.number) {
                rows[place] = counted.rows.clone();
            } else if !counted.rows.is_empty() {
                segments.push(moment.departed.get(&counted.number)?.clone());
                rows.push(counted.rows.clone());
            }
        }
        Some(Self { evaluation: &known.evaluation, segments, rows })
    }
}

impl Slid {
    fn memory_bytes(&self) -> usize {
        let counted = self.counted.iter();
        let rows: usize = counted.map(|counted| counted.rows.memory_bytes()).sum();
        self.evaluation.memory_bytes() + rows + self.counted.capacity() * size_of::<CountedSlot>()
    }

    /// The rows counted of each segment, for those that have lost none since.
    fn rows_of(&self, slots: &[Slot]) -> BTreeMap<u64, &RowBits> {
        let mut counted = self.counted.iter().peekable();
        let mut known = BTreeMap::new();
        for slot in slots {
            while counted.next_if(|counted| counted.number < slot.number).is_some() {}
            let same = |counted: &&CountedSlot| {
                counted.number == slot.number && counted.bounds == slot.bounds
            };
            if let Some(counted) = counted.next_if(same) {
                known.insert(slot.number, &counted.rows);
            }
        }
        known
    }
}

impl Evaluator {
    /// As [`Self::answer`], over what a window holds.
    pub(super) fn answer_window(&mut self, abandoned: &AtomicBool) -> Option<Answer> {
        while let Some(moment) = self.data.moment() {
            let answer = self.answer_moment(moment, abandoned)?;
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    /// `None` inside where ids were used again meanwhile, so that all has to be asked anew.
    fn answer_moment(&mut self, moment: Moment, abandoned: &AtomicBool) -> Option<Option<Answer>> {
        if self.slid.reuses != moment.reuses {
            self.slid.reuses = moment.reuses;
            let question = self.query().question(&self.data.values()).ok()?;
            self.blank = Evaluation::new(&question);
        }
        let mut evaluation = self.blank.clone();
        self.learn(&mut evaluation, abandoned)?;
        if self.data.values().reuses() != moment.reuses {
            return Some(None);
        }
        self.blank = evaluation.clone();
        let passes = self.pass_slots(&moment.slots, abandoned)?;
        let rows_kept = rows_kept(&moment.slots);
        let beside = self.slid.nearest(&moment, &passes);
        let evaluation = match &beside {
            Some(base) => {
                let mut passes = passes.clone();
                let left = base.segments.iter().skip(passes.len());
                passes.extend(left.map(|segment| RowBits::none(segment.rows())));
                let counted = (base.evaluation, Counted::Rows(&base.rows));
                let recount = Recount::change(evaluation, counted, &base.segments, &passes);
                self.recount(recount, base.segments.len(), abandoned)?
            }
            None => {
                let segments: Vec<_> =
                    moment.slots.iter().map(|slot| slot.segment.clone()).collect();
                let recount = Recount::more(evaluation, &segments, &passes);
                self.recount(recount, segments.len(), abandoned)?
            }
        };
        drop(beside);
        let (read, format) = (read_counts(&moment.sources), format_of(&moment.sources));
        let top = self.query().top as usize;
        let report = {
            let values = self.data.values();
            if values.reuses() != moment.reuses {
                return Some(None);
            }
            Report::new(&evaluation, &values, &read, format, top)
        };
        let report = report.of_formats(&self.data.formats());
        let offsets: BTreeSet<i32> =
            moment.slots.iter().flat_map(|slot| offsets_s(&slot.segment)).collect();
        let counted = |(slot, rows): (&Slot, RowBits)| CountedSlot {
            number: slot.number,
            bounds: slot.bounds,
            rows,
        };
        let counted = moment.slots.iter().zip(passes).map(counted).collect();
        self.slid.current = Some(Arc::new(Slid { evaluation, counted }));
        Some(Some(Answer {
            report,
            sources: moment.sources,
            offsets_s: offsets.into_iter().collect(),
            rows_kept: Some(rows_kept),
        }))
    }

    /// Which rows of each slot are there and pass the filter.
    fn pass_slots(&self, slots: &[Slot], abandoned: &AtomicBool) -> Option<Vec<RowBits>> {
        let known = self.slid.current.as_ref().map(|current| current.rows_of(slots));
        let known = known.unwrap_or_default();
        let pass = |slot: &Slot| match known.get(&slot.number) {
            Some(rows) => (*rows).clone(),
            None => self.blank.pass_within(&slot.segment, &slot.bounds),
        };
        spread(self.jobs_for(slots.len() - known.len()), slots.iter(), abandoned, pass)
    }
}

/// The rows of a window.
fn rows_kept(slots: &[Slot]) -> u64 {
    let rows = |slot: &Slot| match slot.bounds {
        TimeBounds::ALL => slot.segment.rows(),
        bounds => bounds.rows(&slot.segment).len(),
    };
    slots.iter().map(|slot| rows(slot) as u64).sum()
}
