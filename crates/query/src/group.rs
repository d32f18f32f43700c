//! Groups records by the values of fields.

use std::cmp::{Ordering, Reverse};

use weir_core::{Evaluation, Values};
use weir_view::{Group, GroupRest, Measure, PeriodTally, Tally};

use crate::group_values::GroupValues;
use crate::measures::{Measures, Rank};
use crate::question::GroupQuestion;
use crate::tallies::sum;

/// Returns the first `top` groups of an answer in the order of a measure, compared with the answer
/// about the previous period if there is one. Returns `None` if the data set has no such field.
pub(crate) fn group_rows(
    question: &GroupQuestion,
    values: &Values,
    now: &Evaluation,
    before: Option<&Evaluation>,
    top: usize,
) -> Option<Group> {
    let groups = GroupValues::of(question, values, now, before)?;
    let measures = Measures::of(now);
    let (numbers, few) =
        groups.numbers().into_iter().partition(|number| groups.now[*number].count >= question.min);
    let (shown, mut others) = first_by_measure(&groups, &measures, question.sort, numbers, top);
    others.extend::<Vec<usize>>(few);
    let columns = question.shown();
    let rows = shown.iter().map(|number| {
        let mut row = groups.row(*number);
        row.measures = measures.shown(&columns, groups.now[*number], *number);
        row
    });
    let sum_of = |tallies: &[Tally]| sum(others.iter().map(|number| &tallies[*number]));
    let (field, further_fields) = question.fields.split_first()?;
    let estimated = columns.iter().filter(|measure| measures.is_estimated(**measure));
    Some(Group {
        field: field.clone(),
        further_fields: further_fields.to_vec(),
        rows: rows.collect(),
        estimated: estimated.map(Measure::to_string).collect(),
        measures: match columns == Measure::SHOWN {
            true => Vec::new(),
            false => columns.iter().map(Measure::to_string).collect(),
        },
        sort: (question.sort != Measure::Requests).then(|| question.sort.to_string()),
        min: question.min,
        rest: GroupRest {
            values: others.len() as u64,
            tally: PeriodTally::new(sum_of(&groups.now), groups.before.as_deref().map(sum_of)),
        },
    })
}

/// Returns the first `top` groups in descending order of a measure, then of their records, and then
/// by value; and the others in any order.
fn first_by_measure(
    groups: &GroupValues<'_>,
    measures: &Measures<'_>,
    sort: Measure,
    numbers: Vec<usize>,
    top: usize,
) -> (Vec<usize>, Vec<usize>) {
    type Ranked = (Reverse<(Rank, u64, u64)>, usize);
    let ranks = measures.ranks(sort, groups, &numbers);
    let ranked = ranks.into_iter().zip(numbers);
    let mut ranked: Vec<Ranked> = ranked
        .map(|(rank, number)| {
            let counts = (groups.now[number].count, groups.count_before(number));
            (Reverse((rank, counts.0, counts.1)), number)
        })
        .collect();
    let order = |one: &Ranked, other: &Ranked| -> Ordering {
        one.0.cmp(&other.0).then_with(|| groups.order(one.1, other.1))
    };
    // A partial sort: millions of values need not be sorted for the first ten.
    if ranked.len() > top && top > 0 {
        ranked.select_nth_unstable_by(top - 1, order);
    }
    let others = ranked.split_off(top.min(ranked.len()));
    ranked.sort_unstable_by(order);
    let numbers = |ranked: Vec<Ranked>| ranked.into_iter().map(|(_, number)| number).collect();
    (numbers(ranked), numbers(others))
}
