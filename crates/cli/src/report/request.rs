//! The query of the arguments.

use std::cell::LazyCell;

use weir_core::Zone;
use weir_ingest::FormatChoice;
use weir_query::{Now, ParsedQuery, RobotLike, WrittenQuery};
use weir_view::Query;

use super::ReportArguments;
use super::records::Records;
use super::robot_like::robot_like;
use crate::options::OutputKind;
use crate::outcome::Failure;
use crate::scan::parse_query;
use crate::terminal::Screen;

/// The arguments as a query, known before the logs are read.
#[derive(Debug)]
pub(crate) struct ReportRequest {
    pub(crate) written: WrittenQuery,
    pub(crate) query: ParsedQuery,
    pub(crate) format: FormatChoice,
}

impl ReportRequest {
    /// The request of these arguments.
    ///
    /// # Errors
    /// Fails for the first argument that is not valid.
    pub(crate) fn new(
        arguments: &ReportArguments,
        records: &mut Records,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        Self::in_zone(arguments, records, screen, arguments.read.zone()?)
    }

    /// The request of these arguments in a zone, or in that of the log's first record.
    pub(super) fn in_zone(
        arguments: &ReportArguments,
        records: &mut Records,
        screen: &Screen,
        zone: Option<Zone>,
    ) -> Result<Self, Failure> {
        let format = arguments.anonymize.hiding(arguments.read.format_choice()?)?;
        let zone_of_parts = zone.clone();
        let zone_name = zone.as_ref().map(|zone| zone.name().to_owned());
        // The beginning of the log is read at most once for the zone, and only if a time has no
        // offset.
        let zone = LazyCell::new(|| zone.unwrap_or_else(|| records.zone(&format)));
        let (now, zone) = (Now::read(), || zone.clone());
        let is_for_screen = arguments.output.kind() == OutputKind::Text && arguments.html.is_none();
        let buckets = arguments.buckets.unwrap_or_else(|| {
            if is_for_screen { screen.buckets_max() } else { Query::default().buckets }
        });
        let query = Query {
            conditions: arguments.conditions.clone(),
            zone: arguments.read.tz.clone().or(zone_name),
            top: arguments.top(),
            stack: arguments.stack.clone(),
            buckets,
            kind: arguments.kind.map(Into::into),
            group: arguments.group.clone(),
            measures: arguments.measure.iter().map(ToString::to_string).collect(),
            sort: arguments.sort.map(|measure| measure.to_string()),
            min: arguments.min.unwrap_or(0),
            ..Query::default()
        };
        let (written, query) = parse_query(&query, &now, &zone)?;
        let period = arguments.period.period(&now, &zone)?;
        let query = if arguments.compare { query.comparing(period) } else { query.within(period) };
        let query = match arguments.step {
            Some(step_s) => query.with_step_s(step_s),
            None => query,
        };
        let query = match arguments.group_rows() {
            Some(rows) => query.with_group_rows(rows),
            None => query,
        };
        let names = written.field_names();
        let groups = written.group().map(|group| &group.fields[..]).unwrap_or_default();
        let names = names.iter().chain(groups).chain([&arguments.stack]);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let robot_like = match names.contains(&RobotLike::NAME) {
            true => Some(robot_like(arguments, records, &format)?),
            false => None,
        };
        let derived = arguments.read.derived();
        let format = derived.deriving(format.clone(), names, zone_of_parts.as_ref())?;
        let format = format.deriving(robot_like.into_iter().collect());
        records.check_derived(&format)?;
        Ok(Self { written, query, format })
    }
}
