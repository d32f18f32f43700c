//! Translates a query into a question of the core.

use weir_core::{
    Aggregates, ColumnId, Field, Question, STATUS_CLASS, Stack, Timestamp, Values, Zone,
    format_rfc3339, parse_rfc3339,
};

use crate::moment::{Moment, Now};
use crate::query::{Clause, Operator, Query};
use crate::query_error::QueryError;
use crate::zone::find_zone;

/// The maximum number of buckets in a histogram: more than any screen can show.
const BUCKETS_MAX: usize = 10_000;

impl Query {
    /// Returns the query with each [`Moment`] in its conditions replaced by an instant, RFC 3339.
    /// Dates and local times are in the zone of the query, or of the log if the query has none.
    ///
    /// # Errors
    /// Fails if a time or the zone is not valid.
    pub fn settled(&self, now: &Now, log_zone: &dyn Fn() -> Zone) -> Result<Self, QueryError> {
        let is_time = |clause: &Clause| Field::by_name(&clause.field) == Some(Field::Time);
        let mut settled = self.clone();
        let has_time = self.clauses.iter().any(is_time) || !self.conditions.is_empty();
        if self.compare.is_none() && !has_time {
            return Ok(settled);
        }
        let zone = self.zone.as_deref().map(find_zone).transpose().map_err(QueryError::Zone)?;
        let zone = || zone.clone().unwrap_or_else(log_zone);
        if let Some(compare) = &mut settled.compare {
            let read = |text: &String| {
                Moment::parse(text, now).ok_or_else(|| QueryError::NotATime(text.clone()))
            };
            if let Some(since) = &mut compare.since {
                *since = instant_stamp(read(since)?.first_ns(zone));
            }
            if let Some(until) = &mut compare.until {
                *until = instant_stamp(read(until)?.until_ns(zone));
            }
        }
        settled.conditions.clear();
        self.for_each_condition(|condition| {
            let range = |text: &str| {
                let moment = Moment::parse(text, now);
                let moment =
                    moment.ok_or_else(|| QueryError::NotATime(text.to_owned()).to_string())?;
                Ok((moment.first_ns(zone), moment.last_ns(zone)))
            };
            settled.conditions.push(condition.with_instants(&range)?.to_string());
            Ok(())
        })?;
        settled.clauses.clear();
        for clause in &self.clauses {
            if !is_time(clause) {
                settled.clauses.push(clause.clone());
                continue;
            }
            for value in &clause.values {
                let moment = Moment::parse(value, now);
                let moment = moment.ok_or_else(|| QueryError::NotATime(value.clone()))?;
                let range = (moment.first_ns(zone), moment.last_ns(zone));
                settled.clauses.extend(instant_clauses(&clause.field, clause.op, range));
            }
        }
        Ok(settled)
    }

    /// Returns the query with its times `by_s` seconds later, for records of a clock that is ahead
    /// by that. Times must be RFC 3339, see [`Self::settled`].
    ///
    /// # Errors
    /// Fails if a time is not valid.
    pub fn with_times_later(&self, by_s: i64) -> Result<Self, QueryError> {
        let mut later = self.clone();
        if by_s == 0 {
            return Ok(later);
        }
        let moved = |text: &str| {
            let time = parse_rfc3339(text.as_bytes());
            let time = time.ok_or_else(|| QueryError::NotATime(text.to_owned()))?;
            Ok(time.unix_ns.saturating_add(by_s.saturating_mul(1_000_000_000)))
        };
        later.conditions.clear();
        self.for_each_condition(|condition| {
            let range = |text: &str| {
                let moved_ns = moved(text).map_err(|error: QueryError| error.to_string())?;
                Ok((moved_ns, moved_ns))
            };
            later.conditions.push(condition.with_instants(&range)?.to_string());
            Ok(())
        })?;
        for clause in later.clauses.iter_mut().filter(|clause| clause.is_time()) {
            for value in &mut clause.values {
                *value = instant_stamp(moved(value)?);
            }
        }
        Ok(later)
    }

    /// Translates the query for a data set with these columns. Times must be RFC 3339, see
    /// [`Self::settled`].
    ///
    /// # Errors
    /// Fails if the query is not valid for these columns.
    pub fn question(&self, values: &Values) -> Result<Question, QueryError> {
        let filter = self.filter(values)?;
        if let Some(group) = &self.group {
            check_group(group)?;
        }
        let zone = self.zone.as_deref().map(find_zone).transpose().map_err(QueryError::Zone)?;
        Ok(Question {
            filter,
            zone,
            buckets_max: (self.buckets as usize).clamp(2, BUCKETS_MAX),
            stack: self.stack(values)?,
            aggregates: Aggregates::default(),
        })
    }

    /// Returns the text columns that the query names, except known fields.
    pub fn extra_columns(&self) -> Vec<String> {
        let fields = self.field_names().into_iter().chain([self.stack.clone()]);
        fields.filter(|name| *name != STATUS_CLASS && Field::by_name(name).is_none()).collect()
    }

    fn stack(&self, values: &Values) -> Result<Stack, QueryError> {
        if self.stack == STATUS_CLASS {
            let kind = self.kind.map(weir_core::RecordKind::from).unwrap_or_default();
            return Ok(kind.leading_column().map_or(Stack::StatusClass, Stack::Column));
        }
        let column: Option<ColumnId> = values.schema().text_column_by_name(&self.stack);
        column.map(Stack::Column).ok_or_else(|| QueryError::Stack(self.stack.clone()))
    }
}

/// Checks that records can be grouped by a field.
fn check_group(field: &str) -> Result<(), QueryError> {
    match Field::by_name(field) {
        Some(Field::Time) => Err(QueryError::GroupByTime),
        Some(number) if Field::NUMBERS.contains(&number) => {
            Err(QueryError::GroupByNumber(field.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Formats an instant as RFC 3339 in UTC.
pub(crate) fn instant_stamp(unix_ns: i64) -> String {
    format_rfc3339(Timestamp { unix_ns, offset_s: 0 })
}

/// Returns the clauses that compare a time with a range, given its first and last instant.
fn instant_clauses(
    field: &str,
    op: Operator,
    (first_ns, last_ns): (i64, i64),
) -> impl Iterator<Item = Clause> {
    let clause =
        |op, unix_ns| Clause { field: field.to_owned(), op, values: vec![instant_stamp(unix_ns)] };
    let (one, other) = match op {
        Operator::Equal if first_ns != last_ns => (
            clause(Operator::GreaterOrEqual, first_ns),
            Some(clause(Operator::LessOrEqual, last_ns)),
        ),
        Operator::Greater | Operator::LessOrEqual => (clause(op, last_ns), None),
        _ => (clause(op, first_ns), None),
    };
    std::iter::once(one).chain(other)
}

#[cfg(test)]
mod tests {
    use weir_core::{Clause as CoreClause, TextTest, Values, Zone};

    use crate::moment::Now;
    use crate::query::{Clause, Operator, Query};
    use crate::query_error::QueryError;

    fn question(clauses: &[&str]) -> Result<weir_core::Question, QueryError> {
        let clauses = clauses.iter().map(|text| Clause::parse(text).unwrap()).collect();
        Query { clauses, ..Query::default() }.question(&Values::new(0))
    }

    #[test]
    fn parses_clauses() {
        let read = |text| Clause::parse(text).map(|clause| (clause.field, clause.op));
        assert_eq!(read("path=/a=b"), Some(("path".into(), Operator::Equal)));
        assert_eq!(read("path!~x"), Some(("path".into(), Operator::NotMatch)));
        assert_eq!(read("status>=400"), Some(("status".into(), Operator::GreaterOrEqual)));
        assert_eq!(read("path"), None);
        assert_eq!(read("=x"), None);
        assert_eq!(Clause::parse("path=/a=b").unwrap().values, ["/a=b"]);
    }

    #[test]
    fn equalities_on_one_field_are_joined_by_or() {
        let question = question(&["path=/a", "path=/b", "client=10.0.0.0/8"]).unwrap();
        assert_eq!(question.filter.clauses.len(), 2);
        let CoreClause::Text { test: TextTest::OneOf(values), .. } = &question.filter.clauses[0]
        else {
            panic!("expected a list of values");
        };
        assert_eq!(values, &[b"/a".to_vec(), b"/b".to_vec()]);
    }

    #[test]
    fn several_numbers_are_joined_by_or() {
        let question = question(&["bytes=1", "bytes=7", "bytes>100"]).unwrap();
        let ranges: Vec<_> = question
            .filter
            .clauses
            .iter()
            .filter_map(|clause| match clause {
                CoreClause::Number { ranges, .. } => Some(ranges.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(ranges, [vec![(1, 1), (7, 7)], vec![(101, u64::MAX)]]);
    }

    #[test]
    fn expressions_are_limited() {
        let refused = Err(QueryError::TooManyExpressions(64));
        assert_eq!(question(&["path~x"; 65]).map(|_| ()), refused);
        assert!(question(&["path~x"; 64]).is_ok());
        let values = vec!["x".to_owned(); 65];
        let clause = Clause { field: "path".into(), op: Operator::NotMatch, values };
        let query = Query { clauses: vec![clause], ..Query::default() };
        assert_eq!(query.question(&Values::new(0)).map(|_| ()), refused);
        assert!(question(&["path=x"; 1_000]).is_ok(), "only expressions");
    }

    /// Returns the time range that clauses accept, in seconds from the start of 2025-12-17 at
    /// +01:00.
    fn range_s(clauses: &[&str]) -> (Option<i64>, Option<i64>) {
        let clauses = clauses.iter().map(|text| Clause::parse(text).unwrap()).collect();
        let query = Query { clauses, ..Query::default() };
        let settled = query.settled(&Now::read(), &|| Zone::fixed(3600)).unwrap();
        let question = settled.question(&Values::new(0)).unwrap();
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for clause in &question.filter.clauses {
            let CoreClause::Time { first_ns, last_ns } = clause else { panic!("{clause:?}") };
            (first, last) = (first.max(*first_ns), last.min(*last_ns));
        }
        let start_ns = 1_765_926_000_000_000_000;
        let seconds = |at: i64| (at - start_ns).div_euclid(1_000_000_000);
        let from = (first != i64::MIN).then(|| seconds(first));
        (from, (last != i64::MAX).then(|| seconds(last)))
    }

    #[test]
    fn a_date_is_a_whole_day() {
        const DAY_S: i64 = 86_400;
        assert_eq!(range_s(&["time>=2025-12-17"]), (Some(0), None));
        assert_eq!(range_s(&["time>2025-12-17"]), (Some(DAY_S), None));
        assert_eq!(range_s(&["time<2025-12-17"]), (None, Some(-1)));
        assert_eq!(range_s(&["time<=2025-12-17"]), (None, Some(DAY_S - 1)));
        assert_eq!(range_s(&["time=2025-12-17"]), (Some(0), Some(DAY_S - 1)));
        assert_eq!(range_s(&["time=2025-12-17 01:00"]), (Some(3600), Some(3600)));
        assert_eq!(range_s(&["time<=2025-12-17T01:00"]), (None, Some(3600)));
        assert_eq!(range_s(&["time>2025-12-17T00:00:00Z"]), (Some(3600), None));
        let both = ["time>=2025-12-17", "time<2025-12-17T03:00:00+01:00"];
        assert_eq!(range_s(&both), (Some(0), Some(3 * 3600 - 1)));
    }

    #[test]
    fn the_zone_of_the_query_comes_first() {
        let settled = |zone: Option<&str>| {
            let clauses = vec![Clause::parse("time>=2025-12-17").unwrap()];
            let zone = zone.map(str::to_owned);
            let query = Query { clauses, zone, ..Query::default() };
            let settled = query.settled(&Now::read(), &|| Zone::fixed(3600)).unwrap();
            settled.clauses[0].values[0].clone()
        };
        assert_eq!(settled(None), "2025-12-16T23:00:00Z");
        assert_eq!(settled(Some("UTC")), "2025-12-17T00:00:00Z");
    }

    #[test]
    fn a_time_ago_is_replaced_by_an_instant() {
        let query =
            |text: &str| Query { clauses: vec![Clause::parse(text).unwrap()], ..Query::default() };
        let now = Now::read();
        let utc: &dyn Fn() -> Zone = &Zone::utc;
        let settled = query("time>=30min").settled(&now, utc).unwrap();
        assert!(settled.question(&Values::new(0)).is_ok());
        assert_eq!(settled.settled(&Now::read(), utc), Ok(settled.clone()));
        assert!(matches!(query("time>soon").settled(&now, utc), Err(QueryError::NotATime(_))));
        let untimed = query("path=now");
        assert_eq!(untimed.settled(&now, utc), Ok(untimed.clone()));
    }

    #[test]
    fn invalid_clauses_are_refused() {
        assert!(matches!(question(&["nothing=1"]), Err(QueryError::Clause(_))));
        assert!(matches!(question(&["path~("]), Err(QueryError::Clause(_))));
        assert!(matches!(question(&["bytes>x"]), Err(QueryError::NotANumber(_))));
        assert!(matches!(question(&["status>x"]), Err(QueryError::NotANumber(_))));
        assert!(matches!(question(&["bytes~1"]), Err(QueryError::Operator { .. })));
        assert!(matches!(question(&["time>yesterday"]), Err(QueryError::NotATime(_))));
        let hex = Clause { field: "path".into(), op: Operator::EqualHex, values: vec!["f".into()] };
        let query = Query { clauses: vec![hex], ..Query::default() };
        assert!(matches!(query.question(&Values::new(0)), Err(QueryError::NotHexadecimal(_))));
    }
}
