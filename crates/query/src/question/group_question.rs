//! What records are grouped by, and what is shown of the groups.

use std::sync::Arc;

use weir_core::{
    DerivedValues, Field, GroupKey, GroupedNumber, Grouping, STATUS_CLASS, TimeSpans, Values,
    has_own_order,
};
use weir_view::{Measure, Query, Statistic};

use super::limits::check_group;
use super::query_error::QueryError;

/// The largest number of fields of a group. More would be a copy of the log.
const FIELDS_MAX: usize = 8;

/// The largest number of measures that are shown. Each may take memory for every group.
const MEASURES_MAX: usize = 16;

/// A combination is given up if the groups take more than this part of the memory of the values, at
/// a hundred bytes for each and twice as many in the parts of several threads.
const GROUP_MEMORY_SHARE: usize = 1_024;

/// The same for the distinct clients of all groups, at 8 bytes for each.
const CLIENT_MEMORY_SHARE: usize = 64;

/// The same for the half hours in which visitors of a group were seen, at 24 bytes for each.
const HALF_HOUR_MEMORY_SHARE: usize = 192;

/// What records are grouped by, and what is shown of the groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupQuestion {
    /// The names of the fields, one at least.
    pub fields: Vec<String>,
    /// The measures to show, in order; empty for the usual ones.
    pub measures: Vec<Measure>,
    /// The measure by which the groups are ordered.
    pub sort: Measure,
    /// The number of the first fields whose values stand in their own order, before that of `sort`: 0
    /// if the query names an order.
    pub(crate) in_own_order: usize,
    /// Whether the query names the order.
    pub(crate) is_sorted: bool,
    /// The number of rows, if it is another than that of the lists.
    pub(crate) rows_max: Option<usize>,
    /// The number of records from which a group has a row.
    pub min: u64,
}

impl GroupQuestion {
    /// Reads the group of a query, if it has one.
    ///
    /// # Errors
    /// Fails if a field or a measure is not valid, or if there are too many.
    pub(super) fn parse(query: &Query) -> Result<Option<Self>, QueryError> {
        let measure = |text: &String| text.parse::<Measure>().map_err(QueryError::Measure);
        let measures: Vec<Measure> =
            query.measures.iter().take(MEASURES_MAX + 1).map(measure).collect::<Result<_, _>>()?;
        if measures.len() > MEASURES_MAX {
            return Err(QueryError::TooManyMeasures(MEASURES_MAX));
        }
        let sort = query.sort.as_ref().map(measure).transpose()?;
        let Some(group) = &query.group else { return Ok(None) };
        let fields: Vec<String> = group.split(',').map(str::to_owned).collect();
        if fields.len() > FIELDS_MAX {
            return Err(QueryError::TooManyGroupFields(FIELDS_MAX));
        }
        fields.iter().try_for_each(|field| check_group(field))?;
        let in_own_order = match sort {
            None => fields.iter().take_while(|field| has_own_order(field)).count(),
            Some(_) => 0,
        };
        let is_sorted = sort.is_some();
        let sort = sort.unwrap_or(Measure::Requests);
        Ok(Some(Self {
            fields,
            measures,
            sort,
            in_own_order,
            is_sorted,
            rows_max: None,
            min: query.min,
        }))
    }

    /// Returns whether the rows of a comparison are ordered by what has changed.
    pub(crate) fn orders_changes(&self) -> bool {
        !self.is_sorted && self.in_own_order == 0
    }

    /// Returns whether the rows of a comparison are ordered by the rate at which the measure has changed.
    pub(crate) fn orders_rates(&self) -> bool {
        self.is_sorted && self.sort.is_duration()
    }

    /// Returns the measure by which the rows are ordered, if that has to be said.
    pub(crate) fn shown_sort(&self) -> Option<Measure> {
        let is_chosen =
            self.in_own_order == 0 && self.fields.iter().take(1).any(|field| has_own_order(field));
        (is_chosen || self.sort != Measure::Requests).then_some(self.sort)
    }

    /// Returns the measures to show, in order: those that were named, or the usual ones; and that of the
    /// order, unless the values stand in their own.
    pub(crate) fn shown(&self) -> Vec<Measure> {
        let mut shown = match self.measures[..] {
            [] => Measure::SHOWN.to_vec(),
            ref measures => measures.to_vec(),
        };
        if self.in_own_order == 0 && !shown.contains(&self.sort) {
            shown.push(self.sort);
        }
        shown
    }

    /// Returns what has to be computed for the groups in addition to the lists of the fields. `None`
    /// if that is nothing, or if the data has no such field.
    pub(crate) fn grouping(&self, values: &Values) -> Option<Grouping> {
        let needed: Vec<Measure> = self.needed();
        if needed.is_empty() && self.fields.len() == 1 {
            return None;
        }
        let key = |field: &String| match field.as_str() {
            STATUS_CLASS => Some(GroupKey::StatusClass),
            name => values.schema().text_column_by_name(name).map(GroupKey::Column),
        };
        let keys = self.fields.iter().map(key).collect::<Option<_>>()?;
        Some(grouping_by(keys, &needed, values))
    }

    /// Returns what has to be computed for the groups of a derived field.
    pub(crate) fn derived_grouping(
        &self,
        derived: &Arc<DerivedValues>,
        values: &Values,
    ) -> Grouping {
        let grouping = grouping_by(vec![GroupKey::Derived], &self.needed(), values);
        Grouping { derived: Some(derived.clone()), ..grouping }
    }

    /// Returns what has to be computed for spans of time.
    pub(crate) fn span_grouping(
        measures: &[Measure],
        spans: TimeSpans,
        values: &Values,
    ) -> Grouping {
        let further: Vec<Measure> =
            measures.iter().copied().filter(|measure| !measure.is_of_tally()).collect();
        Grouping { spans: Some(spans), ..grouping_by(vec![GroupKey::Span], &further, values) }
    }

    /// Returns the measures that do not follow from the records, bytes and errors of a group.
    fn needed(&self) -> Vec<Measure> {
        self.shown().into_iter().filter(|measure| !measure.is_of_tally()).collect()
    }
}

/// Groups by keys, with what the measures need.
fn grouping_by(keys: Vec<GroupKey>, needed: &[Measure], values: &Values) -> Grouping {
    let mut grouping = Grouping::by(keys);
    let memory_bytes_max = values.memory_bytes_max();
    grouping.groups_max = (memory_bytes_max / GROUP_MEMORY_SHARE).max(1);
    grouping.distinct_max = (memory_bytes_max / CLIENT_MEMORY_SHARE).max(1);
    grouping.half_hours_max = (memory_bytes_max / HALF_HOUR_MEMORY_SHARE).max(1);
    for measure in needed {
        match measure {
            Measure::Clients => grouping.distinct = Some(Field::Client.column()),
            Measure::Visitors | Measure::Visits => grouping.visitors = true,
            Measure::FirstSeen | Measure::LastSeen => grouping.times = true,
            Measure::Number(statistic, field) => add_number(&mut grouping, *statistic, *field),
            Measure::Requests
            | Measure::Share
            | Measure::Bytes
            | Measure::Errors
            | Measure::ErrorRate => {}
        }
    }
    grouping
}

fn add_number(grouping: &mut Grouping, statistic: Statistic, field: Field) {
    let column = field.column();
    let is_quantile = matches!(statistic, Statistic::Percentile(_));
    let known = grouping.numbers.iter_mut().find(|number| number.column == column);
    match known {
        Some(number) => {
            number.quantiles |= is_quantile;
            number.sums |= !is_quantile;
        }
        None => grouping.numbers.push(GroupedNumber {
            column,
            sums: !is_quantile,
            quantiles: is_quantile,
        }),
    }
}
