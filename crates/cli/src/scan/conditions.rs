//! The conditions of `--where`, `--since` and `--until`.

use std::cell::LazyCell;

use std::sync::Arc;

use weir_core::{ClientChoice, Field, Filter, Format, RecordPredicate, Values, Zone};
use weir_ingest::{FormatChoice, Input};
use weir_query::{Now, ParsedQuery, QueryError, WrittenQuery};
use weir_view::Query;

use super::{LogArguments, LogFields, MissingField};
use crate::outcome::Failure;
use crate::zone;

/// The conditions of the command line, before the format of the records is known.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    filter: Filter,
    /// Names the columns of the filter; holds no values.
    columns: Values,
    /// The fields that the conditions name, each with the option of its condition.
    fields: Vec<(&'static str, String)>,
}

impl Conditions {
    /// Parses the conditions as they are written on the command line. Dates in them are in `zone`,
    /// or else in the zone of the first input with a time.
    ///
    /// # Errors
    /// With a sentence for the first condition that is not valid.
    pub(crate) fn parse(
        logs: &LogArguments,
        zone: Option<&Zone>,
        inputs: &mut [Input],
        format: &FormatChoice,
    ) -> Result<Self, Failure> {
        let zone = LazyCell::new(|| zone.cloned().unwrap_or_else(|| zone::of_log(inputs, format)));
        let (now, zone) = (Now::read(), || zone.clone());
        let query = Query { conditions: logs.conditions.clone(), ..Query::default() };
        let (written, query) = parse_query(&query, &now, &zone)?;
        let named = written.field_names().into_iter().map(|field| ("--where", field));
        let mut fields: Vec<_> = named.collect();
        fields.extend(logs.period.options().map(|option| (option, "time".to_owned())));
        let query = query.within(logs.period.period(&now, &zone)?);
        let columns = columns_of(&written);
        let filter = query.filter(&columns).map_err(query_failure)?;
        Ok(Self { filter, columns, fields })
    }

    /// The names of the fields that the conditions are about.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(_, name)| name.as_str())
    }

    /// Whether there are no conditions, so that every record meets them.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter.clauses.is_empty()
    }

    /// Whether a condition names the time.
    pub(crate) fn has_time_condition(&self) -> bool {
        self.fields.iter().any(|(_, field)| Field::by_name(field) == Some(Field::Time))
    }

    /// Checks that a format, or another one of the logs, has the fields of the conditions.
    ///
    /// # Errors
    /// If a field is missing: the first one.
    pub(crate) fn check_fields(
        &self,
        format: &Format,
        logs: &LogFields,
    ) -> Result<(), MissingField> {
        for (option, field) in &self.fields {
            check_field(option, field, format, logs)?;
        }
        let choice = format.line_options().and_then(|options| options.client.as_ref());
        match choice.and_then(ClientChoice::field) {
            Some(field) => check_field("--client", field, format, logs),
            None => Ok(()),
        }
    }

    /// The conditions as a predicate over the records of one format. A field that the format lacks
    /// is absent from its records.
    pub(crate) fn predicate(&self, format: &Format) -> RecordPredicate<'_> {
        RecordPredicate::new(&self.filter, &self.columns, format)
    }
}

/// Checks that a format, or another one of the logs, has a field.
///
/// # Errors
/// If it is missing.
pub(crate) fn check_field(
    option: &'static str,
    field: &str,
    format: &Format,
    logs: &LogFields,
) -> Result<(), MissingField> {
    match format.accessor(field) {
        Err(error) if !logs.have(field) => Err(MissingField { option, error }),
        _ => Ok(()),
    }
}

/// Checks that a format has the field of `--client`, or `X-Forwarded-For` for `--trust`, if formats were
/// found.
///
/// # Errors
/// If none has it.
pub(crate) fn check_client(formats: &[Arc<Format>]) -> Result<(), Failure> {
    let choice_of = |format: &Arc<Format>| format.line_options()?.client.clone();
    let Some(choice) = formats.iter().find_map(choice_of) else { return Ok(()) };
    let Some(name) = choice.field() else {
        let has_header = formats.iter().any(|format| format.client_field().is_some());
        let sentence = "--trust: the log has no X-Forwarded-For; name the field with the addresses \
                        that the proxies have added with --client";
        return if has_header { Ok(()) } else { Err(Failure::new(sentence)) };
    };
    let mut errors = formats.iter().map(|format| format.accessor(name).err());
    match errors.next() {
        Some(Some(error)) if errors.all(|error| error.is_some()) => {
            Err(Failure::new(format_args!("--client: {error}")))
        }
        _ => Ok(()),
    }
}

/// Parses a query, and returns it as it was written and with instants. Dates and local times in it
/// are in its zone, or else in `zone`.
///
/// # Errors
/// With a sentence that names the option, and for a condition a mark at the place.
pub(crate) fn parse_query(
    query: &Query,
    now: &Now,
    zone: &dyn Fn() -> Zone,
) -> Result<(WrittenQuery, ParsedQuery), Failure> {
    let written = WrittenQuery::parse(query, now.clone()).map_err(query_failure)?;
    let settled = written.check(&columns_of(&written), zone).map_err(query_failure)?;
    Ok((written, settled))
}

/// Returns a failure that names the option. A condition, and a mark at the place of the error,
/// follow on separate lines.
pub(crate) fn query_failure(error: QueryError) -> Failure {
    let option = match &error {
        QueryError::Condition(invalid) => {
            let excerpt = invalid.error.excerpt(&invalid.text).replace('\n', "\n  ");
            return Failure::new(format_args!("--where: {}\n  {excerpt}", invalid.error));
        }
        QueryError::GroupByTime
        | QueryError::GroupByNumber(_)
        | QueryError::TooManyGroupFields(_) => "--group",
        QueryError::Measure(_) | QueryError::TooManyMeasures(_) => "--measure",
        QueryError::Stack(_) => "--stack",
        _ => "--where",
    };
    Failure::new(format_args!("{option}: {error}"))
}

/// Returns the columns that a query names, without values.
fn columns_of(query: &WrittenQuery) -> Values {
    let mut columns = Values::new(0);
    for column in query.extra_columns() {
        columns.add_text_column(&column);
    }
    columns
}
