//! The columns of a group.

use std::collections::BTreeMap;

use weir_core::has_own_order;
use weir_view::{Group, GroupRow, Measure, MeasureValue, PeriodTally, Report};

use super::number::{bytes, duration, separated, share};
use super::time::LocalTime;

/// The columns of a group, with a number for each value.
#[derive(Debug)]
pub(crate) struct GroupColumns<'a> {
    columns: Vec<Column>,
    group: &'a Group,
    report: &'a Report,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Measure(Measure),
    PreviousCount,
    Change,
    PreviousBytesSent,
    PreviousErrors,
    PreviousMeasure(Measure),
}

/// The measures that are compared if none are named.
const COMPARED: [Measure; 3] = [Measure::Requests, Measure::Bytes, Measure::Errors];

impl<'a> GroupColumns<'a> {
    /// Returns the columns of a report's group, without sums that its kind of records lacks.
    pub(crate) fn of(group: &'a Group, report: &'a Report) -> Self {
        let named = group.measures.iter().filter_map(|name| name.parse().ok());
        let is_compared = report.compare.is_some();
        let measures: Vec<Measure> = match (group.measures.is_empty(), is_compared) {
            (false, _) => named.collect(),
            (true, true) => COMPARED.into(),
            (true, false) => Measure::SHOWN.into(),
        };
        let has_sum = |measure: &Measure| match measure {
            Measure::Bytes => report.has_sum("bytes_sent"),
            Measure::Errors | Measure::ErrorRate => report.has_sum("errors"),
            _ => true,
        };
        let measures = measures.into_iter().filter(has_sum);
        let columns = measures.flat_map(|measure| {
            let further = match measure {
                _ if !is_compared => Vec::new(),
                Measure::Requests => vec![Column::PreviousCount, Column::Change],
                Measure::Bytes => vec![Column::PreviousBytesSent],
                Measure::Errors => vec![Column::PreviousErrors],
                Measure::Share | Measure::ErrorRate => Vec::new(),
                measure => vec![Column::PreviousMeasure(measure)],
            };
            std::iter::once(Column::Measure(measure)).chain(further)
        });
        Self { columns: columns.collect(), group, report }
    }

    /// Returns the number of columns.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns the title of the group.
    pub(crate) fn title(&self) -> String {
        let group = self.group;
        let mut title = format!("By {}", group.field);
        for field in &group.further_fields {
            title += &format!(", {field}");
        }
        if let Some(sort) = group.sort.as_ref().and_then(|name| name.parse::<Measure>().ok()) {
            let change = if self.is_by_rate(sort) { "change of " } else { "" };
            title += &format!(", largest {change}{} first", sort.heading());
        }
        if self.report.compare.is_some() && group.sort.is_none() && !has_own_order(&group.field) {
            title += ", new and gone first, then the largest changes of share";
        }
        let rows = group.rows.len();
        if group.sort.is_none() && has_own_order(&group.field) && group.rest.values > 0 && rows > 1
        {
            title += &format!(
                ", the {} with the most {}",
                separated(rows as u64),
                self.report.kind.noun(2)
            );
        }
        if group.min > 0 {
            let noun = self.report.kind.noun(group.min);
            title += &format!(", from {} {noun}", separated(group.min));
        }
        title
    }

    /// Whether the rows are ordered by the rate at which this measure, that of their order, has changed.
    fn is_by_rate(&self, sort: Measure) -> bool {
        self.report.compare.is_some() && sort.is_duration()
    }

    /// Returns the heads of the columns.
    pub(crate) fn heads(&self) -> Vec<String> {
        let head = |column: &Column| match column {
            Column::Measure(Measure::Requests) => self.report.kind.column().to_owned(),
            Column::Measure(measure) => measure.heading(),
            Column::PreviousCount
            | Column::PreviousBytesSent
            | Column::PreviousErrors
            | Column::PreviousMeasure(_) => "prev.".to_owned(),
            Column::Change => "change".to_owned(),
        };
        self.columns.iter().map(head).collect()
    }

    /// Formats the numbers of a row. `change` formats a difference.
    pub(crate) fn row(&self, row: &GroupRow, change: fn(i64) -> String) -> Vec<String> {
        let cells = self.columns.iter().map(|column| {
            let measures = match column {
                Column::PreviousMeasure(_) => &row.previous_measures,
                _ => &row.measures,
            };
            let cell = self.cell(*column, &row.tally, measures, change);
            let is_bound = row.value.uncounted_max > 0 && column.has_lower_bounds();
            if is_bound { format!("≥{cell}") } else { cell }
        });
        cells.collect()
    }

    /// Formats the numbers of all other values. Cells are empty for measures that are not sums.
    pub(crate) fn rest(&self, change: fn(i64) -> String) -> Vec<String> {
        let (tally, none) = (&self.group.rest.tally, BTreeMap::new());
        let cells = self.columns.iter().map(|column| self.cell(*column, tally, &none, change));
        cells.collect()
    }

    /// Returns the name of the row of all other values; `None` if there are none.
    pub(crate) fn name_of_rest(&self) -> Option<String> {
        let group = self.group;
        let mut fields = std::iter::once(&group.field).chain(&group.further_fields);
        let is_estimated = fields.any(|field| self.report.is_estimated(field));
        let nouns = match group.further_fields[..] {
            [] => ["value", "values"],
            _ => ["combination", "combinations"],
        };
        match (is_estimated, group.rest.values) {
            (_, 0) => None,
            (true, many) => Some(format!("at least {} other {}", separated(many), nouns[1])),
            (false, 1) => Some(format!("1 other {}", nouns[0])),
            (false, many) => Some(format!("{} other {}", separated(many), nouns[1])),
        }
    }

    fn cell(
        &self,
        column: Column,
        tally: &PeriodTally,
        measures: &BTreeMap<String, Option<MeasureValue>>,
        change: fn(i64) -> String,
    ) -> String {
        let (now, before) = (tally.selected, tally.previous());
        match column {
            Column::Measure(Measure::Requests) => separated(now.count),
            Column::PreviousCount => separated(before.count),
            Column::Change => change(tally.difference.unwrap_or(0)),
            Column::Measure(Measure::Share) => share(now.count, self.report.matching),
            Column::Measure(Measure::Bytes) => bytes(now.bytes_sent),
            Column::PreviousBytesSent => bytes(before.bytes_sent),
            Column::Measure(Measure::Errors) => separated(now.errors),
            Column::PreviousErrors => separated(before.errors),
            Column::Measure(Measure::ErrorRate) => share(now.errors, now.count),
            Column::Measure(measure) | Column::PreviousMeasure(measure) => {
                let name = measure.to_string();
                let mark = mark(self.group, &name);
                match measures.get(&name) {
                    None => String::new(),
                    Some(None) => "–".to_owned(),
                    Some(Some(value)) => format!("{mark}{}", shown(measure, value)),
                }
            }
        }
    }
}

/// What stands before the numbers of a measure, for which memory may have run out.
fn mark(group: &Group, measure: &str) -> &'static str {
    let [is_estimated, is_lower_bound] =
        [&group.estimated, &group.lower_bounds].map(|names| names.iter().any(|it| it == measure));
    match (is_estimated, is_lower_bound) {
        (false, false) => "",
        (true, false) => "≈",
        (false, true) => "≥",
        (true, true) => "≳",
    }
}

impl Column {
    /// Whether the numbers of a value are lower bounds if it may lack records.
    fn has_lower_bounds(self) -> bool {
        match self {
            Self::Change | Self::Measure(Measure::ErrorRate) | Self::PreviousMeasure(_) => false,
            Self::Measure(measure) => measure.is_of_tally(),
            Self::PreviousCount | Self::PreviousBytesSent | Self::PreviousErrors => true,
        }
    }
}

/// Formats the errors of both periods, as `errors 0 → 12`. Empty if there are none.
pub(crate) fn errors_changed(tally: &PeriodTally) -> String {
    let [before, now] = [tally.previous(), tally.selected].map(|tally| tally.errors);
    match (before, now) {
        (0, 0) => String::new(),
        _ => format!("errors {} → {}", separated(before), separated(now)),
    }
}

/// Formats the value of a measure.
fn shown(measure: Measure, value: &MeasureValue) -> String {
    match (measure, value) {
        (Measure::Clients | Measure::Visitors | Measure::Visits, MeasureValue::Count(count)) => {
            separated(*count)
        }
        (_, MeasureValue::Number(seconds)) if measure.is_duration() => duration(*seconds),
        (_, MeasureValue::Count(number)) => bytes(*number),
        (_, MeasureValue::Number(number)) => bytes(number.round() as u64),
        (_, MeasureValue::Time(stamp)) => {
            LocalTime::parse(stamp).map_or_else(|| stamp.clone(), |time| time.full())
        }
    }
}
