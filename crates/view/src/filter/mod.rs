//! The filter of a query: typed conditions and clicked clauses.
//!
//! `normal_form` converts conditions to clauses, `resolve` converts clauses to those of the core.

mod normal_form;
mod resolve;

use weir_core::{
    Clause as CoreClause, Condition, ConditionError, FieldCondition, Filter, Format, UnknownField,
    Values, parse_rfc3339,
};

use crate::equalities::{Equalities, column, equal_column, merge_equalities};
use crate::query::{Clause, Operator, Query};
use crate::query_error::{InvalidCondition, QueryError};
use resolve::core_clauses;

/// The maximum number of regular expressions in a query, including searches in all fields. Each may
/// take a megabyte, and is matched against every distinct value while the parsers wait. Without a
/// limit, a message could contain thousands.
const EXPRESSIONS_MAX: usize = 64;

/// The maximum number of comparisons in a query. Each takes a byte for every distinct value of its
/// field.
const COMPARISONS_MAX: usize = 256;

impl Query {
    /// Checks the conditions, except their times.
    ///
    /// # Errors
    /// Fails if a condition is not valid for data with these columns. The error contains the
    /// position in the text.
    pub fn check_conditions(&self, values: &Values) -> Result<(), QueryError> {
        self.check_limits()?;
        self.for_each_condition(|condition| condition.check(values))
    }

    /// Checks that the log has the fields of the filter. Succeeds if no format is known yet.
    ///
    /// # Errors
    /// Fails for the first field that no format has.
    pub fn check_fields<'a>(
        &self,
        formats: impl Iterator<Item = &'a Format> + Clone,
    ) -> Result<(), QueryError> {
        let lacks = |field: &str| {
            formats.clone().all(|format| format.accessor(field).is_err())
                && formats.clone().next().is_some()
        };
        self.for_each_condition(|condition| {
            match condition.fields().into_iter().find(|condition| lacks(&condition.field)) {
                None => Ok(()),
                Some(FieldCondition { field, position, .. }) => {
                    let message = missing_field(field, formats.clone());
                    Err(ConditionError { range: position.clone(), message })
                }
            }
        })?;
        match self.clauses.iter().find(|clause| lacks(&clause.field)) {
            None => Ok(()),
            Some(clause) => Err(QueryError::MissingField(missing_field(&clause.field, formats))),
        }
    }

    /// Returns the names of the fields in the filter.
    pub fn field_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.clauses.iter().map(|clause| clause.field.clone()).collect();
        for condition in self.conditions.iter().filter_map(|text| Condition::parse(text).ok()) {
            names.extend(condition.fields().iter().map(|condition| condition.field.clone()));
        }
        names
    }

    /// Converts the filter to one of the core, for data with these columns.
    ///
    /// # Errors
    /// Fails if a clause or condition is not valid for these columns.
    pub(crate) fn filter(&self, values: &Values) -> Result<Filter, QueryError> {
        self.check_limits()?;
        let mut clauses: Vec<CoreClause> = Vec::new();
        let mut equalities = Equalities::default();
        for clause in merge_equalities(&self.clauses) {
            let of_clause = core_clauses(&clause, values)?;
            match equal_column(&clause) {
                Some(column) => equalities.add(column, of_clause),
                None => clauses.extend(of_clause),
            }
        }
        self.for_each_condition(|condition| {
            let clause = condition.clause(values, &instant)?;
            match (condition.equality_field(), clause) {
                (Some(field), clause) => equalities.add(column(field), vec![clause]),
                // The filter joins its clauses by *and* too.
                (None, CoreClause::All(all)) => clauses.extend(all),
                (None, clause) => clauses.push(clause),
            }
            Ok(())
        })?;
        clauses.splice(0..0, equalities.into_clauses());
        Ok(Filter { kind: self.kind.map(Into::into), clauses })
    }

    fn check_limits(&self) -> Result<(), QueryError> {
        self.for_each_condition(|_| Ok(()))?;
        if self.expressions() > EXPRESSIONS_MAX {
            return Err(QueryError::TooManyExpressions(EXPRESSIONS_MAX));
        }
        if self.comparisons() > COMPARISONS_MAX {
            return Err(QueryError::TooManyComparisons(COMPARISONS_MAX));
        }
        Ok(())
    }

    /// Returns the number of regular expressions in the filter, including searches in all fields.
    pub fn expressions(&self) -> usize {
        let is_expression =
            |clause: &&Clause| matches!(clause.op, Operator::Match | Operator::NotMatch);
        let clauses = self.clauses.iter().filter(is_expression);
        let conditions = self.conditions.iter().filter_map(|text| Condition::parse(text).ok());
        let of_clauses: usize = clauses.map(|clause| clause.values.len()).sum();
        of_clauses + conditions.map(|condition| condition.expressions()).sum::<usize>()
    }

    /// Returns the number of clauses, and of fields compared in the conditions.
    fn comparisons(&self) -> usize {
        let conditions = self.conditions.iter().filter_map(|text| Condition::parse(text).ok());
        merge_equalities(&self.clauses).len()
            + conditions.map(|condition| condition.fields().len()).sum::<usize>()
    }

    /// Parses the conditions in order, and calls a function with each.
    pub(crate) fn for_each_condition(
        &self,
        mut read: impl FnMut(Condition) -> Result<(), ConditionError>,
    ) -> Result<(), QueryError> {
        for (number, text) in self.conditions.iter().enumerate() {
            let result = Condition::parse(text).and_then(&mut read);
            result.map_err(|error| {
                let text = text.clone();
                QueryError::Condition(InvalidCondition { number, text, error })
            })?;
        }
        Ok(())
    }
}

/// Returns the message about a field that no format has.
fn missing_field<'a>(name: &str, formats: impl Iterator<Item = &'a Format>) -> String {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in formats.flat_map(Format::accessors) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    UnknownField { name: name.to_owned(), fields: names }.to_string()
}

/// Parses an instant, RFC 3339. Returns it as first and last nanosecond.
fn instant(text: &str) -> Result<(i64, i64), String> {
    let time = parse_rfc3339(text.as_bytes()).map(|time| (time.unix_ns, time.unix_ns));
    time.ok_or_else(|| QueryError::NotATime(text.to_owned()).to_string())
}

#[cfg(test)]
mod tests {
    use weir_core::Values;

    use crate::query::Query;
    use crate::query_error::QueryError;

    fn typed(conditions: &[&str]) -> Query {
        let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
        Query { conditions, ..Query::default() }
    }

    #[test]
    fn searches_count_as_expressions() {
        let refused = Err(QueryError::TooManyExpressions(64));
        let many = typed(&[&vec!["a"; 65].join(" or ")]);
        assert_eq!(many.check_conditions(&Values::new(0)), refused);
        assert_eq!(many.question(&Values::new(0)).map(|_| ()), refused.map(|_| ()));
        let mixed = [&["path~a"; 33][..], &["a"; 31]].concat();
        assert!(typed(&mixed).question(&Values::new(0)).is_ok());
    }

    #[test]
    fn comparisons_are_limited() {
        let many = |count| typed(&[&vec!["path=/a"; count].join(" or ")]);
        assert!(many(256).check_conditions(&Values::new(0)).is_ok());
        let refused = Err(QueryError::TooManyComparisons(256));
        assert_eq!(many(257).check_conditions(&Values::new(0)), refused);
    }

    #[test]
    fn an_error_names_its_condition_and_place() {
        let query = typed(&["path=/", "é and status==404"]);
        let Err(QueryError::Condition(invalid)) = query.check_conditions(&Values::new(0)) else {
            panic!("the condition is not valid");
        };
        let place = invalid.place();
        assert_eq!((place.condition, place.start, place.end), (1, 12, 14));
        assert!(invalid.to_string().ends_with("\né and status==404\n            ^^"), "{invalid}");
    }
}
