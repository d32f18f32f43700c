//! Suggests a rate and a burst together that reject no client which looks like a person or is good.

use std::collections::HashMap;

use weir_rules::LimitSweep;
use weir_view::{ClientProfile, SparedClient, Suggestion};

use crate::advice::{grid_rate, rates};
use crate::limit_curve::with_requests;

/// The maximum number of keys that are looked at as clients.
const SUSPECTS_MAX: usize = 20_000;

/// The longest time in which a suggested burst drains, in seconds: whom it rejects by mistake is let
/// in again soon. The limit's own rate is exempt.
const DRAIN_S_MAX: f64 = 300.0;

/// Returns the numbers of the keys that some setting might reject: those with the highest peaks at
/// the lowest rate that is tried.
pub fn suspects(sweep: &LimitSweep) -> Vec<usize> {
    let lowest = rates(sweep.rate()).first().copied().unwrap_or(sweep.rate());
    let mut order = by_peak(sweep, lowest);
    order.truncate(SUSPECTS_MAX);
    order.retain(|(_, peak)| *peak > 0.0);
    order.into_iter().map(|(key, _)| key).collect()
}

/// Returns the setting that rejects the most requests of a few keys and none of a client which looks
/// like a person or is good, over the common rates around that of the limit. `clients` has the
/// profiles of the [`suspects`] that are clients, by their numbers. Returns `None` without requests.
pub fn suggested_setting(
    sweep: &LimitSweep,
    clients: &HashMap<usize, ClientProfile>,
) -> Option<Suggestion> {
    let at = |rate: i64| {
        let order = by_peak(sweep, rate);
        let peaks: Vec<f64> = order.iter().map(|(_, peak)| *peak).collect();
        let spared = order
            .iter()
            .position(|(key, _)| clients.get(key).is_some_and(ClientProfile::is_spared))
            .unwrap_or(order.len());
        let found = weir_rules::Suggestion::sparing(&peaks, peaks.len(), spared)?;
        let mut suggestion = with_requests(sweep, rate, &found);
        suggestion.rate = Some(grid_rate(rate).setting);
        suggestion.busiest_spared = order.get(spared).and_then(|(key, peak)| {
            let ClientProfile { client, looks, .. } = clients.get(key)?;
            Some(SparedClient { client: client.clone(), peak: *peak, looks: *looks })
        });
        Some(suggestion)
    };
    let own = at(sweep.rate())?;
    let others = rates(sweep.rate()).into_iter().filter(|rate| *rate != sweep.rate());
    let drains_soon = |other: &Suggestion, rate: i64| {
        f64::from(other.burst) * 1_000.0 <= DRAIN_S_MAX * rate as f64
    };
    let others = others.filter_map(|rate| at(rate).filter(|other| drains_soon(other, rate)));
    // Of equal settings the limit's own rate: it needs the fewest changes.
    Some(others.fold(own, |best, other| if other.requests > best.requests { other } else { best }))
}

/// The keys with their peaks at a rate, in descending order.
fn by_peak(sweep: &LimitSweep, rate: i64) -> Vec<(usize, f64)> {
    let peaks = sweep.peaks(0..sweep.keys(), rate);
    let mut order: Vec<(usize, f64)> = peaks.into_iter().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    order
}
