//! The conditions of `--where`.

use std::cell::LazyCell;

use weir_core::{Filter, Format, RecordPredicate, UnknownField, Values, Zone};
use weir_ingest::{FormatChoice, Input};
use weir_view::{Clause, Now, Query};

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
        let clauses = parse_clauses(texts, &Now::read(), &|| log_zone.clone())?;
        let fields = clauses.iter().map(|clause| clause.field.clone()).collect();
        let query = Query { clauses, ..Query::default() };
        let columns = columns_of(&query);
        let question = query.question(&columns);
        let question = question.map_err(|error| Failure::new(format_args!("--where: {error}")))?;
        Ok(Self { filter: question.filter, columns, fields })
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

/// Parses conditions. Each is checked alone, so that the message can name it. Dates and local
/// times in them are those of the zone.
///
/// # Errors
/// With a sentence for the first that is not valid.
pub(crate) fn parse_clauses(
    texts: &[String],
    now: &Now,
    zone: &dyn Fn() -> Zone,
) -> Result<Vec<Clause>, Failure> {
    let read = |text: &String| {
        let clause = Clause::parse(text).ok_or_else(|| {
            Failure::new(format_args!(
                "--where: `{text}` is not a valid condition; write it as status=404 or path^=/api"
            ))
        })?;
        let query = Query { clauses: vec![clause], ..Query::default() };
        let checked = query.settled(now, zone).and_then(|settled| {
            settled.question(&columns_of(&settled))?;
            Ok(settled.clauses)
        });
        checked.map_err(|error| Failure::new(format_args!("--where: `{text}`: {error}")))
    };
    let clauses: Result<Vec<_>, Failure> = texts.iter().map(read).collect();
    Ok(clauses?.into_iter().flatten().collect())
}

/// The columns that a query names, without values.
fn columns_of(query: &Query) -> Values {
    let mut columns = Values::new(0);
    for column in query.extra_columns() {
        columns.add_text_column(&column);
    }
    columns
}
