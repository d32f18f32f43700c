//! A query as it was written.

use weir_core::{
    Condition, ConditionError, DerivedField, Field, FieldCondition, Format, Snapshots,
    UnknownField, Values, Zone,
};
use weir_view::{Clause, Compare, NormalFilter, Query};

use super::clause;
use super::group_question::GroupQuestion;
use super::limits::{BUCKETS_MAX, EXPRESSIONS_MAX, check_comparisons};
use super::moment::{Moment, Now};
use super::normal_form::{clauses_of, normal_filter};
use super::parsed_query::{ParsedQuery, PeriodBounds};
use super::query_error::{InvalidCondition, QueryError};
use super::zone::{find_zone, log_zone};

/// A query that was parsed when it arrived, with the texts of its conditions for messages.
///
/// Its times are relative to the clock at that moment. Dates and local times become instants when
/// the zone of the log is known, see [`Self::settled`].
#[derive(Debug, Clone)]
pub struct WrittenQuery {
    /// The query, whose times are not read yet.
    query: ParsedQuery,
    /// The typed conditions with their texts, in order.
    typed: Vec<(String, Condition)>,
    /// The clicked clauses.
    clauses: Vec<Clause>,
    compare: Option<Compare>,
    now: Now,
}

impl WrittenQuery {
    /// Parses the texts of a query, and checks its limits. Nothing is known about the data yet.
    ///
    /// # Errors
    /// Fails if a condition, the zone or the group is not valid, or the query is too large.
    pub fn parse(query: &Query, now: Now) -> Result<Self, QueryError> {
        let mut typed = Vec::new();
        for (number, text) in query.conditions.iter().enumerate() {
            let condition = Condition::parse(text);
            let condition = condition.map_err(|error| invalid(number, text, error))?;
            typed.push((text.clone(), condition));
        }
        // Checked before conditions are compared with one another.
        check_comparisons(typed.iter().map(|(_, condition)| condition))?;
        let mut fields = Vec::new();
        for clause in &query.clauses {
            fields.extend(clause::conditions(clause)?);
        }
        let mut others = Vec::new();
        for condition in joined(typed.iter().map(|(_, condition)| condition.clone())) {
            match clauses_of(&condition).and_then(|_| condition.conjunction()) {
                Some(conditions) => fields.extend(conditions.into_iter().cloned()),
                None => others.push(condition),
            }
        }
        // Two conditions on the time are the ends of a period, even if they are equalities.
        let is_time = |it: &FieldCondition| Field::by_name(&it.field) == Some(Field::Time);
        let (times, fields): (Vec<_>, Vec<_>) = fields.into_iter().partition(is_time);
        let mut conditions = joined(fields.into_iter().map(Condition::from).chain(others));
        conditions.extend(times.into_iter().map(Condition::from));
        let parsed = ParsedQuery {
            conditions,
            period: PeriodBounds::default(),
            zone: query.zone.as_deref().map(find_zone).transpose().map_err(QueryError::Zone)?,
            kind: query.kind,
            top: query.top as usize,
            stack: query.stack.clone(),
            buckets_max: (query.buckets as usize).clamp(2, BUCKETS_MAX),
            step_s: None,
            group: GroupQuestion::parse(query)?,
            overlay: query.overlay,
            overlay_ahead_s: query.overlay_ahead_s,
            compare: None,
        };
        let (clauses, compare) = (query.clauses.clone(), query.compare.clone());
        let written = Self { query: parsed, typed, clauses, compare, now };
        written.check_limits()?;
        Ok(written)
    }

    fn check_limits(&self) -> Result<(), QueryError> {
        if self.expressions() > EXPRESSIONS_MAX {
            return Err(QueryError::TooManyExpressions(EXPRESSIONS_MAX));
        }
        check_comparisons(self.query.conditions.iter())
    }

    /// Returns what records are grouped by.
    pub fn group(&self) -> Option<&GroupQuestion> {
        self.query.group()
    }

    /// Checks that the log has the fields of the filter, or what one is derived from that `derived`
    /// knows. Succeeds if no format is known yet.
    ///
    /// # Errors
    /// Fails for the first field that no format has.
    pub fn check_fields<'a>(
        &self,
        formats: impl Iterator<Item = &'a Format> + Clone,
        derived: &dyn Fn(&str) -> Option<DerivedField>,
    ) -> Result<(), QueryError> {
        let is_derived = |field: &str| derived(field).is_some();
        let missing = |field: &str| {
            let is_missing = formats.clone().all(|format| format.accessor(field).is_err())
                && formats.clone().next().is_some()
                && !is_derived(field);
            is_missing.then(|| missing_field(field, formats.clone()))
        };
        self.check_typed(|condition| {
            let missing = condition.fields().into_iter().find_map(
                |FieldCondition { field, position, .. }| {
                    Some(ConditionError { range: position.clone(), message: missing(field)? })
                },
            );
            missing.map_or(Ok(()), Err)
        })?;
        match self.clauses.iter().find_map(|clause| missing(&clause.field)) {
            None => Ok(()),
            Some(message) => Err(QueryError::MissingField(message)),
        }
    }

    /// Checks that the query is valid for data with these columns, and returns it with instants.
    /// This compiles its expressions, which may take long.
    ///
    /// # Errors
    /// Fails if it is not valid. An error in a condition has its position in the text.
    pub fn check(
        &self,
        values: &Values,
        log_zone: &dyn Fn() -> Zone,
    ) -> Result<ParsedQuery, QueryError> {
        let checked = self.settled_in(values, log_zone).and_then(|settled| {
            settled.question(values)?;
            Ok(settled)
        });
        if checked.is_err() {
            let zone = self.query.zone.as_ref();
            let derived = |name: &str| values.derived_field(name, zone);
            self.check_typed(|condition| condition.check(values, &derived))?;
        }
        self.check_typed(|condition| {
            condition.with_instants(&|text| self.instants(text, log_zone)).map(drop)
        })?;
        checked
    }

    /// Returns the query with its times as instants. Dates and local times are in the zone of the
    /// query, or of the log if the query has none.
    ///
    /// # Errors
    /// Fails if a time is not valid.
    pub fn settled(&self, log_zone: &dyn Fn() -> Zone) -> Result<ParsedQuery, QueryError> {
        let read =
            |condition: &Condition| condition.with_instants(&|text| self.instants(text, log_zone));
        let conditions: Result<Vec<_>, _> = self.query.conditions.iter().map(read).collect();
        let conditions = conditions.map_err(QueryError::Clause)?;
        let mut settled = ParsedQuery { conditions, ..self.query.clone() };
        if let Some(Compare { since, until }) = &self.compare {
            let read =
                |text: &Option<String>| text.as_deref().map(|text| self.moment(text)).transpose();
            settled.compare = Some(PeriodBounds {
                since_ns: read(since)?.map(|moment| moment.first_ns(|| self.zone(log_zone))),
                until_ns: read(until)?.map(|moment| moment.until_ns(|| self.zone(log_zone))),
            });
        }
        Ok(settled)
    }

    /// As [`Self::settled`], in the zone of a data set.
    ///
    /// # Errors
    /// Fails if a time is not valid.
    pub fn settled_for<D: Snapshots>(&self, data: &D) -> Result<ParsedQuery, QueryError> {
        let values = data.values();
        self.settled_in(&values, &|| log_zone(&values))
    }

    /// As [`Self::settled`]. Times are shown in the zone of the log, too, if it has several offsets.
    fn settled_in(
        &self,
        values: &Values,
        log_zone: &dyn Fn() -> Zone,
    ) -> Result<ParsedQuery, QueryError> {
        if self.query.zone.is_some() || values.offset_days().is_none() {
            return self.settled(log_zone);
        }
        let zone = log_zone();
        let settled = self.settled(&|| zone.clone())?;
        Ok(ParsedQuery { zone: Some(zone), ..settled })
    }

    /// Returns whether the query selects other records later, because a time in it is relative to
    /// the present.
    pub fn depends_on_present(&self, log_zone: &dyn Fn() -> Zone) -> bool {
        let later = Self { now: self.now.much_later(), ..self.clone() };
        self.settled(log_zone) != later.settled(log_zone)
    }

    /// Returns whether two queries are the same but for their clocks.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.query, &self.compare) == (&other.query, &other.compare)
    }

    /// Returns the filter in its normal form: clauses in place of the conditions that clauses can
    /// express.
    pub fn normal_filter(&self) -> NormalFilter {
        let typed = self.typed.iter().map(|(_, condition)| condition.clone());
        normal_filter(self.clauses.clone(), joined(typed))
    }

    /// Returns the number of regular expressions in the filter, including searches in all fields.
    pub fn expressions(&self) -> usize {
        self.query.expressions()
    }

    /// Returns the names of the fields in the filter.
    pub fn field_names(&self) -> Vec<String> {
        self.query.field_names()
    }

    /// Returns the text columns that the query names, except known fields.
    pub fn extra_columns(&self) -> Vec<String> {
        self.query.extra_columns()
    }

    fn moment(&self, text: &str) -> Result<Moment, QueryError> {
        Moment::parse(text, &self.now).ok_or_else(|| QueryError::NotATime(text.to_owned()))
    }

    fn zone(&self, log_zone: &dyn Fn() -> Zone) -> Zone {
        self.query.zone.clone().unwrap_or_else(log_zone)
    }

    /// Returns the first and the last instant of a time.
    fn instants(&self, text: &str, log_zone: &dyn Fn() -> Zone) -> Result<(i64, i64), String> {
        let moment = self.moment(text).map_err(|error| error.to_string())?;
        let zone = || self.zone(log_zone);
        Ok((moment.first_ns(zone), moment.last_ns(zone)))
    }

    /// Calls a function with each typed condition, in order.
    fn check_typed(
        &self,
        check: impl Fn(&Condition) -> Result<(), ConditionError>,
    ) -> Result<(), QueryError> {
        let mut typed = self.typed.iter().enumerate();
        typed.try_for_each(|(number, (text, condition))| {
            check(condition).map_err(|error| invalid(number, text, error))
        })
    }
}

fn invalid(number: usize, text: &str, error: ConditionError) -> QueryError {
    QueryError::Condition(InvalidCondition { number, text: text.to_owned(), error })
}

/// Joins conditions for equality with one column by *or*, because no value equals two others.
fn joined(conditions: impl IntoIterator<Item = Condition>) -> Vec<Condition> {
    let mut joined: Vec<Condition> = Vec::new();
    for condition in conditions {
        let mut others = joined.iter().enumerate();
        let either =
            others.find_map(|(number, other)| Some((number, other.joined_equality(&condition)?)));
        match either {
            Some((number, either)) => joined[number] = either,
            None if joined.contains(&condition) => {}
            None => joined.push(condition),
        }
    }
    joined
}

/// Returns the message about a field that no format has.
pub(crate) fn missing_field<'a>(name: &str, formats: impl Iterator<Item = &'a Format>) -> String {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in formats.flat_map(Format::accessors) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    UnknownField { name: name.to_owned(), fields: names }.to_string()
}

#[cfg(test)]
mod tests {
    use weir_core::{Clause as CoreClause, TextTest, Values, Zone};
    use weir_view::{Clause, Operator, Query};

    use super::WrittenQuery;
    use crate::question::{Now, ParsedQuery, QueryError};

    /// Splits a clause such as `path!~x`.
    fn clause(text: &str) -> Clause {
        let signs = [
            ("!=", Operator::NotEqual),
            ("!~", Operator::NotMatch),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("=", Operator::Equal),
            ("~", Operator::Match),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let at = text.find(|next| "=!~<>".contains(next)).expect("an operator");
        let (field, rest) = text.split_at(at);
        let (sign, op) = signs.into_iter().find(|(sign, _)| rest.starts_with(sign)).expect("one");
        Clause { field: field.to_owned(), op, values: vec![rest[sign.len()..].to_owned()] }
    }

    fn clicked(clauses: &[&str]) -> Query {
        Query { clauses: clauses.iter().map(|text| clause(text)).collect(), ..Query::default() }
    }

    fn typed(conditions: &[&str]) -> Query {
        let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
        Query { conditions, ..Query::default() }
    }

    /// The clauses of the filter for any log.
    fn filter(query: &Query) -> Vec<CoreClause> {
        let query = ParsedQuery::parse(query).expect("a valid query");
        query.filter(&Values::new(0)).expect("a valid filter").clauses
    }

    fn check(query: &Query) -> Result<ParsedQuery, QueryError> {
        WrittenQuery::parse(query, Now::read())?.check(&Values::new(0), &Zone::utc)
    }

    #[test]
    fn equalities_on_one_field_are_joined_by_or() {
        let clauses = filter(&clicked(&["path=/a", "path=/b", "client=10.0.0.0/8"]));
        let [CoreClause::Text { test: TextTest::OneOf(values), .. }, _] = &clauses[..] else {
            panic!("expected a list of values and a block: {clauses:?}");
        };
        assert_eq!(values, &[b"/a".to_vec(), b"/b".to_vec()]);
        let numbers = filter(&clicked(&["bytes=1", "bytes=7", "bytes>100"]));
        assert!(matches!(&numbers[..], [CoreClause::Any(either), _] if either.len() == 2));
    }

    #[test]
    fn a_clicked_clause_is_a_spelling_of_a_typed_condition() {
        for (one, other) in [
            ("status_class=4xx", "status_class=4xx"),
            ("path=/a b", "path='/a b'"),
            ("path=(none)", "path='(none)'"),
            ("method=get", "method='get'"),
            ("client=10.0.0.0/8", "client=10.0.0.0/8"),
            ("path~^/(a|b)$", "path~'^/(a|b)$'"),
            ("bytes>=1kB", "bytes>='1kB'"),
            ("time>=2025-12-17", "time>='2025-12-17'"),
        ] {
            let clicked = check(&clicked(&[one])).expect(one);
            assert_eq!(Ok(clicked), check(&typed(&[other])), "{one}");
        }
        let (field, values) = ("client".to_owned(), vec![weir_view::to_hex(b"10.0.0.0/8")]);
        let clauses = vec![Clause { field, op: Operator::EqualHex, values }];
        let hex = check(&Query { clauses, ..Query::default() });
        assert_eq!(hex, check(&typed(&["client=\"10.0.0.0/8\""])), "no block");
        assert_ne!(hex, check(&typed(&["client=10.0.0.0/8"])), "a block");
    }

    #[test]
    fn expressions_and_comparisons_are_limited() {
        let parse = |query: &Query| ParsedQuery::parse(query).map(|_| ());
        let texts: Vec<String> = (0..65).map(|number| format!("path~{number}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let refused = Err(QueryError::TooManyExpressions(64));
        assert_eq!(parse(&clicked(&texts)), refused);
        assert_eq!(parse(&clicked(&texts[1..])), Ok(()));
        assert_eq!(parse(&typed(&texts)), refused);
        let values = vec!["x".to_owned(); 65];
        let clause = Clause { field: "path".into(), op: Operator::NotMatch, values };
        assert_eq!(parse(&Query { clauses: vec![clause], ..Query::default() }), refused);
        assert_eq!(parse(&clicked(&["path=x"; 1_000])), Ok(()), "only expressions");
        assert_eq!(parse(&typed(&[&vec!["a"; 65].join(" or ")])), refused, "searches count");
        let comparisons = |count| typed(&[&vec!["path=/a"; count].join(" or ")]);
        assert_eq!(parse(&comparisons(256)), Ok(()));
        assert_eq!(parse(&comparisons(257)), Err(QueryError::TooManyComparisons(256)));
    }

    #[test]
    fn an_error_names_its_condition_and_place() {
        let invalid = |conditions: &[&str]| match check(&typed(conditions)) {
            Err(QueryError::Condition(invalid)) => invalid,
            other => panic!("the condition is not valid: {other:?}"),
        };
        let operator = invalid(&["path=/", "é and status==404"]);
        let place = operator.place();
        assert_eq!((place.condition, place.start, place.end), (1, 12, 14));
        let excerpt = "\né and status==404\n            ^^";
        assert!(operator.to_string().ends_with(excerpt), "{operator}");
        let time = invalid(&["path=/", "time>soon"]).place();
        assert_eq!((time.condition, time.start, time.end), (1, 5, 9));
    }

    #[test]
    fn invalid_clauses_are_refused() {
        for (text, part) in [
            ("nothing=1", "no field `nothing`"),
            ("path~(", "regex parse error"),
            ("bytes>x", "`x` is not a valid size"),
            ("status>x", "`x` is not a valid number"),
            ("bytes~1", "`~` does not compare"),
            ("time>soon", "`soon` is not a valid time"),
            ("status_class=4xx or path~a", "is not a class of statuses"),
        ] {
            let error = check(&clicked(&[text])).expect_err(text);
            assert!(matches!(&error, QueryError::Clause(_)), "{error:?}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
        let hex = Clause { field: "path".into(), op: Operator::EqualHex, values: vec!["f".into()] };
        let refused = check(&Query { clauses: vec![hex], ..Query::default() });
        assert_eq!(refused, Err(QueryError::NotHexadecimal("f".into())));
    }

    /// Returns the time range that clauses accept, in seconds from the start of 2025-12-17 at
    /// +01:00, if the log is there.
    fn range_s(zone: Option<&str>, clauses: &[&str]) -> (Option<i64>, Option<i64>) {
        let query = Query { zone: zone.map(str::to_owned), ..clicked(clauses) };
        let query = WrittenQuery::parse(&query, Now::read()).unwrap();
        let query = query.settled(&|| Zone::fixed(3600)).unwrap();
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for clause in query.filter(&Values::new(0)).unwrap().clauses {
            let CoreClause::Time { first_ns, last_ns } = clause else { panic!("{clause:?}") };
            (first, last) = (first.max(first_ns), last.min(last_ns));
        }
        let start_ns = 1_765_926_000_000_000_000;
        let seconds = |at: i64| (at - start_ns).div_euclid(1_000_000_000);
        let from = (first != i64::MIN).then(|| seconds(first));
        (from, (last != i64::MAX).then(|| seconds(last)))
    }

    #[test]
    fn a_date_is_a_whole_day() {
        const DAY_S: i64 = 86_400;
        let range_s = |clauses: &[&str]| range_s(None, clauses);
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
        assert_eq!(range_s(Some("UTC"), &["time>=2025-12-17"]), (Some(3600), None));
    }

    #[test]
    fn a_time_ago_depends_on_the_present() {
        let depends = |text: &str| {
            let query = WrittenQuery::parse(&clicked(&[text]), Now::read()).unwrap();
            query.depends_on_present(&Zone::utc)
        };
        assert!(depends("time>=30min"));
        assert!(!depends("time>=2025-12-17"));
        assert!(!depends("path=now"));
    }
}
