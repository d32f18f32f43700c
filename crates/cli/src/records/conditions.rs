//! Conditions on one record after the other.

use std::cell::LazyCell;

use weir_core::{Clause as CoreClause, ColumnId, Field, Filter, Format, Record, Values, Zone};
use weir_ingest::{FormatChoice, Input};
use weir_view::{Clause, Now, Query};

use super::place::{Place, find};
use crate::outcome::Failure;
use crate::zone;

/// What `--where` asks, of records instead of columns: see [`weir_core::Clause`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    filter: Filter,
    /// The names of the text columns that the filter speaks of.
    names: Vec<String>,
    /// The fields that were asked about, by the names they were given.
    fields: Vec<String>,
}

impl Conditions {
    /// The conditions on records of these inputs, as they are written on the command line.
    ///
    /// # Errors
    /// With a sentence for the first that makes no sense.
    pub(crate) fn parse(
        texts: &[String],
        inputs: &mut [Input],
        format: &FormatChoice,
    ) -> Result<Self, Failure> {
        let log_zone = LazyCell::new(|| zone::of_log(inputs, format));
        let clauses = parse_clauses(texts, &Now::read(), &|| log_zone.clone())?;
        let fields = clauses.iter().map(|clause| clause.field.clone()).collect();
        let query = Query { clauses, ..Query::default() };
        let values = values_of(&query);
        let question = query.question(&values);
        let question = question.map_err(|error| Failure::new(format_args!("--where: {error}")))?;
        let names = values.names().map(str::to_owned).collect();
        Ok(Self { filter: question.filter, names, fields })
    }

    /// True where every record passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter.clauses.is_empty()
    }

    /// The conditions on the records of one format.
    ///
    /// # Errors
    /// With a sentence, where the format has none of a condition's fields.
    pub(crate) fn on(&self, format: &Format) -> Result<Placed<'_>, String> {
        for field in &self.fields {
            find(field, format).map_err(|sentence| format!("--where: {sentence}"))?;
        }
        let place = |clause: &CoreClause| match clause {
            CoreClause::Text { column: ColumnId(index), .. } => {
                let name = self.names.get(usize::from(*index));
                name.and_then(|name| Place::of(name, format))
            }
            CoreClause::Number { .. } | CoreClause::Time { .. } => None,
        };
        let clauses = self.filter.clauses.iter();
        Ok(Placed { clauses: clauses.map(|clause| (clause, place(clause))).collect() })
    }
}

/// Conditions that know where the fields of a format are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placed<'a> {
    clauses: Vec<(&'a CoreClause, Option<Place>)>,
}

impl Placed<'_> {
    /// True where the record meets all of them.
    pub(crate) fn pass(&self, record: &Record<'_>) -> bool {
        self.clauses.iter().all(|(clause, place)| match clause {
            CoreClause::Text { test, negated, .. } => {
                let value = place.and_then(|place| place.value(record));
                value.is_some_and(|value| test.passes(&value)) != *negated
            }
            CoreClause::Number { field, ranges } => {
                let number = match field {
                    Field::Bytes => record.bytes,
                    Field::RequestTime => record.request_time_ns,
                    _ => record.upstream_time_ns,
                };
                number.is_some_and(|number| {
                    ranges.iter().any(|(min, max)| (*min..=*max).contains(&number))
                })
            }
            CoreClause::Time { first_ns, last_ns } => {
                record.time.is_some_and(|time| (*first_ns..=*last_ns).contains(&time.unix_ns))
            }
        })
    }
}

/// The conditions, each checked by itself so that the sentence can name it. Dates and local times
/// in them are those of the zone.
///
/// # Errors
/// With a sentence for the first that makes no sense.
pub(crate) fn parse_clauses(
    texts: &[String],
    now: &Now,
    zone: &dyn Fn() -> Zone,
) -> Result<Vec<Clause>, Failure> {
    let read = |text: &String| {
        let clause = Clause::parse(text).ok_or_else(|| {
            Failure::new(format_args!(
                "--where: `{text}` is no condition; write it as status=404 or path^=/api"
            ))
        })?;
        let query = Query { clauses: vec![clause], ..Query::default() };
        let checked = query.settled(now, zone).and_then(|settled| {
            settled.question(&values_of(&settled))?;
            Ok(settled.clauses)
        });
        checked.map_err(|error| Failure::new(format_args!("--where: `{text}`: {error}")))
    };
    let clauses: Result<Vec<_>, Failure> = texts.iter().map(read).collect();
    Ok(clauses?.into_iter().flatten().collect())
}

/// No values yet, in the columns that a query speaks of.
fn values_of(query: &Query) -> Values {
    let mut values = Values::new(0);
    for column in query.extra_columns() {
        values.add_column(&column);
    }
    values
}
