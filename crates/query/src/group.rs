//! Groups records by the values of a field.

use std::cmp::Reverse;

use weir_core::{Evaluation, Values};
use weir_view::{Group, GroupRest, PeriodTally, Tally};

use crate::tallies::{FieldValues, first_by, hidden_max, sum};

/// Returns the `top` most frequent values of a field in an answer, compared with the answer about
/// the previous period if there is one. Returns `None` if the data set has no such field.
pub(crate) fn group(
    field: &str,
    values: &Values,
    now: &Evaluation,
    before: Option<&Evaluation>,
    top: usize,
) -> Option<Group> {
    let names = FieldValues::of(field, values)?;
    let (now_answer, now) = (now, names.tallies(now));
    let hidden_now = hidden_max(now_answer, &now, values);
    let before = before.map(|answer| (answer, names.tallies(answer)));
    let hidden_before = before.as_ref().map(|(answer, before)| hidden_max(answer, before, values));
    let hidden = hidden_now.saturating_add(hidden_before.unwrap_or(0));
    let before = before.map(|(_, before)| before);
    let count_before = |id: usize| before.as_ref().map_or(0, |before| before[id].count);
    let ids = (0..now.len()).filter(|id| now[*id].count + count_before(*id) > 0).collect();
    let (shown, others) =
        first_by(ids, top, |id| (Reverse((now[id].count, count_before(id))), names.value(id)));
    let tally = |id: usize| PeriodTally::new(now[id], before.as_ref().map(|before| before[id]));
    let sum_of = |tallies: &[Tally]| sum(others.iter().map(|id| &tallies[*id]));
    Some(Group {
        field: field.to_owned(),
        rows: shown
            .iter()
            .map(|id| names.row(*id, tally(*id), names.uncounted_max(*id, hidden)))
            .collect(),
        rest: GroupRest {
            values: others.len() as u64,
            tally: PeriodTally::new(sum_of(&now), before.as_deref().map(sum_of)),
        },
    })
}
