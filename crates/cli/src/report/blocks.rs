//! The requests that tripped the rules in force: blocks beside requests.
//!
//! A report keeps no records. The addresses that were blocked are known after the logs are read,
//! so the logs are read again to count what these addresses requested, if there are any.

use weir_core::{EvaluationByKind, Fold, Segment, TopList, Values, Visitors, Zone};
use weir_ingest::{PipelineOptions, Retention};
use weir_query::{
    BLOCKED_ADDRESSES_MAX, BlockCensus, BlockHistories, BlockedAddresses, RobotCensus,
    blocks_report, filter_and_zone,
};
use weir_view::{BlocksQuestion, BlocksReport, RecordKind};

use super::ReportArguments;
use super::records::Records;
use super::request::ReportRequest;
use crate::outcome::Failure;
use crate::scan::query_failure;

/// The counts that are made while the logs are read: the report and, if the report has a place for
/// them, the blocked addresses, the visitors, the robots and all other records.
#[derive(Clone)]
pub(super) struct ReportFold {
    pub(super) evaluations: EvaluationByKind,
    pub(super) census: Option<BlockCensus>,
    pub(super) visitors: Option<Visitors>,
    pub(super) robots: Option<RobotCensus>,
    /// The lists of all records, whether or not they match.
    pub(super) all: Option<EvaluationByKind>,
}

impl ReportFold {
    /// The memory of the lists for each value, in bytes.
    pub(super) fn list_bytes_of_each(&self) -> usize {
        TopList::ID_BYTES * (1 + usize::from(self.all.is_some()))
    }
}

impl Fold for ReportFold {
    fn refresh(&mut self, values: &Values) {
        self.evaluations.refresh(values);
        if let Some(census) = &mut self.census {
            census.refresh(values);
        }
        if let Some(visitors) = &mut self.visitors {
            visitors.refresh(values);
        }
        if let Some(robots) = &mut self.robots {
            robots.refresh(values);
        }
        if let Some(all) = &mut self.all {
            all.refresh(values);
        }
    }

    fn update(&mut self, segment: &Segment) {
        self.evaluations.update(segment);
        if let Some(census) = &mut self.census {
            census.update(segment);
        }
        if let Some(visitors) = &mut self.visitors {
            visitors.update(segment);
        }
        if let Some(robots) = &mut self.robots {
            robots.update(segment);
        }
        if let Some(all) = &mut self.all {
            all.update(segment);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.evaluations.merge(&other.evaluations);
        if let (Some(own), Some(other)) = (&mut self.census, &other.census) {
            own.merge(other);
        }
        if let (Some(own), Some(other)) = (&mut self.visitors, &other.visitors) {
            own.merge(other);
        }
        if let (Some(own), Some(other)) = (&mut self.robots, &other.robots) {
            own.merge(other);
        }
        if let (Some(own), Some(other)) = (&mut self.all, &other.all) {
            own.merge(other);
        }
    }
}

/// Returns a census, unless the report is about one kind or compares two periods.
pub(super) fn census(
    arguments: &ReportArguments,
    request: &ReportRequest,
    values: &Values,
) -> Result<Option<BlockCensus>, Failure> {
    if request.query.kind().is_some() || arguments.compare || arguments.group_option != "--group" {
        return Ok(None);
    }
    let (filter, _) = filter_and_zone(&request.query, values).map_err(query_failure)?;
    Ok(Some(BlockCensus::new(filter)))
}

/// Returns the count of visitors, if the arguments ask for it.
pub(super) fn visitors(
    arguments: &ReportArguments,
    request: &ReportRequest,
    values: &Values,
) -> Result<Option<Visitors>, Failure> {
    if !arguments.visitors {
        return Ok(None);
    }
    if request.query.kind().is_some_and(|kind| kind != RecordKind::Request) {
        return Err(Failure::new("--visitors: only requests have visitors; leave --kind out"));
    }
    weir_query::visitors(&request.query, values).map_err(query_failure).map(Some)
}

/// Returns the census of robots, if the arguments ask for it.
pub(super) fn robots(
    arguments: &ReportArguments,
    request: &ReportRequest,
    values: &Values,
) -> Result<Option<RobotCensus>, Failure> {
    if !arguments.robots {
        return Ok(None);
    }
    if request.query.kind().is_some_and(|kind| kind != RecordKind::Request) {
        return Err(Failure::new("--robots: only requests have robots; leave --kind out"));
    }
    weir_query::robot_census(&request.query, values).map_err(query_failure).map(Some)
}

/// Returns the count of all records, if the arguments ask how those that match differ.
pub(super) fn all(
    arguments: &ReportArguments,
    request: &ReportRequest,
    values: &Values,
) -> Result<Option<EvaluationByKind>, Failure> {
    if !arguments.different {
        return Ok(None);
    }
    if request.query.selects_all() {
        return Err(Failure::new(
            "--different: name the requests to compare with the others, with --where, --since or --until",
        ));
    }
    weir_query::evaluation_of_all(&request.query, values).map_err(query_failure).map(Some)
}

/// The blocks of a report, or a note on why they are left out.
pub(super) enum Blocks {
    Report(Box<BlocksReport>),
    Note(String),
}

/// Reads the records again, and reports on the addresses of a census. Returns `None` if there are no
/// blocks beside requests.
pub(super) fn read(
    census: &BlockCensus,
    values: &Values,
    arguments: &ReportArguments,
    records: &Records,
    request: &ReportRequest,
) -> Result<Option<Blocks>, Failure> {
    let max = (arguments.top() as usize).min(BLOCKED_ADDRESSES_MAX);
    let Some(addresses) = census.addresses(values, max) else { return Ok(None) };
    if !records.are_files() {
        return Ok(Some(Blocks::Note(
            "the log has blocks beside requests; to list what tripped your rules, weir reads it \
             twice: name files instead of standard input or a pipe"
                .to_owned(),
        )));
    }
    let (_, zone) = filter_and_zone(&request.query, values).map_err(query_failure)?;
    let look = SecondPass { arguments, records, request, addresses, zone };
    let given_s = arguments.clock_offset;
    let (mut report, estimated_s) = look.report(given_s.unwrap_or(0))?;
    if given_s.is_none() && estimated_s != 0 {
        (report, _) = look.report(estimated_s)?;
    }
    Ok(Some(Blocks::Report(Box::new(report))))
}

struct SecondPass<'a> {
    arguments: &'a ReportArguments,
    records: &'a Records,
    request: &'a ReportRequest,
    addresses: BlockedAddresses,
    zone: Zone,
}

impl SecondPass<'_> {
    /// Returns the report for a clock of the blocks that is `offset_s` ahead, and the estimated
    /// offset, or 0.
    fn report(&self, offset_s: i64) -> Result<(BlocksReport, i64), Failure> {
        let retention = Retention::ValuesOnly;
        let options: PipelineOptions = self.arguments.read.pipeline_options(retention)?;
        let data = self.records.data_set(&options, &self.request.query.extra_columns());
        let (filter, _) =
            filter_and_zone(&self.request.query, &data.values()).map_err(query_failure)?;
        let window_s = BlocksQuestion::default().window_s;
        let blank = BlockHistories::new(filter, &self.addresses, (window_s, offset_s));
        // Errors of the inputs were reported when they were first read.
        let (found, _) = self.records.fold(&options, &data, &self.request.format, blank)?;
        let estimate = found.clock_estimate();
        let settings = (window_s, offset_s, estimate);
        let networks = &self.arguments.good_networks;
        let report =
            blocks_report(&self.addresses, &found, &data.values(), &self.zone, settings, networks);
        Ok((report, estimate.map_or(0, |estimate| estimate.offset_s)))
    }
}
