//! Groups records by the values of fields.

use std::cmp::{Ordering, Reverse};
use std::iter;

use weir_core::{DerivedValues, Evaluation, Values};
use weir_view::{Group, GroupRest, GroupRow, Measure, PeriodTally, Tally};

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
    let (measures, measures_before) = (Measures::of(now), before.map(Measures::of));
    let search = part.search.to_lowercase();
    let is_found = |number: &usize| search.is_empty() || groups.contains(*number, &search);
    let (numbers, few) = groups
        .numbers()
        .into_iter()
        .filter(is_found)
        .partition(|number| groups.now[*number].count >= question.min);
    let count = question.rows_max.unwrap_or(part.count);
    let top = part.from.saturating_add(count);
    let order = match &measures_before {
        Some(before) if question.orders_rates() => Order::Rates(&measures, before),
        Some(_) if question.orders_changes() => Order::Changes,
        _ => Order::Measure(&measures),
    };
    let (mut shown, mut others) = first_of(&groups, order, question, numbers, top);
    let skipped = part.from.min(shown.len());
    others.extend(shown.drain(..skipped));
    if question.in_own_order > 0 {
        shown.sort_by(|one, other| groups.order_of_first(question.in_own_order, *one, *other));
    }
    others.extend::<Vec<usize>>(few);
    let columns = question.shown();
    let mut rows: Vec<GroupRow> = shown.iter().map(|number| groups.row(*number)).collect();
    let shown_measures = measures.shown(&columns, &groups.counted(&shown));
    rows.iter_mut().zip(shown_measures).for_each(|(row, measures)| row.measures = measures);
    if let (Some(before), Some(counted)) = (&measures_before, groups.counted_before(&shown)) {
        let shown_measures = before.shown(&columns, &counted);
        rows.iter_mut()
            .zip(shown_measures)
            .for_each(|(row, measures)| row.previous_measures = measures);
    }
    let sum_of = |tallies: &[Tally]| sum(others.iter().map(|number| &tallies[*number]));
    let (field, further_fields) = question.fields.split_first()?;
    let answers: Vec<&Measures<'_>> = iter::once(&measures).chain(&measures_before).collect();
    let named = |is_so: &dyn Fn(&Measures<'_>, Measure) -> bool| -> Vec<String> {
        let is_so = |measure: &&Measure| answers.iter().any(|answer| is_so(answer, **measure));
        columns.iter().filter(is_so).map(Measure::to_string).collect()
    };
    Some(Group {
        field: field.clone(),
        further_fields: further_fields.to_vec(),
        rows,
        estimated: named(&|answer, measure| answer.is_estimated(measure)),
        lower_bounds: named(&|answer, measure| answer.is_lower_bound(measure)),
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

/// What groups are ordered by.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// The measure of the question.
    Measure(&'a Measures<'a>),
    /// What is new and what is gone, and then the change of the share.
    Changes,
    /// The rate at which the measure has changed since the previous period, whose measures follow.
    Rates(&'a Measures<'a>, &'a Measures<'a>),
}

impl Order<'_> {
    /// Returns the ranks of some groups.
    fn ranks(
        self,
        groups: &GroupValues<'_>,
        question: &GroupQuestion,
        numbers: &[usize],
    ) -> Vec<Rank> {
        let of_now =
            |measures: &Measures<'_>| measures.ranks(question.sort, &groups.counted(numbers));
        match self {
            Self::Measure(measures) => of_now(measures),
            Self::Changes => groups.changes(numbers),
            Self::Rates(now, before) => {
                let counted = groups.counted_before(numbers).unwrap_or_default();
                let before = before.ranks(question.sort, &counted);
                of_now(now)
                    .into_iter()
                    .zip(before)
                    .map(|(now, before)| now.of_rate(before))
                    .collect()
            }
        }
    }
}

/// Returns the first `top` groups in descending order, then of their records, and then by value; and the
/// others in any order.
fn first_of(
    groups: &GroupValues<'_>,
    order: Order<'_>,
    question: &GroupQuestion,
    numbers: Vec<usize>,
    top: usize,
) -> (Vec<usize>, Vec<usize>) {
    type Ranked = (Reverse<(Rank, u64, u64)>, usize);
    let may_lead = |id: u32| {
        groups.now.get(id as usize).is_some_and(|tally| tally.count >= question.min.max(1))
    };
    let leading = match order {
        Order::Measure(measures) if numbers.len() > top => {
            measures.leading(question.sort, top, may_lead)
        }
        _ => None,
    };
    let (candidates, mut others) = match leading {
        Some(leading) => {
            let mut leads = vec![false; groups.now.len()];
            leading.iter().for_each(|(number, _)| leads[*number] = true);
            (leading, numbers.into_iter().filter(|number| !leads[*number]).collect())
        }
        None => {
            let ranks = order.ranks(groups, question, &numbers);
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
