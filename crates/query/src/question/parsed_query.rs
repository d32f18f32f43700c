//! The question that is answered.

use weir_core::{
    Aggregates, Clause, Condition, Field, Filter, Question, STATUS_CLASS, Stack, Values, Zone,
};
use weir_view::{Measure, Query, RecordKind};

use super::group_question::GroupQuestion;
use super::moment::Now;
use super::query_error::QueryError;
use super::written_query::WrittenQuery;

/// A query that was read: its conditions are trees, and their times are instants.
///
/// [`WrittenQuery::settled`] makes it. The filter of a data set, the predicate over records and the
/// aggregates are made from it, and no text is read again. Two are equal if they have the same
/// answer, however their conditions are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// Joined by *and*. Conditions for equality with one column are joined by *or* already.
    pub(crate) conditions: Vec<Condition>,
    /// The period of the records, beside the conditions.
    pub(crate) period: PeriodBounds,
    pub(crate) zone: Option<Zone>,
    pub(crate) kind: Option<RecordKind>,
    /// The number of rows in a list.
    pub(crate) top: usize,
    /// The name of the field by which the histogram is stacked.
    pub(crate) stack: String,
    pub(crate) buckets_max: usize,
    /// The step of the histogram, in seconds, if it is given.
    pub(crate) step_s: Option<u64>,
    pub(crate) group: Option<GroupQuestion>,
    pub(crate) overlay: Option<RecordKind>,
    /// How far the clock of the overlaid records is ahead, in seconds.
    pub(crate) overlay_ahead_s: i64,
    /// The bounds of the period that is compared with the one before it.
    pub(crate) compare: Option<PeriodBounds>,
}

/// The bounds of a period, in nanoseconds since 1970; it is open where one is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeriodBounds {
    /// The first instant.
    pub since_ns: Option<i64>,
    /// The first instant after the period.
    pub until_ns: Option<i64>,
}

impl PeriodBounds {
    /// Returns the part of both periods.
    fn and(self, other: Self) -> Self {
        let either = |one: Option<i64>, other: Option<i64>, best: fn(i64, i64) -> i64| {
            one.zip(other).map(|(one, other)| best(one, other)).or(one).or(other)
        };
        Self {
            since_ns: either(self.since_ns, other.since_ns, i64::max),
            until_ns: either(self.until_ns, other.until_ns, i64::min),
        }
    }

    fn later(self, by_ns: i64) -> Self {
        let [since_ns, until_ns] =
            [self.since_ns, self.until_ns].map(|ns| ns.map(|ns| ns.saturating_add(by_ns)));
        Self { since_ns, until_ns }
    }

    /// Returns the condition on the time of a record; `None` if every record is in the period.
    fn clause(self) -> Option<Clause> {
        (self != Self::default()).then(|| Clause::Time {
            first_ns: self.since_ns.unwrap_or(i64::MIN),
            last_ns: self.until_ns.map_or(i64::MAX, |until_ns| until_ns.saturating_sub(1)),
        })
    }
}

impl ParsedQuery {
    /// Reads a query whose times are written with an offset, or else are in UTC.
    ///
    /// # Errors
    /// Fails if a text of the query is not valid.
    pub fn parse(query: &Query) -> Result<Self, QueryError> {
        WrittenQuery::parse(query, Now::read())?.settled(&Zone::utc)
    }

    /// Returns the query for records of one kind.
    #[must_use]
    pub fn of_kind(mut self, kind: RecordKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Returns the query for the records that are also in a period.
    #[must_use]
    pub fn within(mut self, period: PeriodBounds) -> Self {
        self.period = self.period.and(period);
        self
    }

    /// Returns the query with a comparison of a period and the one before it.
    #[must_use]
    pub fn comparing(mut self, period: PeriodBounds) -> Self {
        self.compare = Some(period);
        self
    }

    /// Returns the query with this step of its histogram, one of [`weir_core::histogram_steps_s`].
    #[must_use]
    pub fn with_step_s(mut self, step_s: u64) -> Self {
        self.step_s = Some(step_s);
        self
    }

    /// Returns the query with these measures of its group, if it names none.
    #[must_use]
    pub fn with_measures(mut self, measures: &[Measure]) -> Self {
        if let Some(group) = self.group.as_mut().filter(|group| group.measures.is_empty()) {
            group.measures = measures.to_vec();
        }
        self
    }

    /// Returns the query with this number of rows in its group.
    #[must_use]
    pub fn with_group_rows(mut self, rows: usize) -> Self {
        if let Some(group) = &mut self.group {
            group.rows_max = Some(rows);
        }
        self
    }

    /// Returns the kind of records, if the query names one.
    pub fn kind(&self) -> Option<RecordKind> {
        self.kind
    }

    /// Returns the query about the same records of a kind, without what only determines how they
    /// are shown.
    pub(crate) fn selection(&self, kind: RecordKind) -> Self {
        Self {
            conditions: self.conditions.clone(),
            period: self.period,
            zone: None,
            kind: Some(kind),
            top: 0,
            stack: STATUS_CLASS.to_owned(),
            buckets_max: 0,
            step_s: None,
            group: None,
            overlay: None,
            overlay_ahead_s: 0,
            compare: None,
        }
    }

    /// Returns the query about all records, without groups.
    pub(crate) fn of_all(&self) -> Self {
        let (conditions, period) = (Vec::new(), PeriodBounds::default());
        Self { conditions, period, group: None, ..self.clone() }
    }

    /// Returns the query with the conditions and the period of another one.
    pub(crate) fn with_conditions_of(self, other: &Self) -> Self {
        Self { conditions: other.conditions.clone(), period: other.period, ..self }
    }

    /// Returns the query with its times later, for records of a clock that is ahead by that.
    pub(crate) fn later(mut self, by_s: i64) -> Self {
        let by_ns = by_s.saturating_mul(1_000_000_000);
        self.period = self.period.later(by_ns);
        self.conditions = self.conditions.into_iter().map(|it| it.later(by_ns)).collect();
        self
    }

    /// Translates the query for a data set with these columns.
    ///
    /// # Errors
    /// Fails if the query is not valid for these columns.
    pub fn question(&self, values: &Values) -> Result<Question, QueryError> {
        Ok(Question {
            filter: self.filter(values)?,
            zone: self.zone.clone(),
            buckets_max: self.buckets_max,
            step_s: self.step_s,
            stack: self.stack(values)?,
            aggregates: Aggregates {
                groups: self.group.as_ref().and_then(|group| group.grouping(values)),
                ..Aggregates::default()
            },
        })
    }

    /// Returns the filter of the query, for data with these columns.
    ///
    /// # Errors
    /// Fails if a condition is not valid for these columns.
    pub fn filter(&self, values: &Values) -> Result<Filter, QueryError> {
        let unread = |text: &str| Err(QueryError::NotATime(text.to_owned()).to_string());
        let derived = |name: &str| values.derived_field(name, self.zone.as_ref());
        let mut clauses = Vec::new();
        for condition in &self.conditions {
            match condition
                .clause_deriving(values, &unread, &derived)
                .map_err(QueryError::Clause)?
            {
                // The filter joins its clauses by *and* too.
                Clause::All(all) => clauses.extend(all),
                clause => clauses.push(clause),
            }
        }
        clauses.extend(self.period.clause());
        Ok(Filter { kind: self.kind.map(Into::into), clauses })
    }

    /// Returns what records are grouped by.
    pub fn group(&self) -> Option<&GroupQuestion> {
        self.group.as_ref()
    }

    /// Returns the number of regular expressions in the filter, including searches in all fields.
    pub fn expressions(&self) -> usize {
        self.conditions.iter().map(Condition::expressions).sum()
    }

    /// Returns whether every record of its kind is selected.
    pub fn selects_all(&self) -> bool {
        self.conditions.is_empty() && self.period == PeriodBounds::default()
    }

    /// Returns the names of the fields in the filter.
    pub fn field_names(&self) -> Vec<String> {
        let fields = self.conditions.iter().flat_map(Condition::fields);
        let time = self.period.clause().map(|_| Field::Time.name().to_owned());
        fields.map(|condition| condition.field.clone()).chain(time).collect()
    }

    /// Returns the text columns that the query names, except known fields.
    pub fn extra_columns(&self) -> Vec<String> {
        let groups = self.group.iter().flat_map(|group| group.fields.clone());
        let fields = self.field_names().into_iter().chain([self.stack.clone()]).chain(groups);
        fields.filter(|name| *name != STATUS_CLASS && Field::by_name(name).is_none()).collect()
    }

    fn stack(&self, values: &Values) -> Result<Stack, QueryError> {
        if self.stack == STATUS_CLASS {
            let kind = self.kind.map(weir_core::RecordKind::from).unwrap_or_default();
            return Ok(kind.leading_column().map_or(Stack::StatusClass, Stack::Column));
        }
        let column = values.schema().text_column_by_name(&self.stack);
        column.map(Stack::Column).ok_or_else(|| QueryError::Stack(self.stack.clone()))
    }
}
