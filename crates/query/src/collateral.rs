//! The clients that a rule catches and that look good.

use weir_core::Values;
use weir_rules::{LimitSweep, RuleReport, Trip, Verdict};
use weir_view::{Collateral, GoodClient, GoodReason, ReasonCount};

use crate::client_traits::{ClientLook, ClientTraits};

/// The most good clients that are listed of those that trip a rule.
const LISTED_MAX: usize = 500;

/// The most peaks of good clients.
const PEAKS_MAX: usize = 10_000;

/// Returns the good clients among the keys that trip a rule. `None` if keys of the rule are not
/// addresses, because then it is not known whose they are.
pub(crate) fn collateral(
    report: &RuleReport,
    traits: &ClientTraits,
    values: &Values,
) -> Option<Collateral> {
    let mut found = Collateral { is_incomplete: traits.is_incomplete(), ..Collateral::default() };
    let mut counts = GoodReason::ALL.map(|reason| ReasonCount { reason, keys: 0 });
    for trip in first_of_each_key(&report.trips) {
        let look = traits.look(&trip.key, values)?;
        if trip.verdict != Verdict::Rejected {
            if look.is_good() && found.clients.len() < LISTED_MAX {
                found.clients.push(named(trip, look.reasons()));
            }
            continue;
        }
        found.judged += 1;
        if !look.is_good() {
            continue;
        }
        found.good += 1;
        let reasons = look.reasons();
        for count in &mut counts {
            count.keys += u64::from(reasons.contains(&count.reason));
        }
        if found.clients.len() < LISTED_MAX {
            found.clients.push(named(trip, reasons));
        }
    }
    // A client may trip several limits of a rule, and requests of it be rejected by each.
    let is_good = |trip: &Trip| traits.look(&trip.key, values).is_some_and(ClientLook::is_good);
    let rejected = report.trips.iter().filter(|trip| is_good(trip));
    found.requests = rejected.map(|trip| trip.requests.rejected).sum();
    for trip in &report.closest {
        let look = traits.look(&trip.key, values)?;
        if look.is_good() {
            found.clients.push(named(trip, look.reasons()));
        }
    }
    found.reasons = counts.into_iter().filter(|count| count.keys > 0).collect();
    Some(found)
}

/// Returns the peaks of the good clients of a limit, in descending order.
pub(crate) fn good_peaks<'k>(
    sweep: &LimitSweep,
    key: impl Fn(usize) -> Option<&'k [u8]>,
    traits: &ClientTraits,
    values: &Values,
) -> Vec<f64> {
    let is_good = |number: usize| {
        key(number).and_then(|key| traits.look(key, values)).is_some_and(ClientLook::is_good)
    };
    let peaks = sweep.peaks(0..sweep.keys(), sweep.rate()).into_iter().enumerate();
    let mut peaks: Vec<f64> = peaks
        .filter(|(number, peak)| *peak > 0.0 && is_good(*number))
        .map(|(_, peak)| peak)
        .collect();
    peaks.sort_by(|one, other| other.total_cmp(one));
    peaks.truncate(PEAKS_MAX);
    peaks
}

fn named(trip: &Trip, reasons: Vec<GoodReason>) -> GoodClient {
    GoodClient { key: String::from_utf8_lossy(&trip.key).into_owned(), reasons }
}

/// The entry of each key that decides whether it trips. A key of several limits has an entry for
/// each of them.
fn first_of_each_key(trips: &[Trip]) -> Vec<&Trip> {
    let mut trips: Vec<(usize, &Trip)> = trips.iter().enumerate().collect();
    let is_undecided = |trip: &Trip| trip.verdict != Verdict::Rejected;
    trips.sort_by(|(at, one), (other_at, other)| {
        let order = (&one.key, is_undecided(one)).cmp(&(&other.key, is_undecided(other)));
        order.then(at.cmp(other_at))
    });
    trips.dedup_by(|(_, one), (_, other)| one.key == other.key);
    trips.sort_unstable_by_key(|(at, _)| *at);
    trips.into_iter().map(|(_, trip)| trip).collect()
}
