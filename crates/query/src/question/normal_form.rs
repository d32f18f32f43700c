//! The normal form of a filter: conditions become clauses if a clause has the same meaning.

use weir_core::{
    AddressBlock, Condition, ConditionValue, Field, FieldCondition, STATUS_CLASS, STATUS_CLASSES,
    ValueForm,
};
use weir_view::{Clause, NormalFilter, Operator, to_hex};

use super::clause::{clause_operator, is_time};

/// Returns the normal form of a filter. Equal clauses are joined, as if the user had clicked them
/// one after the other. Conditions for equality with one column were joined before.
pub(super) fn normal_filter(
    clauses: Vec<Clause>,
    typed: impl IntoIterator<Item = Condition>,
) -> NormalFilter {
    let mut filter = NormalFilter { clauses, conditions: Vec::new() };
    for condition in typed {
        match clauses_of(&condition).filter(|clauses| !has_time_of(&filter.clauses, clauses)) {
            Some(added) => added.into_iter().for_each(|one| add_clause(&mut filter.clauses, one)),
            None => filter.conditions.push(condition.to_string()),
        }
    }
    filter
}

/// Returns whether there is a clause on the time with the operator of one of these. If so, the
/// condition stays text: both bounds have to hold, but a filter has only one clause for each end.
fn has_time_of(clauses: &[Clause], added: &[Clause]) -> bool {
    let has_end = |added: &&Clause| clauses.iter().any(|one| is_time(one) && one.op == added.op);
    added.iter().filter(|added| is_time(added)).any(|added| has_end(&added))
}

/// Adds a clause. Equalities on one field become one clause.
fn add_clause(clauses: &mut Vec<Clause>, added: Clause) {
    let is_equality = matches!(added.op, Operator::Equal | Operator::NotEqual);
    let is_joined = is_equality && !is_time(&added);
    let is_same = |other: &&mut Clause| other.field == added.field && other.op == added.op;
    if clauses.contains(&added) {
        return;
    }
    match clauses.iter_mut().find(is_same) {
        Some(other) if is_joined => {
            for value in added.values {
                if !other.values.contains(&value) {
                    other.values.push(value);
                }
            }
        }
        _ => clauses.push(added),
    }
}

/// Returns the clauses with the same meaning as a condition, if there are any.
pub(super) fn clauses_of(condition: &Condition) -> Option<Vec<Clause>> {
    let clauses: Option<Vec<Clause>> =
        condition.conjunction()?.into_iter().map(clause_of).collect();
    // Equality clauses on one field are joined by *or*.
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

/// Returns the clause with the same meaning as a condition on a field, if there is one.
fn clause_of(condition: &FieldCondition) -> Option<Clause> {
    let FieldCondition { field, operator, values, .. } = condition;
    let known = Field::by_name(field);
    let op = clause_operator(*operator);
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

#[cfg(test)]
mod tests {
    use weir_core::{Condition, Values, Zone};
    use weir_view::{Clause, NormalFilter, Operator, Query};

    use super::clauses_of;
    use crate::question::{Now, WrittenQuery};

    fn clause(field: &str, op: Operator, values: &[&str]) -> Clause {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Clause { field: field.to_owned(), op, values }
    }

    fn written(clauses: &[Clause], conditions: &[&str]) -> WrittenQuery {
        let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
        let query = Query { clauses: clauses.to_vec(), conditions, ..Query::default() };
        WrittenQuery::parse(&query, Now::read()).expect("a valid query")
    }

    fn normal(conditions: &[&str]) -> NormalFilter {
        written(&[], conditions).normal_filter()
    }

    #[test]
    fn conditions_become_clauses_of_the_same_meaning() {
        let filter = normal(&["status=404", "path~^/a and status=500,404", "path!=/", "path!=/a"]);
        let expected = [
            clause("status", Operator::Equal, &["404", "500"]),
            clause("path", Operator::Match, &["^/a"]),
            clause("path", Operator::NotEqual, &["/", "/a"]),
        ];
        assert_eq!((filter.clauses, filter.conditions), (expected.to_vec(), Vec::new()));
        let times = normal(&["time>=2025-12-17 09:00", "time<2h", "time>=2025-12-18"]);
        let expected = [
            clause("time", Operator::GreaterOrEqual, &["2025-12-17 09:00"]),
            clause("time", Operator::Less, &["2h"]),
        ];
        assert_eq!(times.clauses, expected);
        assert_eq!(times.conditions, ["time>=2025-12-18"], "both lower ends hold");
        let others = normal(&["status=4xx", "path=\"\\xff\"", "bytes>1MB"]);
        let expected = [
            clause("status_class", Operator::Equal, &["4xx"]),
            clause("path", Operator::EqualHex, &["ff"]),
            clause("bytes", Operator::Greater, &["1MB"]),
        ];
        assert_eq!(others.clauses, expected);
    }

    #[test]
    fn several_equalities_with_one_field_mean_either() {
        for (texts, joined) in [
            (&["status=404", "path=/", "status=5xx"][..], "status=404,5xx"),
            (&["user=(none)", "remote_user=(empty)"], "user=(none),(empty)"),
            (&["path=/a", "path=\"\\xff\"", "uri=(none)"], "path=/a,\"\\xff\",(none)"),
            (&["status=404,(none)", "status_class=5xx"], "status=404,(none) or status_class=5xx"),
            (&["time=2025-12-17", "time=2025-12-19"], "time=2025-12-17,2025-12-19"),
        ] {
            assert_eq!(normal(texts).conditions, [joined.to_owned()], "{texts:?}");
        }
        let clicked = [clause("status", Operator::Equal, &["403"])];
        for (texts, filters) in [
            (&["status=404,5xx"][..], 1),
            (&["status_class=5xx"], 1),
            (&["path=/", "status=(none)"], 2),
        ] {
            let query = written(&clicked, texts).settled(&Zone::utc).expect("there are no times");
            let filter = query.filter(&Values::new(0)).expect("a valid filter");
            assert_eq!(filter.clauses.len(), filters, "{texts:?}: {query:?}");
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
            let filter = normal(&[text, text]);
            assert_eq!((filter.clauses.len(), filter.conditions), (0, vec![text.to_owned()]));
        }
    }

    #[test]
    fn two_bounds_on_one_end_of_the_time_both_hold() {
        let (early, late) = ("time>=2025-12-10T00:00:00Z", "time>=2025-12-18T00:00:00Z");
        let filter = normal(&[late, early]);
        assert_eq!((filter.clauses.len(), filter.conditions.len()), (1, 1));
        assert_eq!(normal(&[&format!("{late} and {early}")]).clauses, []);
    }
}
