//! The conditions of `--where`.

use std::cell::LazyCell;

use weir_core::{Filter, Format, RecordPredicate, UnknownField, Values, Zone};
use weir_ingest::{FormatChoice, Input};
use weir_view::{Now, Query, QueryError};

use crate::outcome::Failure;
use crate::zone;

/// The conditions of the command line, before the format of the records is known.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    filter: Filter,
    /// Names the columns of the filter; holds no values.
    columns: Values,
    /// The fields that the conditions name.
    fields: Vec<String>,
}

impl Conditions {
    /// Parses the conditions as they are written on the command line. Dates in them are those of
    /// the zone that the first input with a time has.
    ///
    /// # Errors
    /// With a sentence for the first condition that is not valid.
    pub(crate) fn parse(
        texts: &[String],
        inputs: &mut [Input],
        format: &FormatChoice,
    ) -> Result<Self, Failure> {
        let log_zone = LazyCell::new(|| zone::of_log(inputs, format));
        let query = parse_filter(texts, &Now::read(), &|| log_zone.clone())?;
        let columns = columns_of(&query);
        let question = query.question(&columns).map_err(where_failure)?;
        Ok(Self { filter: question.filter, columns, fields: query.field_names() })
    }

    /// Whether there are no conditions: every record meets them.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter.clauses.is_empty()
    }

    /// The conditions as a predicate over the records of one format.
    ///
    /// # Errors
    /// If the format lacks the field of a condition.
    pub(crate) fn predicate(&self, format: &Format) -> Result<RecordPredicate<'_>, UnknownField> {
        for field in &self.fields {
            format.accessor(field)?;
        }
        Ok(self.predicate_of_some(format))
    }

    /// The conditions as a predicate over the records of one format of a log that has several. A
    /// field that the format lacks is a value that its records lack.
    pub(crate) fn predicate_of_some(&self, format: &Format) -> RecordPredicate<'_> {
        RecordPredicate::new(&self.filter, &self.columns, format)
    }
}

/// Parses conditions, and returns a query with nothing else. Dates and local times in them are
/// those of the zone.
///
/// # Errors
/// With a sentence for the first that is not valid, and a mark at the place.
pub(crate) fn parse_filter(
    texts: &[String],
    now: &Now,
    zone: &dyn Fn() -> Zone,
) -> Result<Query, Failure> {
    let query = Query { conditions: texts.to_vec(), ..Query::default() };
    let checked = query.check_conditions(&columns_of(&query)).and_then(|()| {
        // Only the settled times show whether a time is valid.
        query.settled(now, zone)?;
        query.normalized().settled(now, zone)
    });
    checked.map_err(where_failure)
}

/// A failure that names the option. The condition and a mark at the place follow in lines of
/// their own.
pub(crate) fn where_failure(error: QueryError) -> Failure {
    match error {
        QueryError::Condition(invalid) => {
            let excerpt = invalid.error.excerpt(&invalid.text).replace('\n', "\n  ");
            Failure::new(format_args!("--where: {}\n  {excerpt}", invalid.error))
        }
        error => Failure::new(format_args!("--where: {error}")),
    }
}

/// The columns that a query names, without values.
fn columns_of(query: &Query) -> Values {
    let mut columns = Values::new(0);
    for column in query.extra_columns() {
        columns.add_text_column(&column);
    }
    columns
}
