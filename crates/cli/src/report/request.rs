//! The query of the arguments.

use std::cell::LazyCell;

use weir_ingest::{FormatChoice, Input};
use weir_view::{Compare, Now, Query};

use super::ReportArguments;
use crate::options::OutputKind;
use crate::outcome::Failure;
use crate::scan::parse_filter;
use crate::terminal::Screen;
use crate::zone;

/// The arguments as a query, known before the logs are read.
#[derive(Debug)]
pub(crate) struct ReportRequest {
    pub(crate) query: Query,
    pub(crate) format: FormatChoice,
}

impl ReportRequest {
    /// The request of these arguments.
    ///
    /// # Errors
    /// Fails for the first argument that is not valid.
    pub(crate) fn new(
        arguments: &ReportArguments,
        inputs: &mut [Input],
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let format = arguments.read.format_choice()?;
        let zone = arguments.read.zone()?;
        // The beginning of the log is read at most once for the zone, and only if a time has no
        // offset.
        let zone = LazyCell::new(|| zone.unwrap_or_else(|| zone::of_log(inputs, &format)));
        let (now, zone) = (Now::read(), || zone.clone());
        let mut filter = parse_filter(&arguments.conditions, &now, &zone)?;
        let period = arguments.period.period(&now, &zone)?;
        let compare = arguments
            .compare
            .then(|| Compare { since: period.since.clone(), until: period.until.clone() });
        if !arguments.compare {
            filter.clauses.extend(period.clauses());
        }
        let is_for_screen = arguments.output.kind() == OutputKind::Text && arguments.html.is_none();
        let buckets = arguments.buckets.unwrap_or_else(|| {
            if is_for_screen { screen.buckets_max() } else { Query::default().buckets }
        });
        let query = Query {
            zone: arguments.read.tz.clone(),
            top: arguments.top,
            stack: arguments.stack.clone(),
            buckets,
            kind: arguments.kind.map(Into::into),
            group: arguments.group.clone(),
            compare,
            ..filter
        };
        Ok(Self { query, format })
    }
}
