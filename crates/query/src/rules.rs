//! Replays a rule over the records of a data set.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    CompiledFilter, LogSource, Record, RowReader, Segment, Selection, Snapshot, SnapshotSegment,
    Snapshots, Values,
};
use weir_rules::{Events, LimitSweep, Line, MissingField, Rule};
use weir_view::{CurvePoint, LimitCurve, Query, QueryError, ReplayedRule};

use crate::counter::Interruption;
use crate::spread::spread;

/// The segments that are observed at once, before their events are replayed.
const SEGMENTS_AT_ONCE: usize = 64;

/// The most bursts on a curve.
const POINTS_MAX: usize = 96;

/// Up to this burst a curve has every one.
const DENSE_BURSTS: u32 = 32;

/// The most peaks with a curve.
const PEAKS_MAX: usize = 100_000;

/// What a rule would have done with the records of a data set.
///
/// The line of a request is its byte offset in its source.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleAnswer {
    /// The report.
    pub rule: ReplayedRule,
    /// What other bursts would have caught, if the rule is a single limit of nginx.
    pub curve: Option<LimitCurve>,
    /// The records with values that were not kept, which were left out.
    pub unknown_records: u64,
}

/// Why a rule was not replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleQueryError {
    /// The query is not valid for the data.
    Query(QueryError),
    /// The rule needs a field that the data lacks.
    MissingField(MissingField),
    /// The rule reads whole lines, which a data set does not keep.
    ReadsLines,
}

impl fmt::Display for RuleQueryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(error) => error.fmt(formatter),
            Self::MissingField(error) => error.fmt(formatter),
            Self::ReadsLines => formatter.write_str(
                "the rule looks at whole lines, which are not kept; replay it over the files",
            ),
        }
    }
}

impl std::error::Error for RuleQueryError {}

impl From<QueryError> for RuleQueryError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

/// Replays a rule over the current records of a data set that a query selects, on up to `jobs`
/// threads. Times in the query are RFC 3339, see [`settled`](crate::settled). `None` if `abandoned`
/// became true meanwhile.
///
/// # Errors
/// Fails if the query is not valid for this data, or the data lacks a field of the rule.
pub fn replay_rule<D: Snapshots>(
    data: &Arc<D>,
    query: &Query,
    rule: &dyn Rule,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<RuleAnswer>, RuleQueryError> {
    if rule.observe_lines().is_some() {
        return Err(RuleQueryError::ReadsLines);
    }
    loop {
        let snapshot = data.snapshot();
        let replay = RowReplay { data, snapshot: &snapshot, rule, jobs, abandoned };
        match replay.run(query)? {
            Ok(answer) => return Ok(Some(answer)),
            Err(Interruption::StaleIds) => {}
            Err(Interruption::Abandoned) => return Ok(None),
        }
    }
}

/// The replay over one snapshot.
struct RowReplay<'a, D: Snapshots> {
    data: &'a Arc<D>,
    snapshot: &'a Snapshot<D::Source>,
    rule: &'a dyn Rule,
    jobs: usize,
    abandoned: &'a AtomicBool,
}

impl<D: Snapshots> RowReplay<'_, D> {
    fn run(&self, query: &Query) -> Result<Result<RuleAnswer, Interruption>, RuleQueryError> {
        let mut filter = CompiledFilter::new(&query.question(&self.data.values())?.filter);
        filter.refresh(&self.data.values());
        let mut replay = self.rule.replay();
        let mut unknown_records = 0;
        let segments: Vec<&SnapshotSegment> = self
            .snapshot
            .segments
            .iter()
            .filter(|segment| self.rule.sees(segment.segment.kind()))
            .collect();
        let kind = segments.first().map(|first| first.segment.kind()).unwrap_or_default();
        let rows = RowReader::new(&self.snapshot.formats, &self.data.values(), kind);
        if !segments.is_empty() {
            self.rule.bind(rows.fields()).map_err(RuleQueryError::MissingField)?;
        }
        for chunk in segments.chunks(SEGMENTS_AT_ONCE) {
            // Parsers wait while the values are read, so they are not kept from chunk to chunk.
            let guard = self.data.values();
            let values: &Values = &guard;
            if values.reuses() != self.snapshot.epoch {
                return Ok(Err(Interruption::StaleIds));
            }
            let (rule, filter, rows) = (self.rule, &filter, &rows);
            let observe = |segment: &&SnapshotSegment| {
                let selection = filter.pass_within(&segment.segment, &segment.bounds).selection();
                observe(rule, (rows, values), &segment.segment, &selection)
            };
            let observed = match spread(self.jobs, chunk.iter(), self.abandoned, observe) {
                Ok(observed) => observed,
                Err(interruption) => return Ok(Err(interruption)),
            };
            drop(guard);
            for (segment, (events, unknown)) in chunk.iter().zip(observed) {
                unknown_records += unknown;
                for event in events.iter() {
                    replay.take(segment.segment.source(), event.line, &event);
                }
            }
        }
        Ok(Ok(self.answer(replay, unknown_records)))
    }

    fn answer(&self, replay: Box<dyn weir_rules::Replay + '_>, unknown_records: u64) -> RuleAnswer {
        let curve = replay.sweep().map(|sweep| curve(&sweep));
        let names: Vec<String> =
            self.snapshot.sources.iter().map(|source| source.name().to_owned()).collect();
        let rule = ReplayedRule::new(self.rule, replay.finish(None), &names);
        RuleAnswer { rule, curve, unknown_records }
    }
}

/// The events of some rows of a segment, and the number of rows with values that are not known.
fn observe(
    rule: &dyn Rule,
    (rows, values): (&RowReader, &Values),
    segment: &Segment,
    selection: &Selection,
) -> (Events, u64) {
    let (mut events, mut unknown) = (Events::default(), 0);
    let Ok(mut observer) = rule.bind(rows.fields()) else { return (events, unknown) };
    let mut record = Record::new();
    selection.for_each(|row| {
        if !rows.read(segment, row, values, &mut record) {
            unknown += 1;
            return;
        }
        let (number, record) = (segment.line_offset(row), Some(&record));
        observer.observe(&Line { number, bytes: b"", record }, &mut events);
    });
    (events, unknown)
}

/// What each burst catches, at the rate of the limit.
fn curve(sweep: &LimitSweep) -> LimitCurve {
    let mut peaks = sweep.peaks(0..sweep.keys(), sweep.rate());
    peaks.retain(|peak| *peak > 0.0);
    peaks.sort_by(|one, other| other.total_cmp(one));
    let highest = peaks.first().map_or(0.0, |peak| peak.ceil()) as u32;
    let bursts = bursts(highest.max(sweep.burst()));
    let settings = sweep.settings(0..sweep.keys(), sweep.rate(), &bursts);
    let points = bursts.iter().zip(settings).map(|(burst, setting)| CurvePoint {
        burst: *burst,
        keys: setting.keys,
        requests: setting.requests,
    });
    let points = points.collect();
    peaks.truncate(PEAKS_MAX);
    LimitCurve { rate: sweep.rate() as f64 / 1_000.0, burst: sweep.burst(), points, peaks }
}

/// Bursts from 0 to `last`: each one at first, then with growing distances.
fn bursts(last: u32) -> Vec<u32> {
    let mut bursts: Vec<u32> = (0..=last.min(DENSE_BURSTS)).collect();
    let steps = POINTS_MAX - bursts.len();
    let factor = f64::from(last.max(1)) / f64::from(DENSE_BURSTS);
    for step in 1..=steps {
        let burst = f64::from(DENSE_BURSTS) * factor.powf(step as f64 / steps as f64);
        let burst = (burst.round() as u32).min(last);
        if bursts.last().is_some_and(|last| *last < burst) {
            bursts.push(burst);
        }
    }
    bursts
}

#[cfg(test)]
mod tests {
    use super::{POINTS_MAX, bursts};

    #[test]
    fn bursts_ascend_from_none_to_the_last() {
        for last in [0, 1, 5, 32, 33, 100, 5_000, u32::MAX] {
            let bursts = bursts(last);
            assert!(bursts.is_sorted_by(|one, other| one < other), "{last}");
            assert_eq!((bursts[0], bursts.last()), (0, Some(&last)));
            assert!(bursts.len() <= POINTS_MAX);
        }
    }
}
