//! The field `robot_like`, for which the logs are read once more.

use weir_core::DerivedField;
use weir_ingest::{FormatChoice, Retention};
use weir_query::{ParsedQuery, RobotLike, robot_census};
use weir_view::Query;

use super::ReportArguments;
use super::records::Records;
use crate::outcome::Failure;
use crate::scan::query_failure;

/// Reads the logs, and judges the clients of all requests, whether or not they meet the conditions. What goes
/// wrong with the logs is reported when they are read for the report.
///
/// # Errors
/// If the logs cannot be read twice, or addresses are hidden.
pub(super) fn robot_like(
    arguments: &ReportArguments,
    records: &Records,
    format: &FormatChoice,
) -> Result<DerivedField, Failure> {
    let refuse = |reason: &str| Failure::new(format_args!("`{}` {reason}", RobotLike::NAME));
    if arguments.anonymize.is_on() {
        return Err(refuse(
            "needs whole addresses, because a network is not a client; leave --anonymize out",
        ));
    }
    match records {
        Records::Saved(_) => {
            return Err(refuse(
                "is not in a saved data set; name the logs, or list its robots with --robots",
            ));
        }
        Records::Logs(_) if !records.are_files() => {
            return Err(refuse(
                "is judged before the requests are counted, so the logs are read twice, and a pipe cannot \
                 be; name files",
            ));
        }
        Records::Logs(_) => {}
    }
    let options = arguments.read.pipeline_options(Retention::ValuesOnly)?;
    let data = records.data_set(&options, &[]);
    let all = ParsedQuery::parse(&Query::default()).map_err(query_failure)?;
    let census = robot_census(&all, &data.values()).map_err(query_failure)?;
    let (census, _) = records.fold(&options, &data, format, census)?;
    let declares = arguments.read.derived().declares_robot()?;
    Ok(census.robot_like(&data.values(), declares).into_field())
}
