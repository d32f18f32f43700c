//! The query of the arguments.

use std::cell::LazyCell;

use weir_core::{Timestamp, Zone, format_rfc3339};
use weir_ingest::{FormatChoice, Input};
use weir_view::{Clause, Compare, Moment, Now, Operator, Query};

use super::ReportArguments;
use crate::outcome::Failure;
use crate::scan::parse_filter;
use crate::terminal::Screen;
use crate::zone;

/// The arguments as a query, known before the logs are read.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) query: Query,
    pub(crate) format: FormatChoice,
}

impl Request {
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
        // The beginning of the log is read once for it, and only if a time has no offset.
        let zone = LazyCell::new(|| zone.unwrap_or_else(|| zone::of_log(inputs, &format)));
        let (now, zone) = (Now::read(), || zone.clone());
        let mut filter = parse_filter(&arguments.conditions, &now, &zone)?;
        let (since, until) = time_range(arguments, &now, &zone)?;
        let compare =
            arguments.compare.then(|| Compare { since: since.clone(), until: until.clone() });
        if !arguments.compare {
            filter.clauses.extend(range_clauses(since, until));
        }
        let is_for_screen = !arguments.json && !arguments.csv && arguments.html.is_none();
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

/// The conditions on the time of records from `since` up to `until`.
fn range_clauses(since: Option<String>, until: Option<String>) -> impl Iterator<Item = Clause> {
    let clause = |op, instant| Clause { field: "time".to_owned(), op, values: vec![instant] };
    let since = since.map(|instant| clause(Operator::GreaterOrEqual, instant));
    let until = until.map(|instant| clause(Operator::Less, instant));
    since.into_iter().chain(until)
}

/// The instants of `--since` and `--until`, RFC 3339.
fn time_range(
    arguments: &ReportArguments,
    now: &Now,
    zone: &dyn Fn() -> Zone,
) -> Result<(Option<String>, Option<String>), Failure> {
    let read = |option: &str, text: &Option<String>| {
        let Some(text) = text else { return Ok(None) };
        Moment::parse(text, now).map(Some).ok_or_else(|| {
            let examples = Moment::EXAMPLES;
            Failure::new(format_args!(
                "{option}: `{text}` is not a valid time; write it as {examples}"
            ))
        })
    };
    let since = read("--since", &arguments.since)?;
    let until = read("--until", &arguments.until)?;
    let since_ns = since.map(|moment| moment.first_ns(zone));
    let until_ns = until.map(|moment| moment.until_ns(zone));
    if let (Some(since_ns), Some(until_ns)) = (since_ns, until_ns)
        && since_ns >= until_ns
    {
        let [since, until] =
            [&arguments.since, &arguments.until].map(|text| text.as_deref().unwrap_or_default());
        return Err(Failure::new(format_args!(
            "--since {since} is not before --until {until}; set an earlier --since"
        )));
    }
    let stamp = |unix_ns| format_rfc3339(Timestamp { unix_ns, offset_s: 0 });
    Ok((since_ns.map(stamp), until_ns.map(stamp)))
}
