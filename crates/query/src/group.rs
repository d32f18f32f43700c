//! Groups records by the values of fields.

use std::cmp::{Ordering, Reverse};

use weir_core::{DerivedValues, Evaluation, Values};
use weir_view::{Group, GroupRest, Measure, PeriodTally, Tally};

use crate::group_values::GroupValues;
use crate::measures::{Measures, Rank};
use crate::question::GroupQuestion;
use crate::tallies::sum;

/// Which of the groups are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GroupPart<'a> {
    /// The number of groups to skip.
    pub(crate) from: usize,
    /// The number of groups after those.
    pub(crate) count: usize,
    /// A text that their values contain, in upper or lower case; all other groups are left out.
    pub(crate) search: &'a str,
    /// The values of the field, if it is derived from others and no column.
    pub(crate) derived: Option<&'a DerivedValues>,
}

/// Returns some groups of an answer in the order of a measure, compared with the answer about the
/// previous period if there is one. Returns `None` if the data set has no such field.
pub(crate) fn group_rows(
    question: &GroupQuestion,
    values: &Values,
    now: &Evaluation,
    before: Option<&Evaluation>,
    part: GroupPart<'_>,
) -> Option<Group> {
    let groups = GroupValues::of(question, values, (now, before), part.derived)?;
    let measures = Measures::of(now);
    let search = part.search.to_lowercase();
    let is_found = |number: &usize| search.is_empty() || groups.contains(*number, &search);
    let (numbers, few) = groups
        .numbers()
        .into_iter()
        .filter(is_found)
        .partition(|number| groups.now[*number].count >= question.min);
    let count = question.rows_max.unwrap_or(part.count);
    let top = part.from.saturating_add(count);
    let (mut shown, mut others) = first_by_measure(&groups, &measures, question, numbers, top);
    let skipped = part.from.min(shown.len());
    others.extend(shown.drain(..skipped));
    if question.in_own_order > 0 {
        shown.sort_by(|one, other| groups.order_of_first(question.in_own_order, *one, *other));
    }
    others.extend::<Vec<usize>>(few);
    let columns = question.shown();
    let shown_measures = measures.shown(&columns, &groups, &shown);
    let rows = shown.iter().zip(shown_measures).map(|(number, measures)| {
        let mut row = groups.row(*number);
        row.measures = measures;
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
        sort: question.shown_sort().map(|sort| sort.to_string()),
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
    question: &GroupQuestion,
    numbers: Vec<usize>,
    top: usize,
) -> (Vec<usize>, Vec<usize>) {
    type Ranked = (Reverse<(Rank, u64, u64)>, usize);
    let may_lead = |id: u32| {
        groups.now.get(id as usize).is_some_and(|tally| tally.count >= question.min.max(1))
    };
    let leading = match numbers.len() > top {
        true => measures.leading(question.sort, top, may_lead),
        false => None,
    };
    let (candidates, mut others) = match leading {
        Some(leading) => {
            let mut leads = vec![false; groups.now.len()];
            leading.iter().for_each(|(number, _)| leads[*number] = true);
            (leading, numbers.into_iter().filter(|number| !leads[*number]).collect())
        }
        None => {
            let ranks = measures.ranks(question.sort, groups, &numbers);
            (numbers.into_iter().zip(ranks).collect(), Vec::new())
        }
    };
    let ranked = candidates.into_iter().map(|(number, rank)| {
        let counts = (groups.now[number].count, groups.count_before(number));
        (Reverse((rank, counts.0, counts.1)), number)
    });
    let mut ranked: Vec<Ranked> = ranked.collect();
    let order = |one: &Ranked, other: &Ranked| -> Ordering {
        one.0.cmp(&other.0).then_with(|| groups.order(one.1, other.1))
    };
    // A partial sort: millions of values need not be sorted for the first ten.
    if ranked.len() > top && top > 0 {
        ranked.select_nth_unstable_by(top - 1, order);
    }
    let behind = ranked.split_off(top.min(ranked.len()));
    ranked.sort_unstable_by(order);
    let numbers = |ranked: Vec<Ranked>| ranked.into_iter().map(|(_, number)| number);
    others.extend(numbers(behind));
    (numbers(ranked).collect(), others)
}
