//! Replays rules over the records of a data set, or over its lines.
//!
//! [`row_replay`] passes the rows to a rule, and [`answer`] makes its answer of the report.

mod answer;
mod row_replay;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{AddressBlock, CompiledFilter, LogSource, SnapshotSegment, Snapshots, Values};
use weir_rules::{LimitSweep, LogCounts, MissingField, Rule};
use weir_view::{Collateral, LimitCurve, LimitGrid, ReplayedRule};

use self::row_replay::RowReplay;
use crate::question::{ParsedQuery, QueryError};
use crate::snapshot_work::{Interruption, SnapshotWork, Unanswered, over_snapshot};
use crate::source_lines::{
    LineReplay, LineReport, NoLines, SelectedLines, SourceLines, SourceLinesError,
};

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
