//! Replays a rule over the records of a data set.

use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_core::{
    AddressBlock, CompiledFilter, LogSource, Record, RowReader, Segment, Selection,
    SnapshotSegment, Snapshots, Values,
};
use weir_rules::{Events, LimitSweep, Line, LineTally, LogCounts, MissingField, Replay, Rule};
use weir_view::{ClientProfile, Collateral, LimitAdvice, LimitCurve, LimitGrid, ReplayedRule};

use crate::advice::{advice, grid};
use crate::clients::ClientTraits;
use crate::collateral::{collateral, good_peaks};
use crate::limit_curve::limit_curve;
use crate::question::{ParsedQuery, QueryError};
use crate::rule_comparison::caught;
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered, over_snapshot};
use crate::source_lines::{
    LineReplay, LineReport, NoLines, SelectedLines, SourceLines, SourceLinesError,
};
use crate::suggested_setting::{KeyClient, suspects};

/// The number of segments that are observed before their events are replayed: at first, and at most.
const SEGMENTS_AT_FIRST: usize = 4;
const SEGMENTS_AT_ONCE: usize = 64;

/// The most keys, bans and alerts each of a rule whose clients are described.
const PROFILES_MAX: usize = 500;

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
    /// Why the rule was not replayed, if it was not. Its report is empty then.
    pub unanswered: Option<RuleQueryError>,
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
    let answer = answers.and_then(|answers| answers.into_iter().next());
    match answer {
        Some(RuleAnswer { unanswered: Some(error), .. }) => Err(error),
        answer => Ok(answer),
    }
}

/// Replays rules over the current records of a data set that a query selects, on up to `jobs`
/// threads, or over the lines of these records for rules that look at lines. Returns `None` if
/// `abandoned` became true.
///
/// A rule that needs a field which the data lacks, or lines that are gone, leaves the others: see
/// [`RuleAnswer::unanswered`].
///
/// # Errors
/// Fails if the query is not valid for this data.
pub fn replay_rules<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    (rules, lines): (&[&dyn Rule], &dyn SourceLines),
    options: &RuleOptions,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Option<Vec<RuleAnswer>>, QueryError> {
    let Some(reports) = over_lines(query, &data.values(), (rules, lines))? else {
        return Ok(None);
    };
    over_snapshot(data, jobs, abandoned, |work| {
        let filter = query.filter(&data.values()).map_err(Unanswered::Refused)?;
        let mut filter = CompiledFilter::new(&filter);
        work.refresh(&mut filter, &data.values())?;
        let log = count_lines(&work, &filter, !query.selects_all())?;
        RowReplay { work: &work, filter, log, options }.run_all(rules, &reports)
    })
}

/// The reports of the rules that look at lines, in their order.
type LineReports = Vec<Result<LineReport, RuleQueryError>>;

/// Replays the rules that look at lines. The lines are read once for all of them. Returns `None` if
/// the reports are no longer wanted.
fn over_lines(
    query: &ParsedQuery,
    values: &Values,
    (rules, lines): (&[&dyn Rule], &dyn SourceLines),
) -> Result<Option<LineReports>, QueryError> {
    let of_lines = rules.iter().filter(|rule| rule.observe_lines().is_some());
    let mut replays: Vec<_> = of_lines.map(|rule| LineReplay::new(*rule)).collect();
    if replays.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let selected = SelectedLines::of(query, values)?;
    let reports = match lines.replay(&selected, &mut replays) {
        Ok(()) => replays.into_iter().map(|replay| Ok(replay.finish())).collect(),
        Err(SourceLinesError::Abandoned) => return Ok(None),
        Err(SourceLinesError::Gone(why)) => {
            vec![Err(RuleQueryError::LinesGone(why)); replays.len()]
        }
    };
    Ok(Some(reports))
}

/// The replays over one snapshot.
struct RowReplay<'a, D: Snapshots> {
    work: &'a SnapshotWork<'a, D>,
    filter: CompiledFilter,
    log: LogCounts,
    options: &'a RuleOptions,
}

/// Counts all lines, or those of the records that a filter selects.
fn count_lines<D: Snapshots>(
    work: &SnapshotWork<'_, D>,
    filter: &CompiledFilter,
    is_filtered: bool,
) -> Result<LogCounts, Interruption> {
    let mut counts = LogCounts::default();
    for source in &work.snapshot.sources {
        let read = source.read_counts();
        counts.lines += read.lines;
        counts.unparsed += read.unparsed_lines;
    }
    let segments: Vec<&SnapshotSegment> = work.snapshot.segments.iter().collect();
    let count = |it: &&SnapshotSegment| {
        let rows = filter.pass_within(&it.segment, &it.bounds).selection().len();
        (it.segment.kind(), rows as u64)
    };
    for (kind, rows) in work.spread(segments.iter(), count)? {
        counts.records[kind as usize] += rows;
    }
    Ok(if is_filtered { counts.of_selected() } else { counts })
}

/// The rows that a rule looks at, and their reader.
struct SeenRows<'a> {
    segments: Vec<&'a SnapshotSegment>,
    rows: RowReader,
}

/// A replay that has taken its rows.
struct RowsReplayed<'r> {
    replay: Box<dyn Replay + 'r>,
    /// The number of records that were left out.
    unknown_records: u64,
}

type ReplayResult<T> = Result<T, Unanswered<QueryError>>;

impl<D: Snapshots> RowReplay<'_, D> {
    /// Answers for all rules. `reports` has those of the rules that look at lines.
    fn run_all(
        &self,
        rules: &[&dyn Rule],
        reports: &[Result<LineReport, RuleQueryError>],
    ) -> ReplayResult<Vec<RuleAnswer>> {
        let has_traits = self.options.has_grid || self.options.has_collateral;
        let networks = &self.options.good_networks;
        let traits = has_traits.then(|| ClientTraits::of(self.work, networks)).transpose()?;
        let mut reports = reports.iter();
        let answer = |rule: &&dyn Rule| match rule.observe_lines().and_then(|_| reports.next()) {
            Some(Ok(report)) => {
                Ok(self.answer_of_report(*rule, report.clone(), traits.as_ref())?)
            }
            Some(Err(error)) => Ok(self.unanswered(*rule, error.clone())?),
            None => match self.over_rows(*rule)? {
                Ok(rows) => Ok(self.answer(*rule, rows, traits.as_ref())?),
                Err(missing) => Ok(self.unanswered(*rule, RuleQueryError::MissingField(missing))?),
            },
        };
        rules.iter().map(answer).collect()
    }

    /// Returns the empty answer of a rule that was not replayed.
    fn unanswered(
        &self,
        rule: &dyn Rule,
        error: RuleQueryError,
    ) -> Result<RuleAnswer, Interruption> {
        let (report, tally) = (rule.replay().finish(None), LineTally::default());
        let answer = self.answer_of_report(rule, LineReport { report, tally }, None)?;
        let rule = answer.rule.not_evaluated(&error);
        Ok(RuleAnswer { rule, unanswered: Some(error), ..answer })
    }

    /// Returns the rows that a rule looks at.
    fn seen_rows(&self, rule: &dyn Rule) -> Result<SeenRows<'_>, MissingField> {
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
            rule.bind(rows.fields())?;
        }
        Ok(SeenRows { segments, rows })
    }

    /// Replays a rule that looks at records.
    fn over_rows<'r>(
        &self,
        rule: &'r dyn Rule,
    ) -> ReplayResult<Result<RowsReplayed<'r>, MissingField>> {
        let SeenRows { segments, rows } = match self.seen_rows(rule) {
            Ok(seen) => seen,
            Err(missing) => return Ok(Err(missing)),
        };
        let mut replay = rule.replay();
        let mut unknown_records = 0;
        let takes_rows = replay.bind_rows(&rows);
        let mut pace = ChunkPace::default();
        let mut rest = &segments[..];
        while !rest.is_empty() {
            let (chunk, others) = rest.split_at(pace.segments().min(rest.len()));
            unknown_records += match takes_rows {
                true => self.take_rows(chunk, &mut *replay)?,
                false => self.observe((rule, &rows), chunk, &mut *replay)?,
            };
            pace.end_chunk();
            rest = others;
        }
        // Patterns match nothing once the work is stopped, so what was found then is wrong.
        self.work.check_wanted()?;
        Ok(Ok(RowsReplayed { replay, unknown_records }))
    }

    /// Passes the selected rows of some segments to the replay. Returns the number of rows with
    /// unknown values.
    fn take_rows(
        &self,
        segments: &[&SnapshotSegment],
        replay: &mut dyn Replay,
    ) -> Result<u64, Interruption> {
        let filter = &self.filter;
        let select =
            |it: &&SnapshotSegment| filter.pass_within(&it.segment, &it.bounds).selection();
        let selections = self.work.spread(segments.iter(), select)?;
        self.work.with_values(|values| {
            let mut unknown = 0;
            for (it, rows) in segments.iter().zip(&selections) {
                self.work.check_wanted()?;
                unknown += replay.take_rows(&it.segment, rows, values);
            }
            Ok(unknown)
        })?
    }

    /// Observes the selected rows of some segments, and passes the events to the replay. Returns
    /// the number of rows with unknown values.
    fn observe(
        &self,
        (rule, rows): (&dyn Rule, &RowReader),
        segments: &[&SnapshotSegment],
        replay: &mut dyn Replay,
    ) -> Result<u64, Interruption> {
        // The lock on the values is released between chunks, because parsers wait for it.
        let (filter, abandoned) = (&self.filter, self.work.abandoned);
        let observed = self.work.with_values(|values| {
            let observe = |segment: &&SnapshotSegment| {
                let selection = filter.pass_within(&segment.segment, &segment.bounds).selection();
                observe(rule, (rows, values), &segment.segment, &selection, abandoned)
            };
            self.work.spread(segments.iter(), observe)
        })??;
        let mut unknown_records = 0;
        for (segment, ObservedRows { events, unknown }) in segments.iter().zip(observed) {
            unknown_records += unknown;
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
        let RowsReplayed { replay, unknown_records } = rows;
        let sweep = replay.sweep();
        let (advice, good_peaks) = match (&sweep, traits) {
            (Some(sweep), Some(traits)) => {
                (self.advice(&*replay, sweep, traits)?, self.good_peaks(&*replay, sweep, traits)?)
            }
            _ => (None, Vec::new()),
        };
        let grid = sweep
            .as_ref()
            .filter(|_| self.options.has_grid)
            .map(|sweep| grid(sweep, advice, self.work.jobs, self.work.abandoned))
            .transpose()?;
        let (report, tally) = (replay.finish(None), LineTally::default());
        let answer = self.answer_of_report(rule, LineReport { report, tally }, traits)?;
        let collateral = answer.collateral.map(|found| Collateral { peaks: good_peaks, ..found });
        let curve = sweep.as_ref().map(limit_curve);
        Ok(RuleAnswer { curve, grid, collateral, sweep, unknown_records, ..answer })
    }

    /// Returns the answer of a rule that has a report only.
    fn answer_of_report(
        &self,
        rule: &dyn Rule,
        LineReport { report, tally }: LineReport,
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
        let caught = if self.options.has_caught { caught(&report) } else { Vec::new() };
        let mut rule = ReplayedRule::new(rule, report, &self.log, &tally, &names);
        if let Some(traits) = traits {
            rule.clients = self.profiles(&rule, traits)?;
        }
        Ok(RuleAnswer {
            curve: None,
            grid: None,
            collateral,
            caught,
            rule,
            sweep: None,
            unknown_records: 0,
            unanswered: None,
        })
    }

    /// Returns the advice about a limit, if a grid is asked for.
    fn advice(
        &self,
        replay: &dyn Replay,
        sweep: &LimitSweep,
        traits: &ClientTraits,
    ) -> Result<Option<LimitAdvice>, Interruption> {
        if !self.options.has_grid {
            return Ok(None);
        }
        let numbers = suspects(sweep);
        // The lock on the values is released before other settings are tried.
        let clients = self.work.with_values(|values| {
            let client = |number: &usize| {
                let key = replay.sweep_key(u32::try_from(*number).ok()?)?;
                let found = traits.assess(key, values)?;
                let (client, looks) = (String::from_utf8_lossy(key).into_owned(), found.looks());
                Some((*number, KeyClient { client, looks, is_spared: found.is_spared() }))
            };
            numbers.iter().filter_map(client).collect()
        })?;
        Ok(advice(sweep, &clients))
    }

    /// Returns the peaks of the good clients of a limit.
    fn good_peaks(
        &self,
        replay: &dyn Replay,
        sweep: &LimitSweep,
        traits: &ClientTraits,
    ) -> Result<Vec<f64>, Interruption> {
        if !self.options.has_collateral {
            return Ok(Vec::new());
        }
        let key = |number: usize| replay.sweep_key(u32::try_from(number).ok()?);
        self.work.with_values(|values| good_peaks(sweep, key, traits, values))
    }

    /// Returns who the first keys, bans and alerts of a rule are about.
    fn profiles(
        &self,
        rule: &ReplayedRule,
        traits: &ClientTraits,
    ) -> Result<Vec<ClientProfile>, Interruption> {
        let trips = rule.trips.iter().take(PROFILES_MAX).chain(&rule.closest);
        let bans = rule.bans.iter().take(PROFILES_MAX).map(|ban| &*ban.key);
        let alerts = rule.alerts.iter().take(PROFILES_MAX).map(|alert| &*alert.source);
        let keys = trips.map(|key| &*key.key).chain(bans).chain(alerts);
        let addresses: HashSet<&str> = keys.filter(|key| key.parse::<IpAddr>().is_ok()).collect();
        let keys: Vec<&[u8]> = addresses.into_iter().map(str::as_bytes).collect();
        if keys.is_empty() { Ok(Vec::new()) } else { traits.profiles(self.work, &keys) }
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
    let mut observed = ObservedRows { events: Events::default(), unknown: 0 };
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
