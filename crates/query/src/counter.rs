//! Counts the records of a growing data set that pass one filter.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    Aggregates, CountedRows, Evaluation, Fold, ListedColumns, Question, Recount, RowBits, Segment,
    SegmentList, Snapshot, SnapshotSegment, Snapshots, TimeBounds, Values,
};

use crate::cache::{AnswerCache, CachedAnswer};
use crate::count_rows::{jobs_for, refresh, run};
use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::Interruption;
use crate::spread::spread;

/// The aggregates that a counter computes besides the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountedAggregates {
    /// All aggregates of a report.
    All,
    /// No others.
    Totals,
    /// The lists of all fields.
    Lists,
    /// The histogram.
    Histogram,
    /// The histogram of all records in the time of the query, whether or not they meet its other
    /// conditions.
    UnfilteredHistogram,
}

/// Counts the records that one filter accepts.
///
/// Each count adds only the new segments. A counter for [another filter](Self::change) starts from
/// the cached counts that differ in the fewest rows.
#[derive(Debug)]
pub(crate) struct Counter<D> {
    data: Arc<D>,
    query: ParsedQuery,
    /// Whether the query has conditions other than on the time.
    is_filtered: bool,
    aggregates: CountedAggregates,
    jobs: usize,
    /// An evaluation without counts, whose filter knows the values.
    blank: Evaluation,
    cache: AnswerCache,
}

impl CountedAggregates {
    /// Converts a query to a question of the core about these aggregates.
    pub(crate) fn question(
        self,
        query: &ParsedQuery,
        values: &Values,
    ) -> Result<Question, QueryError> {
        let mut question = query.question(values)?;
        match self {
            Self::All => {}
            Self::Totals => question.aggregates = Aggregates::none(),
            Self::Lists => {
                let top_lists = ListedColumns::All;
                question.aggregates = Aggregates { top_lists, ..Aggregates::none() };
            }
            Self::Histogram | Self::UnfilteredHistogram => {
                question.aggregates = Aggregates { histogram: true, ..Aggregates::none() };
            }
        }
        if let (Self::UnfilteredHistogram, Some(filter)) = (self, question.filter.of_time()) {
            question.filter = filter;
        }
        Ok(question)
    }
}

/// A copy shares the cached answers. Implemented by hand, because the data set is not `Clone`.
impl<D> Clone for Counter<D> {
    fn clone(&self) -> Self {
        Self {
            data: self.data.clone(),
            query: self.query.clone(),
            is_filtered: self.is_filtered,
            aggregates: self.aggregates,
            jobs: self.jobs,
            blank: self.blank.clone(),
            cache: self.cache.clone(),
        }
    }
}

impl<D: Snapshots> Counter<D> {
    /// Creates a counter that has counted nothing and uses up to `jobs` threads.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn new(data: Arc<D>, query: ParsedQuery, jobs: usize) -> Result<Self, QueryError> {
        Self::with_aggregates(data, query, CountedAggregates::All, jobs)
    }

    /// As [`Self::new`], with only these aggregates.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn with_aggregates(
        data: Arc<D>,
        query: ParsedQuery,
        aggregates: CountedAggregates,
        jobs: usize,
    ) -> Result<Self, QueryError> {
        let question = aggregates.question(&query, &data.values())?;
        let (blank, cache) = (Evaluation::new(&question), AnswerCache::default());
        let is_filtered = question.filter.of_time().is_some();
        Ok(Self { data, query, is_filtered, aggregates, jobs: jobs.max(1), blank, cache })
    }

    /// Creates a counter for another query about the same data set.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn change(&self, query: ParsedQuery) -> Result<Self, QueryError> {
        self.change_to(query, self.aggregates)
    }

    /// Creates a counter with an empty cache, for a query to which no answer of this counter is
    /// near.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn change_without_cache(
        &self,
        query: ParsedQuery,
        aggregates: CountedAggregates,
    ) -> Result<Self, QueryError> {
        Self::with_aggregates(self.data.clone(), query, aggregates, self.jobs)
    }

    /// Creates a counter of other aggregates for another query, which starts from the same cached
    /// answers.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub(crate) fn change_to(
        &self,
        query: ParsedQuery,
        aggregates: CountedAggregates,
    ) -> Result<Self, QueryError> {
        let mut next = Self::with_aggregates(self.data.clone(), query, aggregates, self.jobs)?;
        next.cache = self.cache.clone();
        next.cache.retire_current(self.data.memory_bytes_max());
        if let Some(known) = next.cache.filter() {
            next.blank.filter_mut().adopt(known);
        }
        // Adopted last, because this filter knows the most values.
        next.blank.filter_mut().adopt(self.blank.filter());
        Ok(next)
    }

    /// Returns the counter of unfiltered records for `query`, if this counter already has them: its
    /// own query has no condition other than on the time.
    pub(crate) fn unfiltered(&self, query: ParsedQuery) -> Option<Self> {
        let has_counted = !self.is_filtered && self.query.stack == query.stack;
        has_counted.then(|| Self {
            data: self.data.clone(),
            query,
            is_filtered: false,
            aggregates: CountedAggregates::UnfilteredHistogram,
            jobs: self.jobs,
            blank: self.blank.over_time(),
            cache: self.cache.over_time(),
        })
    }

    /// Returns the number of threads.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Returns the query.
    pub(crate) fn query(&self) -> &ParsedQuery {
        &self.query
    }

    /// Returns whether the query has conditions other than on the time.
    pub(crate) fn is_filtered(&self) -> bool {
        self.is_filtered
    }

    /// Returns whether the counts belong to this query.
    pub(crate) fn is_for(&self, query: &ParsedQuery) -> bool {
        self.query == *query
    }

    /// Returns whether these counts of unfiltered records belong to this query, which may differ
    /// from the query of `filtered` only in how records are shown.
    pub(crate) fn is_for_time_of(&self, filtered: &Self, query: &ParsedQuery) -> bool {
        let [own, other] = [self, filtered].map(|counter| counter.evaluation().filter());
        own.time_range_ns() == other.time_range_ns()
            && self.query == query.clone().with_conditions_of(&self.query)
    }

    /// Returns the counts of the last snapshot.
    pub(crate) fn evaluation(&self) -> &Evaluation {
        self.cache.current().map_or(&self.blank, CachedAnswer::evaluation)
    }

    /// Returns the number of rows in the last snapshot, whether or not they pass the filter.
    pub(crate) fn rows_kept(&self, segments: &SegmentList) -> u64 {
        let Some(current) = self.cache.current() else { return 0 };
        // Row bits store the number of rows, so a segment is read only if some of its rows expired.
        let rows = |(segment, counted): (&SnapshotSegment, &RowBits)| match segment.bounds {
            TimeBounds::ALL => counted.rows(),
            _ => segment.rows(),
        };
        segments.iter().zip(current.rows()).map(|segment| rows(segment) as u64).sum()
    }

    /// Returns the memory of the answers kept for other queries, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.cache.memory_bytes()
    }

    /// Returns the memory of all answers, current and kept, in bytes.
    pub(crate) fn total_memory_bytes(&self) -> usize {
        self.cache.memory_bytes() + self.cache.current_memory_bytes() + self.blank.memory_bytes()
    }

    /// Counts the records of a snapshot.
    ///
    /// # Errors
    /// Fails if the answer is abandoned, or if ids were reused since the snapshot.
    pub(crate) fn count(
        &mut self,
        snapshot: &Snapshot<D::Source>,
        abandoned: &AtomicBool,
    ) -> Result<(), Interruption> {
        if self.cache.begin_epoch(snapshot.epoch) {
            let question = self.aggregates.question(&self.query, &self.data.values());
            // The query was valid before, and columns are only ever added.
            self.blank = Evaluation::new(&question.map_err(|_| Interruption::Abandoned)?);
        }
        self.refresh(abandoned)?;
        if self.data.values().reuses() != snapshot.epoch {
            return Err(Interruption::StaleIds);
        }
        let answer = match self.cache.extensible_current(snapshot) {
            Some(start) => self.extend_current(snapshot, start, abandoned)?,
            None => self.count_all(snapshot, abandoned)?,
        };
        self.cache.set_current(answer);
        Ok(())
    }

    /// Refreshes the evaluation with all values of the snapshot. They are complete, because the
    /// data set adds values before the segments that use their ids.
    fn refresh(&mut self, abandoned: &AtomicBool) -> Result<(), Interruption> {
        let guard = self.data.values();
        let values: &Values = &guard;
        refresh(&mut self.blank, values, self.jobs, abandoned)
    }

    /// Adds the segments from index `start` on to the current answer.
    fn extend_current(
        &mut self,
        snapshot: &Snapshot<D::Source>,
        start: usize,
        abandoned: &AtomicBool,
    ) -> Result<CachedAnswer, Interruption> {
        let added: Vec<&SnapshotSegment> = snapshot.segments.iter_from(start).collect();
        let rows = self.rows_of(&added, abandoned)?;
        let mut answer = self.cache.take_current().unwrap_or_else(|| self.new_answer());
        // The filter of the blank evaluation has already decided all values, so this avoids a
        // second time.
        std::mem::swap(answer.evaluation_mut().filter_mut(), self.blank.filter_mut());
        answer.evaluation_mut().refresh(&self.data.values());
        std::mem::swap(answer.evaluation_mut().filter_mut(), self.blank.filter_mut());
        self.extend(answer, &added, rows, abandoned)
    }

    fn new_answer(&self) -> CachedAnswer {
        CachedAnswer::new(self.blank.clone(), self.cache.epoch())
    }

    /// Adds segments to an answer, given their rows that pass its filter.
    fn extend(
        &self,
        answer: CachedAnswer,
        added: &[&SnapshotSegment],
        rows: Vec<RowBits>,
        abandoned: &AtomicBool,
    ) -> Result<CachedAnswer, Interruption> {
        let segments: Vec<Arc<Segment>> =
            added.iter().map(|segment| segment.segment.clone()).collect();
        answer.extend(added, rows, |evaluation, rows| {
            let recount = Recount::more(evaluation, &segments, rows);
            self.recount(recount, segments.len(), abandoned)
        })
    }

    /// Counts all segments, from the nearest cached answer or from nothing.
    fn count_all(
        &mut self,
        snapshot: &Snapshot<D::Source>,
        abandoned: &AtomicBool,
    ) -> Result<CachedAnswer, Interruption> {
        let segments: Vec<&SnapshotSegment> = snapshot.segments.iter().collect();
        let rows = self.rows_of(&segments, abandoned)?;
        self.extend_broad(snapshot, &segments, &rows, abandoned)?;
        let evaluation = self.blank.clone();
        let evaluation = match self.cache.nearest(snapshot, &rows) {
            Some(base) => {
                let mut rows = rows.clone();
                let departed = base.segments.iter().skip(rows.len());
                rows.extend(departed.map(|segment| RowBits::none(segment.rows())));
                let counted = (base.evaluation, CountedRows::PerSegment(&base.rows));
                let recount = Recount::change(evaluation, counted, &base.segments, &rows);
                self.recount(recount, base.segments.len(), abandoned)?
            }
            None => {
                let segments: Vec<Arc<Segment>> =
                    segments.iter().map(|segment| segment.segment.clone()).collect();
                let recount = Recount::more(evaluation, &segments, &rows);
                self.recount(recount, segments.len(), abandoned)?
            }
        };
        Ok(CachedAnswer::of(evaluation, self.cache.epoch(), &segments, rows))
    }

    /// Adds the missing segments to the cached answer about all rows if most of their rows pass,
    /// because the next query may be as broad.
    fn extend_broad(
        &mut self,
        snapshot: &Snapshot<D::Source>,
        segments: &[&SnapshotSegment],
        rows: &[RowBits],
        abandoned: &AtomicBool,
    ) -> Result<(), Interruption> {
        let Some((start, broad)) = self.cache.extensible_broad(snapshot) else { return Ok(()) };
        let (added, rows) = (&segments[start..], &rows[start..]);
        let all: usize = rows.iter().map(RowBits::rows).sum();
        if 2 * rows.iter().map(RowBits::len).sum::<usize>() <= all {
            return Ok(());
        }
        let mut broad = CachedAnswer::clone(broad);
        broad.evaluation_mut().refresh(&self.data.values());
        let pass = |segment: &&SnapshotSegment| {
            broad.evaluation().pass_within(&segment.segment, &segment.bounds)
        };
        let rows = added.iter().map(pass).collect();
        let broad = self.extend(broad, added, rows, abandoned)?;
        self.cache.keep(Arc::new(broad), self.data.memory_bytes_max());
        Ok(())
    }

    /// Returns for each segment the rows that pass the filter and have not expired.
    fn rows_of(
        &self,
        segments: &[&SnapshotSegment],
        abandoned: &AtomicBool,
    ) -> Result<Vec<RowBits>, Interruption> {
        let known = self.cache.known_rows(segments);
        let unknown = known.iter().filter(|rows| rows.is_none()).count();
        let blank = &self.blank;
        let rows = |(segment, known): (&&SnapshotSegment, Option<&RowBits>)| match known {
            Some(rows) => rows.clone(),
            None => blank.pass_within(&segment.segment, &segment.bounds),
        };
        let items = segments.iter().zip(known);
        spread(self.jobs_for(unknown), items, abandoned, rows)
    }

    fn recount(
        &self,
        recount: Recount<'_>,
        segments: usize,
        abandoned: &AtomicBool,
    ) -> Result<Evaluation, Interruption> {
        run(recount, segments, self.jobs_for(segments), abandoned)
    }

    fn jobs_for(&self, segments: usize) -> usize {
        jobs_for(self.jobs, segments)
    }
}
