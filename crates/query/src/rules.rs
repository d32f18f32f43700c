//! Replays a rule over the records of a data set.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{
    CompiledFilter, LogSource, Record, RowReader, Segment, Selection, Snapshot, SnapshotSegment,
    Snapshots, Values,
};
use weir_rules::{Events, LimitSweep, Line, MissingField, Rule};
use weir_view::{LimitCurve, Query, QueryError, ReplayedRule};

use crate::counter::Interruption;
use crate::limit_curve::limit_curve;
use crate::spread::spread;

/// The segments that are observed at once, before their events are replayed.
const SEGMENTS_AT_ONCE: usize = 64;

/// What a rule would have done with the records of a data set.
///
/// The line of a request is its byte offset in its source.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleAnswer {
    /// The report.
    pub rule: ReplayedRule,
    /// What other bursts would have caught, if the rule is a single limit of nginx.
    pub curve: Option<LimitCurve>,
    /// The requests for other settings, if the rule is a single limit of nginx.
    pub sweep: Option<LimitSweep>,
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
        let rows = match self.rule.reads() {
            Some(fields) => rows.only(&fields),
            None => rows,
        };
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
        let sweep = replay.sweep();
        let curve = sweep.as_ref().map(limit_curve);
        let names: Vec<String> =
            self.snapshot.sources.iter().map(|source| source.name().to_owned()).collect();
        let rule = ReplayedRule::new(self.rule, replay.finish(None), &names);
        RuleAnswer { rule, curve, sweep, unknown_records }
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
