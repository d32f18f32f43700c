//! Conditions in rules, in the language of filters.

use weir_core::{
    Clause, Condition, Filter, PatternBudget, RecordFields, RecordPredicate, Values, parse_rfc3339,
};

use crate::error::RuleError;
use crate::gate::{CannotEnforce, check_fields};
use crate::rule::MissingField;

/// The records that a rule is about.
#[derive(Debug, Clone)]
pub(crate) struct RuleCondition {
    /// The normal form.
    text: String,
    filter: Filter,
    /// Names the columns of the filter; contains no values.
    columns: Values,
    /// The fields that the condition names.
    fields: Vec<String>,
    /// Whether a clause searches all fields.
    searches_all: bool,
    /// Counts its expressions while it lives.
    _budget: PatternBudget,
}

impl RuleCondition {
    /// Reads a condition. Its expressions are compiled within a budget.
    ///
    /// # Errors
    /// If the text is not a condition, or has a time that depends on the clock, or if the budget
    /// refuses an expression.
    pub(crate) fn parse(text: &str, budget: &PatternBudget) -> Result<Self, RuleError> {
        let condition = Condition::parse(text)?;
        let mut columns = Values::new(0);
        let fields: Vec<String> =
            condition.fields().into_iter().map(|field| field.field.clone()).collect();
        for name in &fields {
            if columns.schema().text_column_by_name(name).is_none() {
                columns.add_text_column(name);
            }
        }
        let instant = |text: &str| {
            let time = parse_rfc3339(text.as_bytes()).ok_or_else(|| {
                "a rule has no clock and no zone; write the time as 2025-12-17T09:03:01Z".to_owned()
            })?;
            Ok((time.unix_ns, time.unix_ns))
        };
        let clause = condition.clause_within(&columns, &instant, budget)?;
        let (text, searches_all) = (condition.to_string(), searches_all(&clause));
        let (filter, budget) = (Filter::of(vec![clause]), budget.clone());
        Ok(Self { text, filter, columns, fields, searches_all, _budget: budget })
    }

    /// The normal form.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The names of the fields that the condition uses.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(String::as_str)
    }

    /// Checks that the condition can be evaluated when a request arrives.
    ///
    /// # Errors
    /// If it names a field of the response, or one that requests do not have.
    pub(crate) fn check_arrival(&self, fields: &RecordFields) -> Result<(), CannotEnforce> {
        check_fields(self.fields(), fields)?;
        if self.searches_all {
            Err(CannotEnforce::new(format_args!(
                "the condition `{}` searches all fields, of which those of the answer are not known \
                 when a request arrives; name the field, such as user_agent~bot",
                self.text
            )))
        } else {
            Ok(())
        }
    }

    /// Resolves the fields of the condition among those of some records.
    ///
    /// # Errors
    /// If the records lack one of them.
    pub(crate) fn bind(&self, fields: &RecordFields) -> Result<RecordPredicate<'_>, MissingField> {
        for field in &self.fields {
            fields.accessor(field)?;
        }
        Ok(RecordPredicate::of_fields(&self.filter, &self.columns, fields))
    }
}

/// Whether a clause, or a part of one, searches all fields.
fn searches_all(clause: &Clause) -> bool {
    match clause {
        Clause::AnyText(_) => true,
        Clause::All(clauses) | Clause::Any(clauses) => clauses.iter().any(searches_all),
        Clause::Not(clause) => searches_all(clause),
        Clause::Text { .. }
        | Clause::Number { .. }
        | Clause::Time { .. }
        | Clause::TimePart { .. } => false,
    }
}
