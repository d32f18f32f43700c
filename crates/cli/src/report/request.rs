//! What is asked, made of the arguments.

use std::cell::LazyCell;

use weir_core::{Field, Timestamp, Zone, format_rfc3339};
use weir_ingest::{FormatChoice, Input};
use weir_view::{Clause, Moment, Now, Operator, Query};

use super::ReportArguments;
use super::compare::Range;
use crate::outcome::Failure;
use crate::records::parse_clauses;
use crate::terminal::Screen;
use crate::zone;

/// Everything that is known before the first line is read for good.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) query: Query,
    /// The range of `--since` and `--until`; the query has it only where nothing is compared.
    pub(crate) range_ns: (Option<i64>, Option<i64>),
    pub(crate) format: FormatChoice,
}

impl Request {
    /// The request of these arguments.
    ///
    /// # Errors
    /// With a sentence for the first argument that makes no sense.
    pub(crate) fn new(
        arguments: &ReportArguments,
        inputs: &mut [Input],
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let format = arguments.read.format_choice()?;
        let zone = arguments.read.zone()?;
        // A log is looked at once, and only where a time has no offset.
        let zone = LazyCell::new(|| zone.unwrap_or_else(|| zone::of_log(inputs, &format)));
        let (now, zone) = (Now::read(), || zone.clone());
        let mut clauses = parse_clauses(&arguments.conditions, &now, &zone)?;
        let range_ns = time_range(arguments, &now, &zone)?;
        if !arguments.compare {
            clauses.extend(range_clauses(range_ns.0, range_ns.1));
        }
        if let Some(field) = &arguments.group {
            check_group(field)?;
        }
        let is_for_screen = !arguments.json && !arguments.csv && arguments.html.is_none();
        let buckets = arguments.buckets.unwrap_or_else(|| {
            if is_for_screen { screen.buckets_max() } else { Query::default().buckets }
        });
        let query = Query {
            id: 0,
            clauses,
            zone: arguments.read.tz.clone(),
            top: arguments.top,
            stack: arguments.stack.clone(),
            buckets,
        };
        Ok(Self { query, range_ns, format })
    }

    /// The query about a range of time.
    pub(crate) fn within(&self, range: Range) -> Query {
        let mut query = self.query.clone();
        query.clauses.extend(range_clauses(Some(range.since_ns), Some(range.until_ns)));
        query
    }
}

/// Refuses to group by what has no values to name.
fn check_group(field: &str) -> Result<(), Failure> {
    match Field::by_name(field) {
        Some(Field::Time) => Err(Failure::new(
            "--group: the histogram divides by time; group by a field such as status or host",
        )),
        Some(known) if Field::NUMBERS.contains(&known) => Err(Failure::new(format_args!(
            "--group: `{field}` is a number; group by a field such as status or host"
        ))),
        _ => Ok(()),
    }
}

/// The conditions that a range of time is.
fn range_clauses(since_ns: Option<i64>, until_ns: Option<i64>) -> impl Iterator<Item = Clause> {
    let clause = |op, unix_ns| Clause {
        field: "time".to_owned(),
        op,
        values: vec![format_rfc3339(Timestamp { unix_ns, offset_s: 0 })],
    };
    let since = since_ns.map(|unix_ns| clause(Operator::GreaterOrEqual, unix_ns));
    let until = until_ns.map(|unix_ns| clause(Operator::Less, unix_ns));
    since.into_iter().chain(until)
}

/// The instants of `--since` and `--until`.
fn time_range(
    arguments: &ReportArguments,
    now: &Now,
    zone: &dyn Fn() -> Zone,
) -> Result<(Option<i64>, Option<i64>), Failure> {
    let read = |option: &str, text: &Option<String>| {
        let Some(text) = text else { return Ok(None) };
        Moment::parse(text, now).map(Some).ok_or_else(|| {
            let examples = Moment::EXAMPLES;
            Failure::new(format_args!("{option}: `{text}` is not a time; write it as {examples}"))
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
            "--since {since} is not before --until {until}; nothing lies between them"
        )));
    }
    Ok((since_ns, until_ns))
}
