//! The report that compares two periods.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Field, Format};
use weir_ingest::DataSet;
use weir_query::{Evaluator, ParsedQuery, PeriodError};
use weir_view::{KindCount, Measure, Report, Statistic};

use super::request::ReportRequest;
use crate::outcome::Failure;
use crate::scan::query_failure;

/// What is shown of the values of a group, if the arguments name no measures and the log has the time to
/// serve a request.
const MEASURES: [Measure; 4] = [
    Measure::Requests,
    Measure::Bytes,
    Measure::Errors,
    Measure::Number(Statistic::Percentile(950), Field::RequestTime),
];

/// Returns the report that compares two periods, with the reports about the other kinds of records;
/// `None` if no record has a time.
pub(super) fn compared(
    data: &Arc<DataSet>,
    request: &ReportRequest,
    formats: &[Arc<Format>],
    jobs: usize,
) -> Result<Option<Report>, Failure> {
    let query = match formats.iter().any(|format| format.fields().contains(&Field::RequestTime)) {
        true => request.query.clone().with_measures(&MEASURES),
        false => request.query.clone(),
    };
    let answer = |query: ParsedQuery| {
        let evaluator = Evaluator::new(data.clone(), query, jobs);
        let answer = evaluator.map_err(query_failure)?.answer(&AtomicBool::new(false));
        answer.ok_or_else(|| Failure::new("the periods could not be counted"))
    };
    let mut answered = answer(query)?;
    match answered.period_error {
        None => {
            let kinds = answered.report.kinds.clone();
            for KindCount { kind, .. } in kinds {
                if request.query.kind().is_some() || kind == answered.report.kind {
                    continue;
                }
                // All kinds are compared over the periods of the main kind.
                let selected = answered.selected_period.unwrap_or_default();
                let other = answer(request.query.clone().of_kind(kind).comparing(selected))?;
                // A record without a time is in no period.
                if other.period_error.is_none() {
                    answered.report.other_kinds.push(other.report);
                }
            }
            Ok(Some(answered.report))
        }
        Some(PeriodError::NoTime) => Ok(None),
        Some(PeriodError::Empty) => Err(Failure::new(
            "--compare: no request was logged at --since or later; set an earlier time",
        )),
        Some(PeriodError::TooShort) => Err(Failure::new(
            "--compare: the log has no period to divide; set its start with --since",
        )),
    }
}
