//! How the records of an answer differ from the others.

use std::cmp::Ordering;

use weir_core::{ABSENT, Evaluation, EvaluationByKind, Field, REMAINDER, Values};
use weir_view::{Difference, Differences, g_squared};

use crate::counter::CountedAggregates;
use crate::question::{ParsedQuery, QueryError};
use crate::report::of_each_kind;
use crate::tallies::FieldValues;

/// Creates the evaluations of all records of the kind of a query, for [`differences`].
///
/// # Errors
/// Fails if the query is not valid for these values.
pub fn evaluation_of_all(
    query: &ParsedQuery,
    values: &Values,
) -> Result<EvaluationByKind, QueryError> {
    of_each_kind(&query.of_all(), values, CountedAggregates::Lists)
}

/// Returns the values that separate the records of an answer best from the others among `all`, as many
/// as the query has rows in a list. Fields with a condition are left out: they separate the records by
/// definition.
pub fn differences(
    query: &ParsedQuery,
    values: &Values,
    selected: &Evaluation,
    all: &Evaluation,
) -> Differences {
    let records = selected.totals().records;
    let others = all.totals().records.saturating_sub(records);
    let conditions = query.field_names();
    let has_condition = |name: &str| {
        let is_same = |own: &String| match Field::by_name(own) {
            Some(field) => field.name() == name,
            None => own == name || own == weir_core::STATUS_CLASS && name == Field::Status.name(),
        };
        conditions.iter().any(is_same)
    };
    let mut best: Vec<Candidate<'_>> = Vec::new();
    let mut compared = 0;
    for (_, name) in values.schema().text_columns().filter(|(_, name)| !has_condition(name)) {
        let Some(names) = FieldValues::of(name, values) else { continue };
        let (own, all) = (names.tallies(selected), names.tallies(all));
        // No record has the field.
        if all[ABSENT as usize].count == records + others {
            continue;
        }
        for id in (0..all.len()).filter(|id| *id != REMAINDER as usize && all[*id].count > 0) {
            let (count, all) = (own[id].count, all[id].count);
            compared += 1;
            let others_count = all.saturating_sub(count);
            let g2 = g_squared((count, records), (others_count, others));
            best.push(Candidate { g2, field: name, names, id, count, others_count });
        }
        // Only the first of each field can be among the first of all.
        keep_first(&mut best, query.top);
    }
    best.sort_by(Candidate::order);
    let row = |best: &Candidate<'_>| {
        let value = best.names.row_value(best.id);
        let counts = ((best.count, records), (best.others_count, others));
        Difference::new((best.field, value), counts.0, counts.1)
    };
    Differences {
        selected: records,
        others,
        values: compared,
        rows: best.iter().map(row).collect(),
    }
}

/// A value, with the size of what it separates.
struct Candidate<'a> {
    g2: f64,
    field: &'a str,
    names: FieldValues<'a>,
    id: usize,
    count: u64,
    others_count: u64,
}

impl Candidate<'_> {
    /// The largest G-squared first; then by field and value.
    fn order(&self, other: &Self) -> Ordering {
        let by_size = other.g2.total_cmp(&self.g2);
        let by_field = || self.field.cmp(other.field);
        let by_value = || self.names.value(self.id).cmp(other.names.value(other.id));
        by_size.then_with(by_field).then_with(by_value)
    }
}

/// Keeps the first `top`, in no order.
fn keep_first(best: &mut Vec<Candidate<'_>>, top: usize) {
    if best.len() > top && top > 0 {
        best.select_nth_unstable_by(top - 1, Candidate::order);
    }
    best.truncate(top);
}
