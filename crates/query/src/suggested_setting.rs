//! Suggests a rate and a burst together that reject no client which looks like a person or is good.

use std::collections::HashMap;

use weir_rules::LimitSweep;
use weir_view::{ClientLooks, ClientProfile, JudgedClient, Suggestion};

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

/// What is known of a client that is a key of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyClient {
    /// Its address.
    pub client: String,
    /// What it looks like.
    pub looks: ClientLooks,
    /// Whether a limit should not reject it.
    pub is_spared: bool,
}

impl From<&ClientProfile> for KeyClient {
    fn from(profile: &ClientProfile) -> Self {
        let (client, looks) = (profile.client.clone(), profile.looks);
        Self { client, looks, is_spared: profile.is_spared() }
    }
}

/// A setting that is suggested.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedSetting {
    /// The setting, with the busiest client that it spares.
    pub suggestion: Suggestion,
    /// The client with the lowest peak of those that it rejects.
    pub slowest_rejected: Option<JudgedClient>,
}

/// Returns the setting that rejects the most requests of a few keys and none of a client which looks
/// like a person or is good, over the common rates around that of the limit. `clients` has the
/// [`suspects`] that are clients, by their numbers. Returns `None` without requests.
pub fn suggested_setting(
    sweep: &LimitSweep,
    clients: &HashMap<usize, KeyClient>,
) -> Option<SuggestedSetting> {
    let own = setting_at(sweep, sweep.rate(), clients)?;
    let others = rates(sweep.rate()).into_iter().filter(|rate| *rate != sweep.rate());
    let drains_soon = |other: &SuggestedSetting, rate: i64| {
        f64::from(other.suggestion.burst) * 1_000.0 <= DRAIN_S_MAX * rate as f64
    };
    let others = others.filter_map(|rate| {
        setting_at(sweep, rate, clients).filter(|other| drains_soon(other, rate))
    });
    // Of equal settings the limit's own rate: it needs the fewest changes.
    Some(others.fold(own, |best, other| {
        if other.suggestion.requests > best.suggestion.requests { other } else { best }
    }))
}

/// Returns the burst that is suggested at a rate.
fn setting_at(
    sweep: &LimitSweep,
    rate: i64,
    clients: &HashMap<usize, KeyClient>,
) -> Option<SuggestedSetting> {
    let order = by_peak(sweep, rate);
    let peaks: Vec<f64> = order.iter().map(|(_, peak)| *peak).collect();
    let is_spared = |(key, _): &(usize, f64)| clients.get(key).is_some_and(|it| it.is_spared);
    let spared = order.iter().position(is_spared).unwrap_or(order.len());
    let found = weir_rules::Suggestion::sparing(&peaks, peaks.len(), spared)?;
    let judged = |(key, peak): &(usize, f64)| {
        let KeyClient { client, looks, .. } = clients.get(key)?;
        Some(JudgedClient { client: client.clone(), peak: *peak, looks: *looks })
    };
    let mut suggestion = with_requests(sweep, rate, &found);
    suggestion.rate = Some(grid_rate(rate).setting);
    suggestion.busiest_spared = order.get(spared).and_then(judged);
    let rejected = &order[..(found.keys as usize).min(order.len())];
    Some(SuggestedSetting { suggestion, slowest_rejected: rejected.last().and_then(judged) })
}

/// The keys with their peaks at a rate, in descending order.
fn by_peak(sweep: &LimitSweep, rate: i64) -> Vec<(usize, f64)> {
    let peaks = sweep.peaks(0..sweep.keys(), rate);
    let mut order: Vec<(usize, f64)> = peaks.into_iter().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    order
}
