//! Computes the changes from one period to the next.

use std::cmp::Reverse;

use weir_core::{Evaluation, REMAINDER, Values, Zone};
use weir_view::{Changes, Comparison, PeriodTally, Report, TotalChanges};

use crate::periods::Periods;
use crate::tallies::{FieldValues, first_by, hidden_max};

/// Compares two answers. `report` covers the selected period, `report_before` the previous one.
pub(crate) fn comparison(
    periods: &Periods,
    values: &Values,
    (now, report): (&Evaluation, &Report),
    (before, report_before): (&Evaluation, Report),
    top: usize,
) -> Comparison {
    let utc = Zone::utc();
    let zone = now.zone().unwrap_or(&utc);
    let names = values.schema().text_columns().map(|(_, name)| name);
    let lists = names.filter_map(|name| changes(name, values, now, before, top));
    Comparison {
        selected_period: periods.now.in_zone(zone),
        previous_period: periods.before.in_zone(zone),
        totals: TotalChanges::between(&report_before, report),
        lists: lists.collect(),
        previous: Box::new(report_before),
    }
}

/// Returns how much the share of a value of all records has changed from one period to the other, in units
/// that are the same for all values. If one of the periods has no records, the number of records is the
/// change.
pub(crate) fn share_change(counts: [u64; 2], totals: [u64; 2]) -> u128 {
    let [count, other] = counts.map(u128::from);
    let [total, other_total] = totals.map(|total| u128::from(total.max(1)));
    (count * other_total).abs_diff(other * total)
}

/// Returns the changes of a field's values, with up to `top` rows of each kind. Returns `None` if
/// neither answer has a value of the field.
fn changes(
    field: &str,
    values: &Values,
    now: &Evaluation,
    before: &Evaluation,
    top: usize,
) -> Option<Changes> {
    let names = FieldValues::of(field, values)?;
    let answers = [now, before];
    let [now, before] = answers.map(|answer| names.tallies(answer));
    let hidden = [(answers[0], &now), (answers[1], &before)];
    let hidden = hidden.map(|(answer, tallies)| hidden_max(answer, tallies, values));
    let hidden = hidden[0].saturating_add(hidden[1]);
    let uncounted_max = |id: usize| names.uncounted_max(id, hidden);
    let (mut changed, mut new, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    // Records without the field are not a value of it, so the first id is left out.
    for id in REMAINDER as usize..now.len() {
        match (now[id].count, before[id].count) {
            (0, 0) => {}
            // Uncounted records may exist in both periods.
            _ if uncounted_max(id) > 0 => changed.push(id),
            (_, 0) => new.push(id),
            (0, _) => gone.push(id),
            (_, _) => changed.push(id),
        }
    }
    if changed.is_empty() && new.is_empty() && gone.is_empty() {
        return None;
    }
    let totals = answers.map(|answer| answer.totals().records);
    let change = |id: usize| share_change([now[id].count, before[id].count], totals);
    let rows = |ids: Vec<usize>| {
        let (shown, _) = first_by(ids, top, |id| (Reverse(change(id)), names.value(id)));
        let tally = |id: usize| PeriodTally::new(now[id], Some(before[id]));
        shown.into_iter().map(|id| names.row(id, tally(id), uncounted_max(id))).collect()
    };
    Some(Changes {
        field: field.to_owned(),
        is_estimated: hidden > 0,
        changed_values: changed.len() as u64,
        changed: rows(changed),
        new_values: new.len() as u64,
        new: rows(new),
        gone_values: gone.len() as u64,
        gone: rows(gone),
    })
}

#[cfg(test)]
mod tests {
    use super::share_change;

    #[test]
    fn a_value_that_grows_with_all_others_has_not_changed() {
        assert_eq!(share_change([20, 10], [200, 100]), 0);
        // From a tenth to a twentieth, and from none to a twentieth.
        assert_eq!(share_change([10, 10], [200, 100]), share_change([10, 0], [200, 100]));
        assert!(share_change([50, 10], [200, 100]) > share_change([30, 10], [200, 100]));
        assert!(share_change([7, 0], [7, 0]) > share_change([6, 0], [7, 0]));
        assert_eq!(share_change([u64::MAX, 0], [u64::MAX, u64::MAX]), u128::from(u64::MAX).pow(2));
    }
}
