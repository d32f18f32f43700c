//! The filter of a query: conditions that were typed, and clauses that were clicked.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_core::{
    AddressBlock, Clause as CoreClause, Condition, ConditionError, ConditionOperator,
    ConditionValue, Field, FieldCondition, Filter, Format, STATUS_CLASS, STATUS_CLASSES, TextTest,
    Unit, UnknownField, ValueForm, Values, parse_quantity, parse_rfc3339,
};

use crate::bytes::{self, to_hex};
use crate::equalities::{Equalities, column, equal_column, joined_equalities, merged};
use crate::message::ConditionPlace;
use crate::query::{Clause, Operator, Query};
use crate::question::QueryError;

/// The limit of regular expressions in one query, with the searches in all fields. Each may take a
/// megabyte, and is matched against every distinct value while the parsers wait. A message could
/// contain thousands.
const EXPRESSIONS_MAX: usize = 64;

/// The limit of comparisons in one query: each takes a byte for every distinct value of its field.
const COMPARISONS_MAX: usize = 256;

/// What is wrong in a condition, and in which one of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCondition {
    /// The condition's number in [`Query::conditions`].
    pub number: usize,
    /// The condition.
    pub text: String,
    /// What is wrong, and at which place of the text.
    pub error: ConditionError,
}

impl InvalidCondition {
    /// What is wrong, in characters instead of bytes.
    pub fn place(&self) -> ConditionPlace {
        let range = self.error.char_range(&self.text);
        ConditionPlace { condition: self.number, start: range.start, end: range.end }
    }
}

impl fmt::Display for InvalidCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, error, .. } = self;
        write!(formatter, "{error}\n{}", error.excerpt(text))
    }
}

/// The filter of a query whose conditions were typed, in its normal form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NormalFilter {
    /// The clauses, with those that conditions of the query state.
    pub clauses: Vec<Clause>,
    /// The conditions that clauses cannot state.
    pub conditions: Vec<String>,
}

impl Query {
    /// Checks the conditions, except their times.
    ///
    /// # Errors
    /// If a condition is not valid for data with these columns, at its place in the text.
    pub fn check_conditions(&self, values: &Values) -> Result<(), QueryError> {
        self.check_limits()?;
        self.for_each_condition(|condition| condition.check(values))
    }

    /// Checks that the log has the fields of the filter. It passes if there is no format yet.
    ///
    /// # Errors
    /// For the first field that none of the formats has.
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

    /// The names of the fields in the filter.
    pub fn field_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.clauses.iter().map(|clause| clause.field.clone()).collect();
        for condition in self.conditions.iter().filter_map(|text| Condition::parse(text).ok()) {
            names.extend(condition.fields().iter().map(|condition| condition.field.clone()));
        }
        names
    }

    /// The same query with conditions as clauses if clauses have the same meaning. Clauses that
    /// say the same are joined, as if they had been clicked one after the other.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for (text, condition) in joined_equalities(std::mem::take(&mut self.conditions)) {
            let clauses = condition.as_ref().ok().and_then(clauses_of);
            match clauses.filter(|clauses| !self.has_time_of(clauses)) {
                Some(clauses) => clauses.into_iter().for_each(|clause| self.add_clause(clause)),
                None => {
                    let text = condition.map_or(text, |condition| condition.to_string());
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            }
        }
        self.conditions = texts;
        self
    }

    /// Whether a clause on the time has the operator of one of these. Both have to hold, and a
    /// filter has one clause for each end of the time.
    fn has_time_of(&self, clauses: &[Clause]) -> bool {
        clauses.iter().any(|added| {
            is_time(added) && self.clauses.iter().any(|one| is_time(one) && one.op == added.op)
        })
    }

    /// Adds a clause to the filter. Equalities on one field become one clause.
    fn add_clause(&mut self, added: Clause) {
        let is_equality = matches!(added.op, Operator::Equal | Operator::NotEqual);
        let is_joined = is_equality && !is_time(&added);
        let is_same = |other: &&mut Clause| other.field == added.field && other.op == added.op;
        if self.clauses.contains(&added) {
            return;
        }
        match self.clauses.iter_mut().find(is_same) {
            Some(other) if is_joined => {
                for value in added.values {
                    if !other.values.contains(&value) {
                        other.values.push(value);
                    }
                }
            }
            _ => self.clauses.push(added),
        }
    }

    /// The filter of the core for data with these columns.
    ///
    /// # Errors
    /// If a clause or condition is not valid for these columns.
    pub(crate) fn filter(&self, values: &Values) -> Result<Filter, QueryError> {
        self.check_limits()?;
        let mut clauses: Vec<CoreClause> = Vec::new();
        let mut equalities = Equalities::default();
        for clause in merged(&self.clauses) {
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
                // The filter joins its clauses by *and* as well.
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

    /// The number of regular expressions in the filter, with the searches in all fields.
    pub fn expressions(&self) -> usize {
        let is_expression =
            |clause: &&Clause| matches!(clause.op, Operator::Match | Operator::NotMatch);
        let clauses = self.clauses.iter().filter(is_expression);
        let conditions = self.conditions.iter().filter_map(|text| Condition::parse(text).ok());
        let of_clauses: usize = clauses.map(|clause| clause.values.len()).sum();
        of_clauses + conditions.map(|condition| condition.expressions()).sum::<usize>()
    }

    /// The number of clauses, and of fields compared in the conditions.
    fn comparisons(&self) -> usize {
        let conditions = self.conditions.iter().filter_map(|text| Condition::parse(text).ok());
        merged(&self.clauses).len()
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

impl Clause {
    /// Parses a condition on one field, such as `status=404,403` or `path~^/api`. Returns `None`
    /// if the text is not a condition, or one that a clause cannot state.
    pub fn parse(text: &str) -> Option<Self> {
        let [clause] = <[Self; 1]>::try_from(clauses_of(&Condition::parse(text).ok()?)?).ok()?;
        Some(clause)
    }
}

/// The sentence about a field that no format has.
fn missing_field<'a>(name: &str, formats: impl Iterator<Item = &'a Format>) -> String {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in formats.flat_map(Format::accessors) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    UnknownField { name: name.to_owned(), fields: names }.to_string()
}

/// An instant, RFC 3339.
fn instant(text: &str) -> Result<(i64, i64), String> {
    let time = parse_rfc3339(text.as_bytes()).map(|time| (time.unix_ns, time.unix_ns));
    time.ok_or_else(|| QueryError::NotATime(text.to_owned()).to_string())
}

pub(crate) fn is_time(clause: &Clause) -> bool {
    Field::by_name(&clause.field) == Some(Field::Time)
}

/// The clauses with the same meaning as a condition, if there are any.
fn clauses_of(condition: &Condition) -> Option<Vec<Clause>> {
    let clauses: Option<Vec<Clause>> =
        condition.conjunction()?.into_iter().map(clause_of).collect();
    // Clauses for equality on one field are joined by *or*.
    let clauses = clauses?;
    let times: Vec<Operator> =
        clauses.iter().filter(|clause| is_time(clause)).map(|clause| clause.op).collect();
    if times.iter().enumerate().any(|(at, op)| times[..at].contains(op)) {
        return None;
    }
    let is_equality = |clause: &&Clause| matches!(clause.op, Operator::Equal | Operator::EqualHex);
    let mut fields: Vec<&str> =
        clauses.iter().filter(is_equality).map(|clause| clause.field.as_str()).collect();
    let equalities = fields.len();
    fields.sort_unstable();
    fields.dedup();
    (fields.len() == equalities).then_some(clauses)
}

/// The clause with the same meaning as a condition on a field, if there is one.
fn clause_of(condition: &FieldCondition) -> Option<Clause> {
    let FieldCondition { field, operator, values, .. } = condition;
    let known = Field::by_name(field);
    let op = operator_of(*operator);
    if values.iter().any(|value| value.form == ValueForm::Absent) {
        return None;
    }
    if known == Some(Field::Time) && (values.len() > 1 || op == Operator::NotEqual) {
        return None;
    }
    let texts: Option<Vec<String>> =
        values.iter().map(|value| String::from_utf8(value.bytes.clone()).ok()).collect();
    let is_equality = matches!(op, Operator::Equal | Operator::NotEqual);
    let Some(texts) = texts else {
        return is_equality
            .then(|| hex_clause(field, op, values))
            .filter(|_| values.iter().all(|value| !value.is_plain() || !is_special(known, value)));
    };
    // A clause reads addresses and classes as if they had no quotation marks.
    if is_equality && values.iter().any(|value| !value.is_plain() && is_special(known, value)) {
        return None;
    }
    let classes = texts.iter().filter(|text| is_class(text)).count();
    if known == Some(Field::Status) && is_equality && classes > 0 {
        let field = STATUS_CLASS.to_owned();
        return (classes == texts.len()).then_some(Clause { field, op, values: texts });
    }
    Some(Clause { field: field.clone(), op, values: texts })
}

fn hex_clause(field: &str, op: Operator, values: &[ConditionValue]) -> Clause {
    let op = if op == Operator::Equal { Operator::EqualHex } else { Operator::NotEqualHex };
    let values = values.iter().map(|value| to_hex(&value.bytes)).collect();
    Clause { field: field.to_owned(), op, values }
}

/// Whether a value stands for more than its own text if it has no quotation marks.
fn is_special(field: Option<Field>, value: &ConditionValue) -> bool {
    let text = value.text();
    AddressBlock::parse(&text).is_some()
        || text.parse::<std::net::IpAddr>().is_ok()
        || field == Some(Field::Status) && is_class(&text)
}

fn is_class(text: &str) -> bool {
    STATUS_CLASSES[1..].iter().any(|class| text.eq_ignore_ascii_case(class))
}

fn operator_of(operator: ConditionOperator) -> Operator {
    match operator {
        ConditionOperator::Equal => Operator::Equal,
        ConditionOperator::NotEqual => Operator::NotEqual,
        ConditionOperator::Prefix => Operator::Prefix,
        ConditionOperator::Match => Operator::Match,
        ConditionOperator::NotMatch => Operator::NotMatch,
        ConditionOperator::Less => Operator::Less,
        ConditionOperator::LessOrEqual => Operator::LessOrEqual,
        ConditionOperator::Greater => Operator::Greater,
        ConditionOperator::GreaterOrEqual => Operator::GreaterOrEqual,
    }
}

fn core_clauses(clause: &Clause, values: &Values) -> Result<Vec<CoreClause>, QueryError> {
    if clause.field == STATUS_CLASS {
        return Ok(vec![status_class(clause, values)?]);
    }
    match Field::by_name(&clause.field) {
        Some(Field::Time) => {
            clause.values.iter().map(|value| time_clause(clause.op, value)).collect()
        }
        Some(field) if Field::NUMBERS.contains(&field) => {
            let is_negative = clause.op == Operator::NotEqual;
            let op = if is_negative { Operator::Equal } else { clause.op };
            let range = |value: &String| number_range(field, op, value);
            let ranges: Result<_, _> = clause.values.iter().map(range).collect();
            let number = CoreClause::Number { column: field.column(), ranges: ranges? };
            Ok(vec![if is_negative { CoreClause::Not(Box::new(number)) } else { number }])
        }
        _ => Ok(vec![text_clause(clause, values)?]),
    }
}

/// A clause about the class of the status, which the language of conditions knows.
fn status_class(clause: &Clause, values: &Values) -> Result<CoreClause, QueryError> {
    let sign = match clause.op {
        Operator::Equal => "=",
        Operator::NotEqual => "!=",
        _ => {
            let field = STATUS_CLASS.to_owned();
            return Err(QueryError::Operator { field, usable: "=, !=" });
        }
    };
    // The values become part of a condition, so they must not contain one.
    let is_known =
        |value: &&String| STATUS_CLASSES.iter().any(|class| value.eq_ignore_ascii_case(class));
    if let Some(value) = clause.values.iter().find(|value| !is_known(value)) {
        return Err(QueryError::NotAStatusClass(value.clone()));
    }
    let number = 0;
    let text = format!("{STATUS_CLASS}{sign}{}", clause.values.join(","));
    let resolved = Condition::parse(&text).and_then(|condition| condition.clause(values, &instant));
    resolved.map_err(|error| QueryError::Condition(InvalidCondition { number, text, error }))
}

fn time_clause(op: Operator, value: &str) -> Result<CoreClause, QueryError> {
    let (at, _) = instant(value).map_err(|_| QueryError::NotATime(value.to_owned()))?;
    let (first_ns, last_ns) = match op {
        Operator::Less => (i64::MIN, at - 1),
        Operator::LessOrEqual => (i64::MIN, at),
        Operator::Greater => (at + 1, i64::MAX),
        Operator::GreaterOrEqual => (at, i64::MAX),
        Operator::Equal => (at, at),
        _ => {
            let usable = "=, <, <=, >, >=";
            return Err(QueryError::Operator { field: "time".to_owned(), usable });
        }
    };
    Ok(CoreClause::Time { first_ns, last_ns })
}

fn number_range(field: Field, op: Operator, value: &str) -> Result<(u64, u64), QueryError> {
    let unit = if field == Field::Bytes { Unit::Bytes } else { Unit::Nanoseconds };
    let number = parse_quantity(value, unit);
    let number = number.ok_or_else(|| QueryError::NotANumber(value.to_owned()))?;
    bounds(op, number).ok_or_else(|| QueryError::Operator {
        field: field.name().to_owned(),
        usable: "=, !=, <, <=, >, >=",
    })
}

/// The range of numbers that a comparison accepts; `None` if the operator does not compare. An
/// empty range has its larger bound first.
fn bounds(op: Operator, number: u64) -> Option<(u64, u64)> {
    Some(match op {
        Operator::Equal => (number, number),
        Operator::Less => number.checked_sub(1).map_or((1, 0), |max| (0, max)),
        Operator::LessOrEqual => (0, number),
        Operator::Greater => number.checked_add(1).map_or((1, 0), |min| (min, u64::MAX)),
        Operator::GreaterOrEqual => (number, u64::MAX),
        _ => return None,
    })
}

fn text_clause(clause: &Clause, values: &Values) -> Result<CoreClause, QueryError> {
    let negated =
        matches!(clause.op, Operator::NotEqual | Operator::NotEqualHex | Operator::NotMatch);
    let test = match clause.op {
        Operator::Equal | Operator::NotEqual => TextTest::equals(&clause.values),
        Operator::EqualHex | Operator::NotEqualHex => {
            let bytes: Result<_, _> = clause.values.iter().map(|value| from_hex(value)).collect();
            TextTest::OneOf(bytes?)
        }
        Operator::Prefix => any(clause, |value| Ok(TextTest::Prefix(value.as_bytes().to_vec())))?,
        Operator::Match | Operator::NotMatch => any(clause, |value| Ok(TextTest::matches(value)?))?,
        op => any(clause, |value| comparison(op, value))?,
    };
    Ok(CoreClause::text(values, &clause.field, test, negated)?)
}

/// A test that passes if that of one of the clause's values does.
fn any(
    clause: &Clause,
    test: impl Fn(&str) -> Result<TextTest, QueryError>,
) -> Result<TextTest, QueryError> {
    let tests: Result<Vec<_>, _> = clause.values.iter().map(|value| test(value)).collect();
    Ok(TextTest::Any(tests?))
}

fn comparison(op: Operator, value: &str) -> Result<TextTest, QueryError> {
    let number = parse_quantity(value, Unit::Count);
    let number = number.ok_or_else(|| QueryError::NotANumber(value.to_owned()))?;
    let (min, max) = bounds(op, number).unwrap_or((1, 0));
    Ok(TextTest::Between(min, max))
}

fn from_hex(text: &str) -> Result<Vec<u8>, QueryError> {
    bytes::from_hex(text).ok_or_else(|| QueryError::NotHexadecimal(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use weir_core::{Condition, Values};

    use super::clauses_of;
    use crate::query::{Clause, Operator, Query};
    use crate::question::QueryError;

    fn clause(field: &str, op: Operator, values: &[&str]) -> Clause {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Clause { field: field.to_owned(), op, values }
    }

    fn typed(conditions: &[&str]) -> Query {
        let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
        Query { conditions, ..Query::default() }
    }

    #[test]
    fn conditions_become_clauses_of_the_same_meaning() {
        let normal = typed(&["status=404", "path~^/a and status=500,404", "path!=/", "path!=/a"]);
        let normal = normal.normalized();
        let expected = [
            clause("status", Operator::Equal, &["404", "500"]),
            clause("path", Operator::Match, &["^/a"]),
            clause("path", Operator::NotEqual, &["/", "/a"]),
        ];
        assert_eq!((normal.clauses, normal.conditions), (expected.to_vec(), Vec::new()));
        let times = typed(&["time>=2025-12-17 09:00", "time<2h", "time>=2025-12-18"]).normalized();
        let expected = [
            clause("time", Operator::GreaterOrEqual, &["2025-12-17 09:00"]),
            clause("time", Operator::Less, &["2h"]),
        ];
        assert_eq!(times.clauses, expected);
        assert_eq!(times.conditions, ["time>=2025-12-18"], "both lower ends hold");
        let others = typed(&["status=4xx", "path=\"\\xff\"", "bytes>1MB"]).normalized();
        let expected = [
            clause("status_class", Operator::Equal, &["4xx"]),
            clause("path", Operator::EqualHex, &["ff"]),
            clause("bytes", Operator::Greater, &["1MB"]),
        ];
        assert_eq!(others.clauses, expected);
    }

    #[test]
    fn several_equalities_with_one_field_mean_either() {
        let normal = |texts: &[&str]| {
            let normal = typed(texts).normalized();
            (normal.clauses.len(), normal.conditions)
        };
        for (texts, joined) in [
            (&["status=404", "path=/", "status=5xx"][..], "status=404,5xx"),
            (&["user=(none)", "remote_user=(empty)"], "user=(none),(empty)"),
            (&["path=/a", "path=\"\\xff\"", "uri=(none)"], "path=/a,\"\\xff\",(none)"),
            (&["status=404,(none)", "status_class=5xx"], "status=404,(none) or status_class=5xx"),
            (&["time=2025-12-17", "time=2025-12-19"], "time=2025-12-17,2025-12-19"),
        ] {
            assert_eq!(normal(texts).1, [joined.to_owned()], "{texts:?}");
        }
        let clauses = [clause("status", Operator::Equal, &["403"])].to_vec();
        for (texts, filters) in [
            (&["status=404,5xx"][..], 1),
            (&["status_class=5xx"], 1),
            (&["path=/", "status=(none)"], 2),
        ] {
            let query = Query { clauses: clauses.clone(), ..typed(texts) };
            let query = query.normalized();
            let question = query.question(&Values::new(0)).expect("a valid question");
            assert_eq!(question.filter.clauses.len(), filters, "{texts:?}: {query:?}");
        }
    }

    #[test]
    fn other_conditions_stay_text() {
        for text in [
            "googlebot",
            "not status=404",
            "status=404 or path=/a",
            "referer=(none)",
            "status=404,5xx",
            "client=\"192.0.2.0/24\"",
            "client=192.0.2.0/24 and client=192.0.2.7",
            "time!=2025-12-17",
        ] {
            let condition = Condition::parse(text).expect(text);
            assert_eq!(clauses_of(&condition), None, "{text}");
            let normal = typed(&[text, text]).normalized();
            assert_eq!((normal.clauses.len(), normal.conditions), (0, vec![text.to_owned()]));
        }
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
    fn a_value_of_a_clause_is_no_condition() {
        let values = vec!["4xx or path~a".to_owned()];
        let field = weir_core::STATUS_CLASS.to_owned();
        let clause = Clause { field, op: Operator::Equal, values };
        let query = Query { clauses: vec![clause], ..Query::default() };
        let refused = QueryError::NotAStatusClass("4xx or path~a".to_owned());
        assert_eq!(query.question(&Values::new(0)).map(|_| ()), Err(refused));
    }

    #[test]
    fn comparisons_are_limited() {
        let many = |count| typed(&[&vec!["path=/a"; count].join(" or ")]);
        assert!(many(256).check_conditions(&Values::new(0)).is_ok());
        let refused = Err(QueryError::TooManyComparisons(256));
        assert_eq!(many(257).check_conditions(&Values::new(0)), refused);
    }

    #[test]
    fn two_bounds_on_one_end_of_the_time_both_hold() {
        let (early, late) = ("time>=2025-12-10T00:00:00Z", "time>=2025-12-18T00:00:00Z");
        let normal = typed(&[late, early]).normalized();
        assert_eq!((normal.clauses.len(), normal.conditions.len()), (1, 1));
        let both = format!("{late} and {early}");
        assert_eq!(typed(&[&both]).normalized().clauses, []);
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
