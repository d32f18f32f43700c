//! Finds good clients among those that a rule catches.

use weir_core::Values;
use weir_rules::{LimitSweep, RuleReport, Trip, Verdict};
use weir_view::{Collateral, GoodClient, GoodReason, ReasonCount};

use crate::clients::{ClientAssessment, ClientTraits};

/// The maximum number of listed good clients that trip a rule.
const LISTED_MAX: usize = 500;

/// The maximum number of peaks of good clients.
const PEAKS_MAX: usize = 10_000;

/// Returns the good clients among the keys that trip a rule. Returns `None` if a key is not an
/// address, because then its client is unknown.
pub(crate) fn collateral(
    report: &RuleReport,
    traits: &ClientTraits,
    values: &Values,
) -> Option<Collateral> {
    let mut found = Collateral { is_incomplete: traits.is_incomplete(), ..Collateral::default() };
    let mut counts = GoodReason::ALL.map(|reason| ReasonCount { reason, keys: 0 });
    for trip in deciding_trips(&report.trips) {
        let client = traits.assess(&trip.key, values)?;
        if !trip.is_likely() {
            if client.is_good() && found.clients.len() < LISTED_MAX {
                found.clients.push(good_client(trip, client.reasons()));
            }
            continue;
        }
        found.judged += 1;
        if !client.is_good() {
            continue;
        }
        found.good += 1;
        let reasons = client.reasons();
        for count in &mut counts {
            count.keys += u64::from(reasons.contains(&count.reason));
        }
        if found.clients.len() < LISTED_MAX {
            found.clients.push(good_client(trip, reasons));
        }
    }
    // A client may trip several limits of a rule, and each may reject some of its requests.
    let is_good =
        |trip: &Trip| traits.assess(&trip.key, values).is_some_and(ClientAssessment::is_good);
    let rejected = report.trips.iter().filter(|trip| is_good(trip));
    found.requests = rejected.map(Trip::rejected).sum();
    for trip in &report.closest {
        let client = traits.assess(&trip.key, values)?;
        if client.is_good() {
            found.clients.push(good_client(trip, client.reasons()));
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
        key(number)
            .and_then(|key| traits.assess(key, values))
            .is_some_and(ClientAssessment::is_good)
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

fn good_client(trip: &Trip, reasons: Vec<GoodReason>) -> GoodClient {
    GoodClient { key: String::from_utf8_lossy(&trip.key).into_owned(), reasons }
}

/// Returns for each key the trip that decides whether it is rejected. A key has a trip for each
/// limit of the rule.
fn deciding_trips(trips: &[Trip]) -> Vec<&Trip> {
    let mut trips: Vec<(usize, &Trip)> = trips.iter().enumerate().collect();
    let is_open = |trip: &Trip| (!trip.is_likely(), trip.verdict != Verdict::Rejected);
    trips.sort_by(|(at, one), (other_at, other)| {
        let order = (&one.key, is_open(one)).cmp(&(&other.key, is_open(other)));
        order.then(at.cmp(other_at))
    });
    trips.dedup_by(|(_, one), (_, other)| one.key == other.key);
    trips.sort_unstable_by_key(|(at, _)| *at);
    trips.into_iter().map(|(_, trip)| trip).collect()
}
