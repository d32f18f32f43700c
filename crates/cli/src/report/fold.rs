//! What a report counts while the logs are read.

use weir_core::{EvaluationByKind, Fold, Segment, TopList, Values, Visitors};
use weir_query::{BlockCensus, RobotCensus, evaluation_by_kind, filter_and_zone};
use weir_view::RecordKind;

use super::ReportArguments;
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
    /// A fold that has counted nothing.
    ///
    /// # Errors
    /// If the arguments ask for counts that do not go together.
    pub(super) fn new(
        arguments: &ReportArguments,
        request: &ReportRequest,
        values: &Values,
    ) -> Result<Self, Failure> {
        Ok(Self {
            evaluations: evaluation_by_kind(&request.query, values).map_err(query_failure)?,
            census: census(arguments, request, values)?,
            visitors: visitors(arguments, request, values)?,
            robots: robots(arguments, request, values)?,
            all: all(arguments, request, values)?,
        })
    }

    /// The memory of the lists for each value, in bytes.
    pub(super) fn list_bytes_of_each(&self) -> usize {
        TopList::ID_BYTES * (1 + usize::from(self.all.is_some()))
    }
}

impl Fold for ReportFold {
    fn refresh(&mut self, values: &Values) {
        self.evaluations.refresh(values);
        self.census.refresh(values);
        self.visitors.refresh(values);
        self.robots.refresh(values);
        self.all.refresh(values);
    }

    fn update(&mut self, segment: &Segment) {
        self.evaluations.update(segment);
        self.census.update(segment);
        self.visitors.update(segment);
        self.robots.update(segment);
        self.all.update(segment);
    }

    fn merge(&mut self, other: &Self) {
        self.evaluations.merge(&other.evaluations);
        self.census.merge(&other.census);
        self.visitors.merge(&other.visitors);
        self.robots.merge(&other.robots);
        self.all.merge(&other.all);
    }
}

/// Returns a census, unless the report is about one kind or compares two periods.
fn census(
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
fn visitors(
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
fn robots(
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
fn all(
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
