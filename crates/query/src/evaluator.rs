//! Answers queries about a growing data set.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Snapshot, Snapshots, Values};
use weir_view::{KindCount, Query, RecordKind, Report, Timeline, main_kind};

use crate::comparison::comparison;
use crate::counter::{CountedAggregates, Counter};
use crate::extents::Extents;
use crate::group::{GroupPart, group_rows};
use crate::overlay::Overlay;
use crate::periods::{PeriodError, Periods};
use crate::question::{Now, ParsedQuery, PeriodBounds, QueryError, WrittenQuery};
use crate::report::{axis_ns, incomplete, plain_report, unfiltered_query};
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered, over_snapshot};

/// Answers one query about a data set repeatedly while the data set grows.
///
/// Each further answer adds only the new segments. An evaluator for [another query](Self::change)
/// starts from previous answers if that is less work.
#[derive(Debug)]
pub struct Evaluator<D> {
    data: Arc<D>,
    query: ParsedQuery,
    /// Counts all records, or those of the selected period if two periods are compared.
    now: Counter<D>,
    /// Counts the records of the previous period.
    before: Option<Counter<D>>,
    /// Counts the records that the query overlays.
    overlay: Option<Overlay<D>>,
    /// Counts all records of the kind over the time of the query. `None` if the query has no
    /// condition other than on the time.
    unfiltered: Option<Counter<D>>,
    extents: Extents,
    /// The kind of records that is counted: the query's, or the main kind of the last snapshot.
    kind: RecordKind,
}

/// The answer of an [`Evaluator`].
#[derive(Debug)]
pub struct Answer<S> {
    /// The report.
    pub report: Report,
    /// The sources at the time of the report.
    pub sources: Vec<S>,
    /// The distinct offsets from UTC of the first and last time stamp of each segment, in seconds.
    pub offsets_s: Vec<i32>,
    /// The number of records that have not expired, whether or not they pass the filter.
    pub rows_kept: u64,
    /// The first and the last time of all records of the report's kind, in nanoseconds since 1970.
    pub log_ns: Option<(i64, i64)>,
    /// The period that was compared with the one before it.
    pub selected_period: Option<PeriodBounds>,
    /// Why the periods could not be compared. In that case the report covers all records.
    pub period_error: Option<PeriodError>,
}

/// Reports on the current records of a data set, on up to `jobs` threads. Dates in the query are in
/// the zone of the log if the query has none.
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn report<D: Snapshots>(
    data: &Arc<D>,
    query: &Query,
    jobs: usize,
) -> Result<Report, QueryError> {
    let query = WrittenQuery::parse(query, Now::read())?;
    let query = query.settled_for(&**data)?;
    let mut evaluator = Evaluator::new(data.clone(), query, jobs)?;
    let answer = evaluator.answer(&AtomicBool::new(false));
    Ok(answer.map(|answer| answer.report).unwrap_or_default())
}

impl<D: Snapshots> Evaluator<D> {
    /// Creates an evaluator that has counted nothing and uses up to `jobs` threads.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn new(data: Arc<D>, query: ParsedQuery, jobs: usize) -> Result<Self, QueryError> {
        let kind = query.kind.unwrap_or_default();
        let now = Counter::new(data.clone(), filter_of(&query, kind), jobs)?;
        let (before, overlay, unfiltered) = (None, None, None);
        let extents = Extents::default();
        Ok(Self { data, query, now, before, overlay, unfiltered, extents, kind })
    }

    /// Creates an evaluator for another query about the same data set.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn change(&self, query: ParsedQuery) -> Result<Self, QueryError> {
        let kind = query.kind.unwrap_or(self.kind);
        let now = self.now.change(filter_of(&query, kind))?;
        let before = self.before.as_ref().filter(|_| query.compare.is_some());
        let before = before.map(|before| before.change(filter_of(&query, kind))).transpose()?;
        let overlay = self.overlay.as_ref().map(|overlay| overlay.change(&query)).transpose()?;
        let overlay = overlay.flatten();
        let (data, extents) = (self.data.clone(), self.extents.clone());
        let unfiltered = self.unfiltered.clone();
        let unfiltered =
            unfiltered.or_else(|| self.now.unfiltered(unfiltered_query(self.now.query())));
        Ok(Self { data, query, now, before, overlay, unfiltered, extents, kind })
    }

    /// The query.
    pub fn query(&self) -> &ParsedQuery {
        &self.query
    }

    /// Returns the memory of the answers kept as a base for others, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let others = [&self.before, &self.unfiltered].into_iter().flatten();
        let overlay = self.overlay.as_ref().map_or(0, Overlay::memory_bytes);
        self.now.memory_bytes() + overlay + others.map(Counter::memory_bytes).sum::<usize>()
    }

    /// Returns the memory of all answers, current and kept, in bytes. An answer that several
    /// evaluators share counts for each of them.
    pub fn total_memory_bytes(&self) -> usize {
        let others = [&self.before, &self.unfiltered].into_iter().flatten();
        let overlay = self.overlay.as_ref().map_or(0, Overlay::total_memory_bytes);
        let others = others.map(Counter::total_memory_bytes).sum::<usize>();
        self.now.total_memory_bytes() + overlay + others
    }

    /// Counts the new records and answers. Returns `None` if `abandoned` became true; the counts of
    /// this query may be lost in that case.
    pub fn answer(&mut self, abandoned: &AtomicBool) -> Option<Answer<D::Source>> {
        let (data, jobs) = (self.data.clone(), self.now.jobs());
        let work = |work: SnapshotWork<'_, D>| {
            self.answer_at(work).map_err(Unanswered::<Infallible>::Interrupted)
        };
        let Ok(answer) = over_snapshot(&data, jobs, abandoned, work);
        answer
    }

    fn answer_at(&mut self, work: SnapshotWork<'_, D>) -> Result<Answer<D::Source>, Interruption> {
        let (snapshot, abandoned) = (&work.snapshot, work.abandoned);
        self.extents.update(snapshot);
        let kinds = self.extents.kinds(snapshot);
        self.kind = self.query.kind.unwrap_or_else(|| main_kind(&kinds));
        let range_ns = || self.extents.time_range_ns(snapshot, self.kind);
        let periods = self.query.compare.map(|bounds| Periods::new(bounds, range_ns()));
        self.set_periods(periods.and_then(Result::ok))?;
        // First, while the previous answer is still known: it is often about the same time.
        self.set_unfiltered()?;
        self.now.count(snapshot, abandoned)?;
        self.set_overlay(periods.and_then(Result::ok))?;
        for counter in [&mut self.before, &mut self.unfiltered].into_iter().flatten() {
            counter.count(snapshot, abandoned)?;
        }
        if let Some(overlay) = &mut self.overlay {
            overlay.count(snapshot, abandoned)?;
        }
        let report = work.with_values(|values| {
            self.report(snapshot, values, periods.and_then(Result::ok), &kinds)
        })?;
        Ok(Answer {
            log_ns: self.extents.time_range_ns(snapshot, self.kind),
            report,
            offsets_s: self.extents.offsets_s(),
            rows_kept: self.now.rows_kept(&snapshot.segments),
            sources: work.snapshot.sources,
            selected_period: periods.and_then(Result::ok).map(|periods| periods.now.into()),
            period_error: periods.and_then(Result::err),
        })
    }

    /// Sets the counters to the compared periods, if there are any.
    fn set_periods(&mut self, periods: Option<Periods>) -> Result<(), Interruption> {
        let query = filter_of(&self.query, self.kind);
        let Some(Periods { now, before }) = periods else {
            self.before = None;
            return retarget(&mut self.now, query);
        };
        let query_before = query.clone().within(before.into());
        match &mut self.before {
            Some(counter) => retarget(counter, query_before)?,
            None => {
                let counter = self.now.change(query_before);
                self.before = Some(counter.map_err(|_| Interruption::Abandoned)?);
            }
        }
        retarget(&mut self.now, query.within(now.into()))
    }

    /// Sets the overlay to the period of the report, if the query has an overlay.
    fn set_overlay(&mut self, periods: Option<Periods>) -> Result<(), Interruption> {
        let is_outdated = |overlay: &Overlay<D>| overlay.lacks_blocks(&self.data, &self.query);
        if self.overlay.as_ref().is_none_or(is_outdated) {
            let overlay = Overlay::new(&self.data, &self.now, &self.query);
            self.overlay = overlay.map_err(|_| Interruption::Abandoned)?;
        }
        match &mut self.overlay {
            Some(overlay) => overlay.retarget(&self.query, periods),
            None => Ok(()),
        }
    }

    /// Sets the counter of unfiltered records to the time of the report, if the query has other
    /// conditions.
    fn set_unfiltered(&mut self) -> Result<(), Interruption> {
        if !self.now.is_filtered() {
            // The report itself has these counts.
            self.unfiltered = None;
            return Ok(());
        }
        let query = unfiltered_query(self.now.query());
        match &mut self.unfiltered {
            // Most changes of a filter keep the time.
            Some(unfiltered) if unfiltered.is_for_time_of(&self.now, &query) => Ok(()),
            Some(unfiltered) => retarget(unfiltered, query),
            None => {
                let counter = self.now.change_to(query, CountedAggregates::UnfilteredHistogram);
                self.unfiltered = Some(counter.map_err(|_| Interruption::Abandoned)?);
                Ok(())
            }
        }
    }

    /// Returns the first and the last time of the records that the chart shows.
    fn log_ns(&self, snapshot: &Snapshot<D::Source>) -> Option<(i64, i64)> {
        let own = self.extents.time_range_ns(snapshot, self.kind);
        let overlaid = self.overlay.as_ref().zip(self.query.overlay).and_then(|(overlay, kind)| {
            let range_ns = self.extents.time_range_ns(snapshot, kind)?;
            Some(overlay.by_own_clock(range_ns))
        });
        let blocks = self.overlay.as_ref().and_then(Overlay::blocks_ns);
        let ranges = [own, overlaid, blocks].into_iter().flatten();
        let (first, last) =
            ranges.reduce(|(first, last), (from, until)| (first.min(from), last.max(until)))?;
        let window = self.data.window_ns().and_then(|width| last.checked_sub(width));
        Some((window.map_or(first, |from| first.min(from)), last))
    }

    fn report(
        &self,
        snapshot: &Snapshot<D::Source>,
        values: &Values,
        periods: Option<Periods>,
        kinds: &[KindCount],
    ) -> Report {
        let kind = (self.kind, kinds);
        let (query, top) = (&self.query, self.query.top);
        let now = self.now.evaluation();
        let before = self.before.as_ref().map(Counter::evaluation);
        let log_ns = self.log_ns(snapshot);
        let timeline = Timeline {
            own: now,
            overlay: &self.overlay.as_ref().map(Overlay::layers).unwrap_or_default(),
            unfiltered: self.unfiltered.as_ref().map(Counter::evaluation),
            range_ns: axis_ns(now, log_ns),
        };
        let mut report = plain_report(&timeline, values, snapshot, query, kind);
        if let (Some(periods), Some(before)) = (periods, before) {
            let range_ns = axis_ns(before, log_ns);
            let timeline = Timeline { own: before, overlay: &[], unfiltered: None, range_ns };
            let report_before = plain_report(&timeline, values, snapshot, query, kind);
            let compare =
                comparison(&periods, values, (now, &report), (before, report_before), top);
            report.compare = Some(compare);
        }
        let part = GroupPart { count: top, ..GroupPart::default() };
        report.group =
            query.group.as_ref().and_then(|group| group_rows(group, values, now, before, part));
        report.incomplete = incomplete(&snapshot.sources);
        report
    }
}

/// Returns the query about one kind of records, without the comparison, which the counts do not
/// depend on.
pub(crate) fn filter_of(query: &ParsedQuery, kind: RecordKind) -> ParsedQuery {
    ParsedQuery { compare: None, kind: Some(kind), ..query.clone() }
}

/// Makes a counter count the records of a query.
pub(crate) fn retarget<D: Snapshots>(
    counter: &mut Counter<D>,
    query: ParsedQuery,
) -> Result<(), Interruption> {
    if !counter.is_for(&query) {
        // The query was valid when it was asked, and columns are only ever added.
        *counter = counter.change(query).map_err(|_| Interruption::Abandoned)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};

    use super::*;

    #[test]
    fn the_memory_of_unfiltered_counts_is_counted() {
        let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
        let mut log = pipeline.source("access.log", None, FormatChoice::Detect);
        let line = b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 17\n";
        log.write_all(line).expect("room for the line");
        log.finish(SourceEnd::Done).expect("room for the line");
        pipeline.finish();
        let query = Query { conditions: vec!["status=404".to_owned()], ..Query::default() };
        let query = ParsedQuery::parse(&query).expect("a query");
        let mut evaluator = Evaluator::new(data, query, 1).expect("a query for this data");
        evaluator.answer(&AtomicBool::new(false)).expect("an answer");
        let unfiltered = evaluator.unfiltered.as_ref().expect("there is a condition");
        let (own, unfiltered) =
            (evaluator.now.total_memory_bytes(), unfiltered.total_memory_bytes());
        assert!(unfiltered > 0);
        assert_eq!(evaluator.total_memory_bytes(), own + unfiltered);
    }
}
