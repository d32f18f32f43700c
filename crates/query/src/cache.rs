//! Cached answers, which serve as starting points for other answers.

use std::borrow::Cow;
use std::sync::Arc;

use weir_core::{
    CompiledFilter, Evaluation, RowBits, Segment, Snapshot, SnapshotSegment, TimeBounds,
};

use crate::snapshot_work::Interruption;

/// The counts of one query, and the rows that they cover.
///
/// `segments` and `rows` have the same length, and `segments` is ordered by number.
#[derive(Debug, Clone)]
pub(crate) struct CachedAnswer {
    evaluation: Evaluation,
    /// The epoch of the ids that the evaluation refers to.
    epoch: u64,
    segments: Vec<CountedSegment>,
    rows: Vec<RowBits>,
}

/// A segment that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountedSegment {
    number: u64,
    /// The bounds of its rows when it was counted.
    bounds: TimeBounds,
}

/// Three cached answers: to the current query; to the last query about all rows, because most
/// filters accept nearly all rows or nearly none; and to the previous query, because most filters
/// differ little from the previous one.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerCache {
    current: Option<Arc<CachedAnswer>>,
    all: Option<Arc<CachedAnswer>>,
    last: Option<Arc<CachedAnswer>>,
    /// The epoch of the snapshot that was counted last.
    epoch: u64,
}

/// A cached answer as the starting point of another.
pub(crate) struct Base<'a> {
    pub(crate) evaluation: &'a Evaluation,
    /// The segments of the snapshot in order, then departed ones that only the base covers.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// The rows that the base covers, for the first of these segments.
    pub(crate) rows: Cow<'a, [RowBits]>,
}

impl CachedAnswer {
    /// Creates an answer that covers no rows.
    pub(crate) fn new(evaluation: Evaluation, epoch: u64) -> Self {
        Self { evaluation, epoch, segments: Vec::new(), rows: Vec::new() }
    }

    /// Creates an answer that covers these rows of these segments.
    pub(crate) fn of(
        evaluation: Evaluation,
        epoch: u64,
        segments: &[&SnapshotSegment],
        rows: Vec<RowBits>,
    ) -> Self {
        let segments = segments.iter().map(|segment| CountedSegment::of(segment)).collect();
        Self { evaluation, epoch, segments, rows }
    }

    pub(crate) fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    /// Returns the same answer without lists and quantiles.
    fn over_time(&self) -> Self {
        Self {
            evaluation: self.evaluation.over_time(),
            epoch: self.epoch,
            segments: self.segments.clone(),
            rows: self.rows.clone(),
        }
    }

    /// Returns the rows that the answer covers, by segment.
    pub(crate) fn rows(&self) -> &[RowBits] {
        &self.rows
    }

    pub(crate) fn evaluation_mut(&mut self) -> &mut Evaluation {
        &mut self.evaluation
    }

    /// Adds segments to the answer. `count` adds their rows to the evaluation.
    ///
    /// # Errors
    /// Fails if counting does.
    pub(crate) fn extend(
        mut self,
        added: &[&SnapshotSegment],
        rows: Vec<RowBits>,
        count: impl FnOnce(Evaluation, &[RowBits]) -> Result<Evaluation, Interruption>,
    ) -> Result<Self, Interruption> {
        self.evaluation = count(self.evaluation, &rows)?;
        self.segments.extend(added.iter().map(|segment| CountedSegment::of(segment)));
        self.rows.extend(rows);
        Ok(self)
    }

    /// Returns whether the answer covers all rows.
    fn is_broad(&self) -> bool {
        self.evaluation.filter().is_unconditional()
    }

    /// Returns whether a snapshot begins with the counted segments, with the same bounds. Then only
    /// the other segments have to be added.
    fn is_extensible<S>(&self, snapshot: &Snapshot<S>) -> bool {
        self.epoch == snapshot.epoch
            && self.segments.len() <= snapshot.segments.len()
            && self
                .segments
                .iter()
                .zip(snapshot.segments.iter())
                .all(|(counted, segment)| *counted == CountedSegment::of(segment))
    }

    /// Returns for each counted segment its index in the snapshot, or `None` if it has left.
    fn indexes<S>(&self, snapshot: &Snapshot<S>) -> impl Iterator<Item = Option<usize>> {
        let mut segments = snapshot.segments.iter().enumerate().peekable();
        self.segments.iter().map(move |counted| {
            while segments.next_if(|(_, segment)| segment.number < counted.number).is_some() {}
            let same = segments.next_if(|(_, segment)| segment.number == counted.number);
            same.map(|(index, _)| index)
        })
    }

    /// Returns the number of rows in which the answer differs from `rows` of the snapshot. Returns
    /// `None` if it covers rows of segments that are no longer available to be subtracted.
    fn distance<S>(&self, snapshot: &Snapshot<S>, rows: &[RowBits]) -> Option<usize> {
        let mut distance: usize = rows.iter().map(RowBits::len).sum();
        for ((index, counted), own) in self.indexes(snapshot).zip(&self.segments).zip(&self.rows) {
            match index {
                Some(index) => {
                    distance = distance - rows[index].len() + own.differing(&rows[index]);
                }
                None if own.is_empty() => {}
                None if snapshot.departed.contains_key(&counted.number) => distance += own.len(),
                None => return None,
            }
        }
        Some(distance)
    }

    /// Converts this answer to a base for an answer over a snapshot.
    fn base<S>(&self, snapshot: &Snapshot<S>) -> Base<'_> {
        let mut segments: Vec<Arc<Segment>> =
            snapshot.segments.iter().map(|segment| segment.segment.clone()).collect();
        let evaluation = &self.evaluation;
        let indexes: Vec<Option<usize>> = self.indexes(snapshot).collect();
        if indexes.iter().enumerate().all(|(own, index)| *index == Some(own)) {
            return Base { evaluation, segments, rows: Cow::Borrowed(&self.rows) };
        }
        let mut rows: Vec<RowBits> =
            segments.iter().map(|segment| RowBits::none(segment.rows())).collect();
        for ((index, counted), own) in indexes.into_iter().zip(&self.segments).zip(&self.rows) {
            match (index, snapshot.departed.get(&counted.number)) {
                (Some(index), _) => rows[index] = own.clone(),
                (None, Some(departed)) => {
                    segments.push(departed.clone());
                    rows.push(own.clone());
                }
                // None of its rows is covered, see `distance`.
                (None, None) => {}
            }
        }
        Base { evaluation, segments, rows: Cow::Owned(rows) }
    }

    fn memory_bytes(&self) -> usize {
        let rows: usize = self.rows.iter().map(RowBits::memory_bytes).sum();
        self.evaluation.memory_bytes()
            + rows
            + self.rows.capacity() * size_of::<RowBits>()
            + self.segments.capacity() * size_of::<CountedSegment>()
    }
}

impl CountedSegment {
    fn of(segment: &SnapshotSegment) -> Self {
        Self { number: segment.number, bounds: segment.bounds }
    }
}

impl AnswerCache {
    /// The part of the data set's memory limit, as 1/n, that a cached answer may take.
    const MEMORY_SHARE: usize = 32;

    /// Returns the epoch of the last snapshot.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Sets the epoch and returns whether it has changed. A change invalidates decisions by id.
    ///
    /// The cached counts stay valid: ids are reused only after the last row with them is gone.
    pub(crate) fn begin_epoch(&mut self, epoch: u64) -> bool {
        std::mem::replace(&mut self.epoch, epoch) != epoch
    }

    /// Returns the current answer.
    pub(crate) fn current(&self) -> Option<&CachedAnswer> {
        self.current.as_deref()
    }

    /// Returns a copy with the current answer and the one about all rows, both without lists and
    /// quantiles.
    pub(crate) fn over_time(&self) -> Self {
        let over_time = |answer: &Arc<CachedAnswer>| Arc::new(answer.over_time());
        let [current, all] = [&self.current, &self.all].map(|one| one.as_ref().map(over_time));
        Self { current, all, last: None, epoch: self.epoch }
    }

    /// Returns the number of segments that the current answer covers, if only the others of the
    /// snapshot have to be added.
    pub(crate) fn extensible_current<S>(&self, snapshot: &Snapshot<S>) -> Option<usize> {
        let current = self.current.as_ref().filter(|current| current.is_extensible(snapshot))?;
        Some(current.segments.len())
    }

    /// As [`Self::extensible_current`], for the answer about all rows, which is returned too.
    /// Returns `None` if no segment is missing.
    pub(crate) fn extensible_broad<S>(
        &self,
        snapshot: &Snapshot<S>,
    ) -> Option<(usize, &CachedAnswer)> {
        let all = self.all.as_deref().filter(|all| all.is_extensible(snapshot))?;
        (all.segments.len() < snapshot.segments.len()).then_some((all.segments.len(), all))
    }

    /// Removes and returns the current answer.
    pub(crate) fn take_current(&mut self) -> Option<CachedAnswer> {
        self.current.take().map(Arc::unwrap_or_clone)
    }

    pub(crate) fn set_current(&mut self, answer: CachedAnswer) {
        self.current = Some(Arc::new(answer));
    }

    /// Retires the current answer, so that it can serve as a base for other queries.
    pub(crate) fn retire_current(&mut self, memory_bytes_max: usize) {
        if let Some(current) = self.current.take() {
            self.keep(current, memory_bytes_max);
        }
    }

    /// Keeps an answer unless it takes too much memory.
    pub(crate) fn keep(&mut self, answer: Arc<CachedAnswer>, memory_bytes_max: usize) {
        let fits = answer.memory_bytes() <= memory_bytes_max / Self::MEMORY_SHARE;
        let place = if answer.is_broad() { &mut self.all } else { &mut self.last };
        *place = fits.then_some(answer);
    }

    /// Returns the filter of the previous answer, unless its ids are stale.
    pub(crate) fn filter(&self) -> Option<&CompiledFilter> {
        let last = self.last.as_ref().filter(|last| last.epoch == self.epoch)?;
        Some(last.evaluation.filter())
    }

    /// Returns for each segment the rows that the current answer covers, if the segment's bounds
    /// are unchanged.
    pub(crate) fn known_rows(&self, segments: &[&SnapshotSegment]) -> Vec<Option<&RowBits>> {
        let Some(current) = &self.current else { return vec![None; segments.len()] };
        let mut counted = current.segments.iter().zip(&current.rows).peekable();
        let known = |segment: &&SnapshotSegment| {
            while counted.next_if(|(counted, _)| counted.number < segment.number).is_some() {}
            let same = counted.next_if(|(counted, _)| **counted == CountedSegment::of(segment));
            same.map(|(_, rows)| rows)
        };
        segments.iter().map(known).collect()
    }

    /// Returns the cached answer that differs least from `rows` of the snapshot. Returns `None` if
    /// counting from nothing is less work.
    pub(crate) fn nearest<S>(&self, snapshot: &Snapshot<S>, rows: &[RowBits]) -> Option<Base<'_>> {
        let from_nothing: usize = rows.iter().map(RowBits::len).sum();
        let answers = [&self.current, &self.last, &self.all].into_iter().flatten();
        let distances =
            answers.filter_map(|answer| Some((answer.distance(snapshot, rows)?, answer)));
        let (distance, answer) = distances.min_by_key(|(distance, _)| *distance)?;
        (distance < from_nothing).then(|| answer.base(snapshot))
    }

    /// Returns the memory of the answers kept for other queries, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        [&self.all, &self.last].into_iter().flatten().map(|answer| answer.memory_bytes()).sum()
    }

    /// Returns the memory of the current answer, in bytes.
    pub(crate) fn current_memory_bytes(&self) -> usize {
        self.current.as_ref().map_or(0, |answer| answer.memory_bytes())
    }
}
