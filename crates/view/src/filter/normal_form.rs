//! The normal form of a filter: conditions become clauses if a clause has the same meaning.

use weir_core::{
    AddressBlock, Condition, ConditionOperator, ConditionValue, Field, FieldCondition,
    STATUS_CLASS, STATUS_CLASSES, ValueForm,
};

use crate::bytes::to_hex;
use crate::equalities::join_equalities;
use crate::query::{Clause, Operator, Query};

impl Query {
    /// Returns the query in normal form: conditions become clauses if a clause has the same
    /// meaning. Equal clauses are joined, as if the user had clicked them one after the other.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for (text, condition) in join_equalities(std::mem::take(&mut self.conditions)) {
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

    /// Returns whether the filter has a clause on the time with the operator of one of these. If
    /// so, the condition stays text: both bounds have to hold, but a filter has only one clause for
    /// each end.
    fn has_time_of(&self, clauses: &[Clause]) -> bool {
        clauses.iter().any(|added| {
            added.is_time() && self.clauses.iter().any(|one| one.is_time() && one.op == added.op)
        })
    }

    /// Adds a clause to the filter. Equalities on one field become one clause.
    fn add_clause(&mut self, added: Clause) {
        let is_equality = matches!(added.op, Operator::Equal | Operator::NotEqual);
        let is_joined = is_equality && !added.is_time();
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
}

impl Clause {
    /// Parses a condition on one field, such as `status=404,403` or `path~^/api`. Returns `None` if
    /// the text is not a condition, or if no clause has the same meaning.
    pub fn parse(text: &str) -> Option<Self> {
        let [clause] = <[Self; 1]>::try_from(clauses_of(&Condition::parse(text).ok()?)?).ok()?;
        Some(clause)
    }
}

/// Returns the clauses with the same meaning as a condition, if there are any.
fn clauses_of(condition: &Condition) -> Option<Vec<Clause>> {
    let clauses: Option<Vec<Clause>> =
        condition.conjunction()?.into_iter().map(clause_of).collect();
    // Equality clauses on one field are joined by *or*.
    let clauses = clauses?;
    let times: Vec<Operator> =
        clauses.iter().filter(|clause| clause.is_time()).map(|clause| clause.op).collect();
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

/// Returns the clause with the same meaning as a condition on a field, if there is one.
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
    // A clause interprets addresses and classes as if they had no quotation marks.
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

/// Returns whether a value without quotation marks means more than its own text.
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

#[cfg(test)]
mod tests {
    use weir_core::{Condition, Values};

    use super::clauses_of;
    use crate::query::{Clause, Operator, Query};

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
    fn two_bounds_on_one_end_of_the_time_both_hold() {
        let (early, late) = ("time>=2025-12-10T00:00:00Z", "time>=2025-12-18T00:00:00Z");
        let normal = typed(&[late, early]).normalized();
        assert_eq!((normal.clauses.len(), normal.conditions.len()), (1, 1));
        let both = format!("{late} and {early}");
        assert_eq!(typed(&[&both]).normalized().clauses, []);
    }
}
