//! Replays a rule over the records of a data set.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_core::{
    AddressBlock, CompiledFilter, LogSource, Record, RecordKind, RowReader, Segment, Selection,
    SnapshotSegment, Snapshots, Values,
};
use weir_rules::{Events, LimitSweep, Line, LineTally, LogCounts, MissingField, Replay, Rule};
use weir_view::{Collateral, LimitAdvice, LimitCurve, LimitGrid, ReplayedRule};

use crate::advice::{advice, grid};
use crate::client_traits::ClientTraits;
use crate::collateral::{collateral, good_peaks};
use crate::limit_curve::limit_curve;
use crate::question::{ParsedQuery, QueryError};
use crate::rule_comparison::caught;
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered, over_snapshot};
use crate::source_lines::{
    LineReplay, LineReport, NoLines, SelectedLines, SourceLines, SourceLinesError,
};

/// The number of segments that are observed before their events are replayed: at first, and at most.
const SEGMENTS_AT_FIRST: usize = 4;
const SEGMENTS_AT_ONCE: usize = 64;

/// The time that a chunk of segments should take, because parsers wait for it.
const CHUNK_TIME: Duration = Duration::from_millis(50);

/// The replay of a rule over the records of a data set.
///
/// The line of a request is its byte offset in its source, or, for a rule that looks at lines, its
/// number from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleAnswer {
    /// The report.
    pub rule: ReplayedRule,
    /// The requests that other bursts would have caught, if the rule is a single limit of nginx.
    pub curve: Option<LimitCurve>,
    /// The requests in the form that other settings are tried on, if the rule is a single limit of
    /// nginx.
    pub sweep: Option<LimitSweep>,
    /// The requests that other rates and bursts would have caught, if [`RuleOptions::has_grid`].
    pub grid: Option<LimitGrid>,
    /// The good clients among the keys that trip the rule, if [`RuleOptions::has_collateral`].
    pub collateral: Option<Collateral>,
    /// The keys that trip the rule, if [`RuleOptions::has_caught`]: at most a million. A key may
    /// occur once for each limit of the rule.
    pub caught: Vec<Box<[u8]>>,
    /// The number of records that were left out, because a value of theirs was not kept.
    pub unknown_records: u64,
}

/// Options of a replay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleOptions {
    /// Whether to try other rates and bursts, if the rule is a single limit of nginx.
    pub has_grid: bool,
    /// Whether to find the good clients among the keys.
    pub has_collateral: bool,
    /// Networks whose clients are good.
    pub good_networks: Vec<AddressBlock>,
    /// Whether to keep all keys that trip the rule, for [`compare_rules`](crate::compare_rules).
    pub has_caught: bool,
}

/// Why a rule was not replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleQueryError {
    /// The query is not valid for the data.
    Query(QueryError),
    /// The rule needs a field that the data lacks.
    MissingField(MissingField),
    /// The rule looks at whole lines, and some of them are gone. With a sentence that says which.
    LinesGone(String),
}

impl fmt::Display for RuleQueryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(error) => error.fmt(formatter),
            Self::MissingField(error) => error.fmt(formatter),
            Self::LinesGone(why) => {
                write!(formatter, "the rule looks at whole lines, and {why}")
            }
        }
    }
}

impl std::error::Error for RuleQueryError {}

impl From<QueryError> for RuleQueryError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

/// Replays a rule over the current records of a data set that a query selects, as [`replay_rules`]
/// does for several. Returns `None` if `abandoned` became true.
///
/// # Errors
/// Fails if the query is not valid for this data, the data lacks a field of the rule, or the rule
/// looks at lines.
pub fn replay_rule<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    rule: &dyn Rule,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<RuleAnswer>, RuleQueryError> {
    let options = RuleOptions::default();
    let answers = replay_rules(data, query, (&[rule], &NoLines), &options, jobs, abandoned)?;
    Ok(answers.and_then(|answers| answers.into_iter().next()))
}

/// Replays rules over the current records of a data set that a query selects, on up to `jobs`
/// threads, or over the lines of these records for rules that look at lines. Returns `None` if
/// `abandoned` became true.
///
/// # Errors
/// Fails if the query is not valid for this data, if the data lacks a field of a rule, or if lines
/// that a rule needs are gone.
pub fn replay_rules<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    (rules, lines): (&[&dyn Rule], &dyn SourceLines),
    options: &RuleOptions,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<Vec<RuleAnswer>>, RuleQueryError> {
    let work = LineWork { data, query, jobs, abandoned };
    let Some(reports) = work.over_lines(rules, lines)? else { return Ok(None) };
    over_snapshot(data, jobs, abandoned, |work| {
        RowReplay { work: &work, options }.run_all(query, rules, &reports)
    })
}

/// The replays of rules that look at lines.
struct LineWork<'a, D> {
    data: &'a Arc<D>,
    query: &'a ParsedQuery,
    jobs: usize,
    abandoned: &'a AtomicBool,
}

impl<D: Snapshots> LineWork<'_, D> {
    /// Replays the rules that look at lines. The lines are read once for all of them. Returns the
    /// reports of these rules in their order, or `None` if they are no longer wanted.
    fn over_lines(
        &self,
        rules: &[&dyn Rule],
        lines: &dyn SourceLines,
    ) -> Result<Option<Vec<LineReport>>, RuleQueryError> {
        let Self { data, query, jobs, abandoned } = *self;
        let (of_lines, of_rows): (Vec<&dyn Rule>, Vec<&dyn Rule>) =
            rules.iter().partition(|rule| rule.observe_lines().is_some());
        if of_lines.is_empty() {
            return Ok(Some(Vec::new()));
        }
        // What would refuse the others comes first, because the lines may be there only once.
        let options = &RuleOptions::default();
        let checked = over_snapshot(data, jobs, abandoned, |work| {
            let replay = RowReplay { work: &work, options };
            of_rows.iter().try_for_each(|rule| replay.seen_rows(*rule).map(drop))
        })?;
        if checked.is_none() {
            return Ok(None);
        }
        let replays = of_lines.into_iter();
        let mut replays: Vec<_> = replays.map(LineReplay::new).collect();
        let selected = SelectedLines::of(query, &data.values())?;
        match lines.replay(&selected, &mut replays) {
            Ok(()) => {}
            Err(SourceLinesError::Abandoned) => return Ok(None),
            Err(SourceLinesError::Gone(why)) => return Err(RuleQueryError::LinesGone(why)),
        }
        Ok(Some(replays.into_iter().map(LineReplay::finish).collect()))
    }
}

/// The replays over one snapshot.
struct RowReplay<'a, D: Snapshots> {
    work: &'a SnapshotWork<'a, D>,
    options: &'a RuleOptions,
}

/// The rows that a rule looks at, and their reader.
struct SeenRows<'a> {
    segments: Vec<&'a SnapshotSegment>,
    rows: RowReader,
}

/// A replay that has taken its rows.
struct RowsReplayed<'r> {
    replay: Box<dyn Replay + 'r>,
    /// What it looked at.
    log: LogCounts,
    /// The number of records that were left out.
    unknown_records: u64,
}

type ReplayResult<T> = Result<T, Unanswered<RuleQueryError>>;

impl<D: Snapshots> RowReplay<'_, D> {
    /// Answers for all rules. `reports` has those of the rules that look at lines.
    fn run_all(
        &self,
        query: &ParsedQuery,
        rules: &[&dyn Rule],
        reports: &[LineReport],
    ) -> ReplayResult<Vec<RuleAnswer>> {
        let has_traits = self.options.has_grid || self.options.has_collateral;
        let networks = &self.options.good_networks;
        let traits = has_traits.then(|| ClientTraits::of(self.work, networks)).transpose()?;
        let mut reports = reports.iter();
        let answer = |rule: &&dyn Rule| match rule.observe_lines().and_then(|_| reports.next()) {
            Some(report) => {
                Ok(self.answer_of_report(*rule, report.clone(), &self.log(), traits.as_ref())?)
            }
            None => {
                let rows = self.over_rows(query, *rule)?;
                Ok(self.answer(*rule, rows, traits.as_ref())?)
            }
        };
        rules.iter().map(answer).collect()
    }

    /// Returns the rows that a rule looks at.
    fn seen_rows(&self, rule: &dyn Rule) -> ReplayResult<SeenRows<'_>> {
        let SnapshotWork { data, snapshot, .. } = self.work;
        let is_seen = |segment: &&SnapshotSegment| rule.sees(segment.segment.kind());
        let segments: Vec<&SnapshotSegment> = snapshot.segments.iter().filter(is_seen).collect();
        let kind = segments.first().map(|first| first.segment.kind()).unwrap_or_default();
        let rows = RowReader::new(&snapshot.formats, &data.values(), kind);
        let rows = match rule.reads() {
            Some(fields) => rows.only(&fields),
            None => rows,
        };
        if !segments.is_empty() {
            let bound = rule.bind(rows.fields()).map_err(RuleQueryError::MissingField);
            bound.map_err(Unanswered::Refused)?;
        }
        Ok(SeenRows { segments, rows })
    }

    /// Counts the lines and the records that were read, whether or not the query selects them.
    fn log(&self) -> LogCounts {
        let mut log = LogCounts::default();
        for source in &self.work.snapshot.sources {
            let counts = source.read_counts();
            log.lines += counts.lines;
            log.unparsed += counts.unparsed_lines;
        }
        for segment in self.work.snapshot.segments.iter() {
            log.records[segment.segment.kind() as usize] += segment.rows() as u64;
        }
        log
    }

    /// Replays a rule that looks at records.
    fn over_rows<'r>(
        &self,
        query: &ParsedQuery,
        rule: &'r dyn Rule,
    ) -> ReplayResult<RowsReplayed<'r>> {
        let data = self.work.data;
        let filter = query.filter(&data.values());
        let filter = filter.map_err(|error| Unanswered::Refused(error.into()))?;
        let mut filter = CompiledFilter::new(&filter);
        self.work.refresh(&mut filter, &data.values())?;
        let SeenRows { segments, rows } = self.seen_rows(rule)?;
        let mut replay = rule.replay();
        let mut unknown_records = 0;
        let mut log = self.log();
        let kinds = RecordKind::ALL.into_iter().filter(|kind| rule.sees(*kind));
        kinds.for_each(|kind| log.records[kind as usize] = 0);
        let takes_rows = replay.bind_rows(&rows);
        let mut pace = ChunkPace::default();
        let mut rest = &segments[..];
        while !rest.is_empty() {
            let (chunk, others) = rest.split_at(pace.segments().min(rest.len()));
            unknown_records += match takes_rows {
                true => self.take_rows(&filter, chunk, &mut *replay, &mut log)?,
                false => self.observe(&filter, (rule, &rows), chunk, &mut *replay, &mut log)?,
            };
            pace.end_chunk();
            rest = others;
        }
        // Patterns match nothing once the work is stopped, so what was found then is wrong.
        self.work.check_wanted()?;
        Ok(RowsReplayed { replay, log, unknown_records })
    }

    /// Passes the selected rows of some segments to the replay. Returns the number of rows with
    /// unknown values.
    fn take_rows(
        &self,
        filter: &CompiledFilter,
        segments: &[&SnapshotSegment],
        replay: &mut dyn Replay,
        log: &mut LogCounts,
    ) -> Result<u64, Interruption> {
        let select =
            |it: &&SnapshotSegment| filter.pass_within(&it.segment, &it.bounds).selection();
        let selections = self.work.spread(segments.iter(), select)?;
        self.work.with_values(|values| {
            let mut unknown = 0;
            for (it, rows) in segments.iter().zip(&selections) {
                self.work.check_wanted()?;
                log.records[it.segment.kind() as usize] += rows.len() as u64;
                unknown += replay.take_rows(&it.segment, rows, values);
            }
            Ok(unknown)
        })?
    }

    /// Observes the selected rows of some segments, and passes the events to the replay. Returns
    /// the number of rows with unknown values.
    fn observe(
        &self,
        filter: &CompiledFilter,
        (rule, rows): (&dyn Rule, &RowReader),
        segments: &[&SnapshotSegment],
        replay: &mut dyn Replay,
        log: &mut LogCounts,
    ) -> Result<u64, Interruption> {
        // The lock on the values is released between chunks, because parsers wait for it.
        let observed = self.work.with_values(|values| {
            let observe = |segment: &&SnapshotSegment| {
                let selection = filter.pass_within(&segment.segment, &segment.bounds).selection();
                observe(rule, (rows, values), &segment.segment, &selection, self.work.abandoned)
            };
            self.work.spread(segments.iter(), observe)
        })??;
        let mut unknown_records = 0;
        for (segment, ObservedRows { events, rows, unknown }) in segments.iter().zip(observed) {
            unknown_records += unknown;
            log.records[segment.segment.kind() as usize] += rows;
            for event in events.iter() {
                replay.take(segment.segment.source(), event.line, &event);
            }
        }
        Ok(unknown_records)
    }

    fn answer(
        &self,
        rule: &dyn Rule,
        rows: RowsReplayed<'_>,
        traits: Option<&ClientTraits>,
    ) -> Result<RuleAnswer, Interruption> {
        let RowsReplayed { replay, log, unknown_records } = rows;
        let sweep = replay.sweep();
        let (advice, good_peaks) = match (&sweep, traits) {
            (Some(sweep), Some(traits)) => self.judge_keys(&*replay, sweep, traits)?,
            _ => (None, Vec::new()),
        };
        let grid = sweep
            .as_ref()
            .filter(|_| self.options.has_grid)
            .map(|sweep| grid(sweep, advice, self.work.jobs, self.work.abandoned))
            .transpose()?;
        let (report, tally) = (replay.finish(None), LineTally::default());
        let answer = self.answer_of_report(rule, LineReport { report, tally }, &log, traits)?;
        let collateral = answer.collateral.map(|found| Collateral { peaks: good_peaks, ..found });
        let curve = sweep.as_ref().map(limit_curve);
        Ok(RuleAnswer { curve, grid, collateral, sweep, unknown_records, ..answer })
    }

    /// Returns the answer of a rule that has a report only.
    fn answer_of_report(
        &self,
        rule: &dyn Rule,
        LineReport { report, tally }: LineReport,
        log: &LogCounts,
        traits: Option<&ClientTraits>,
    ) -> Result<RuleAnswer, Interruption> {
        // Sources that were removed leave gaps.
        let mut names = Vec::new();
        for (place, source) in self.work.snapshot.sources.iter().enumerate() {
            let number = source.number().map_or(place, |number| number as usize);
            names.resize(number.max(names.len()), String::new());
            names.push(source.name().to_owned());
        }
        let traits = traits.filter(|_| self.options.has_collateral);
        let collateral = match traits {
            Some(traits) => self.work.with_values(|values| collateral(&report, traits, values))?,
            None => None,
        };
        Ok(RuleAnswer {
            curve: None,
            grid: None,
            collateral,
            caught: if self.options.has_caught { caught(&report) } else { Vec::new() },
            rule: ReplayedRule::new(rule, report, log, &tally, &names),
            sweep: None,
            unknown_records: 0,
        })
    }

    /// Returns the advice about a limit, and the peaks of its good clients.
    fn judge_keys(
        &self,
        replay: &dyn Replay,
        sweep: &LimitSweep,
        traits: &ClientTraits,
    ) -> Result<(Option<LimitAdvice>, Vec<f64>), Interruption> {
        let key = |number: usize| replay.sweep_key(u32::try_from(number).ok()?);
        self.work.with_values(|values| {
            let advice = self.options.has_grid.then(|| advice(sweep, key, traits, values));
            let has_peaks = self.options.has_collateral;
            let peaks = has_peaks.then(|| good_peaks(sweep, key, traits, values));
            (advice.flatten(), peaks.unwrap_or_default())
        })
    }
}

/// Chooses how many segments make a chunk.
struct ChunkPace {
    segments: usize,
    begun: Instant,
}

impl Default for ChunkPace {
    fn default() -> Self {
        Self { segments: SEGMENTS_AT_FIRST, begun: Instant::now() }
    }
}

impl ChunkPace {
    /// The number of segments of the next chunk.
    fn segments(&mut self) -> usize {
        self.begun = Instant::now();
        self.segments
    }

    /// Makes the next chunk longer or shorter by the time of this one.
    fn end_chunk(&mut self) {
        self.segments = match self.begun.elapsed() {
            took if took < CHUNK_TIME / 2 => (2 * self.segments).min(SEGMENTS_AT_ONCE),
            took if took > CHUNK_TIME => (self.segments / 2).max(1),
            _ => self.segments,
        };
    }
}

/// What was observed of some rows of a segment.
struct ObservedRows {
    events: Events,
    /// The number of rows.
    rows: u64,
    /// The number of rows with unknown values.
    unknown: u64,
}

/// Observes some rows of a segment.
fn observe(
    rule: &dyn Rule,
    (rows, values): (&RowReader, &Values),
    segment: &Segment,
    selection: &Selection,
    abandoned: &AtomicBool,
) -> ObservedRows {
    let mut observed =
        ObservedRows { events: Events::default(), rows: selection.len() as u64, unknown: 0 };
    let Ok(mut observer) = rule.bind(rows.fields()) else { return observed };
    let mut record = Record::new();
    selection.for_each(|row| {
        // A rule with thousands of patterns takes milliseconds for a record.
        if abandoned.load(Ordering::Relaxed) {
            return;
        }
        if !rows.read(segment, row, values, &mut record) {
            observed.unknown += 1;
            return;
        }
        let (number, record) = (segment.line_offset(row), Some(&record));
        observer.observe(&Line { number, bytes: b"", record }, &mut observed.events);
    });
    observed
}
