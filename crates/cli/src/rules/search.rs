//! Searches for other settings of a rule by replaying it with them.
//!
//! The rule is replayed three times: as it is, with the lowest threshold and several periods or
//! rates, which gives what each key reaches there, and with the thresholds that follow. What is told
//! of the suggested setting is the report of its own text.

use std::collections::{HashMap, HashSet};

use weir_rules::{ChangedRule, Rule, RuleReport, RuleSettings, Trip, TunableText};
use weir_view::{ClientProfile, JudgedClient, Suggestion};

use super::pass::Pass;
use super::who::Who;
use crate::outcome::Failure;

/// The most keys of a replay that are looked at as clients.
const SUSPECTS_MAX: usize = 20_000;

/// The periods that are tried, in seconds.
const PERIODS_S: [u64; 11] = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400];

/// How many of them on each side of the own period.
const PERIODS_PER_SIDE: usize = 3;

/// By what the own rate is multiplied and divided.
const FACTORS: [(u64, u64); 7] = [(1, 1), (1, 2), (2, 1), (1, 5), (5, 1), (1, 10), (10, 1)];

/// By what a number is multiplied and divided that is rate and threshold at once.
const FACTORS_OF_BOTH: [(u64, u64); 8] =
    [(1, 1), (1, 2), (2, 1), (1, 4), (4, 1), (10, 1), (20, 1), (50, 1)];

const SECOND_NS: u64 = 1_000_000_000;

/// The most clients that are named because other limits reject them.
const REJECTED_LISTED_MAX: usize = 10;

/// Replays rules with other settings.
pub(super) struct SettingSearch<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) who: &'a Who<'a>,
}

/// What a key reaches.
struct Reached {
    key: Vec<u8>,
    /// The highest count that it may have.
    peak: f64,
}

/// What all keys of a replay reach.
struct KeyPeaks {
    /// The number of all keys; those that reach least may not be listed.
    seen: usize,
    /// In descending order of their peaks.
    keys: Vec<Reached>,
}

/// A text of a rule that is tried.
struct Tried {
    text: String,
    settings: RuleSettings,
}

/// A setting between what keys reach.
struct Candidate {
    changed: ChangedRule,
    between: Between,
}

/// What the keys next to a setting reach.
struct Between {
    highest_below: f64,
    lowest_above: Option<f64>,
    busiest_spared: Option<JudgedClient>,
}

impl SettingSearch<'_> {
    /// Returns the setting that rejects the most and no client which looks like a person or is good.
    /// Returns `None` if the text does not have the settings, or no key reaches anything.
    ///
    /// # Errors
    /// If the inputs cannot be read again, or there are too many keys to search for.
    pub(super) fn suggestion(
        &self,
        text: &TunableText,
        limit: Option<String>,
    ) -> Result<Option<Suggestion>, Failure> {
        let limit = limit.as_deref();
        if self.pass.inputs.iter().any(|input| input.bytes_total().is_none()) {
            return Err(Failure::new(
                "--suggest: this rule is replayed several times; name files instead of standard input",
            ));
        }
        let Some(own) = text.own() else { return Ok(None) };
        let lowest = |settings: RuleSettings| text.with(RuleSettings { threshold: 1, ..settings });
        let mut probes: Vec<ChangedRule> = neighbours(own).into_iter().filter_map(lowest).collect();
        let is_both = probes.is_empty();
        if is_both {
            probes = both_at_once(own).into_iter().filter_map(|both| text.with(both)).collect();
        }
        let (probes, reports) = self.replay(probes)?;
        let reached: Vec<KeyPeaks> = reports
            .iter()
            .zip(&probes)
            .map(|(report, probe)| KeyPeaks::of(report, probe.settings.threshold, limit))
            .collect();
        let suspects = reached.iter().flat_map(|peaks| peaks.keys.iter().take(SUSPECTS_MAX));
        let suspects: HashSet<&[u8]> = suspects.map(|reached| &*reached.key).collect();
        let profiles = self.who.profiles(suspects.into_iter())?;
        let choose = |(probe, peaks): (&Tried, &KeyPeaks)| match is_both {
            true => Some(as_it_is(text.with(probe.settings)?, &peaks.keys, &profiles)),
            false => chosen(text, probe.settings, peaks, &profiles),
        };
        let candidates: Vec<Candidate> = probes.iter().zip(&reached).filter_map(choose).collect();
        let (changed, found): (Vec<ChangedRule>, Vec<Between>) =
            candidates.into_iter().map(|it| (it.changed, it.between)).unzip();
        let (tried, reports) = self.replay(changed)?;
        let mut best: Option<Suggestion> = None;
        for ((tried, report), found) in tried.into_iter().zip(&reports).zip(found) {
            let settings = tried.settings;
            let mut suggestion = suggestion(tried, report, found);
            if let Some(limit) = limit {
                suggestion.setting = Some(rate_and_burst(settings));
                suggestion.limit = Some(limit.to_owned());
                suggestion.rejected_by_others = rejected_by_others(report, limit, &profiles);
            }
            let catches = |it: &Suggestion| it.keys + it.requests;
            // Of equal settings the first, which is closest to the rule.
            let is_better = best.as_ref().is_none_or(|best| catches(&suggestion) > catches(best));
            if is_better && !rejects_spared(report, limit, &profiles) {
                best = Some(suggestion);
            }
        }
        Ok(best)
    }

    /// Returns the texts and the report of each.
    ///
    /// # Errors
    /// If the memory does not hold their requests.
    fn replay(&self, changed: Vec<ChangedRule>) -> Result<(Vec<Tried>, Vec<RuleReport>), Failure> {
        let split = |ChangedRule { text, rule, settings }| (Tried { text, settings }, rule);
        let (tried, rules): (Vec<Tried>, Vec<Box<dyn Rule>>) =
            changed.into_iter().map(split).unzip();
        if rules.is_empty() {
            return Ok((tried, Vec::new()));
        }
        let (replays, _) = self.pass.replay(&rules);
        if replays.dropped > 0 {
            let message = "--suggest: the memory is used up; raise the limit with --memory";
            return Err(Failure::new(message));
        }
        Ok((tried, replays.finish(None).0))
    }
}

/// A setting, with what its replay found.
fn suggestion(tried: Tried, report: &RuleReport, found: Between) -> Suggestion {
    let (keys, requests) = match report.estimate {
        Some(likely) => (likely.keys, likely.rejected),
        None => (report.keys.tripped, report.requests.rejected),
    };
    Suggestion {
        burst: u32::try_from(tried.settings.threshold).unwrap_or(u32::MAX),
        keys,
        requests,
        highest_below: found.highest_below,
        lowest_above: found.lowest_above,
        rate: None,
        busiest_spared: found.busiest_spared,
        setting: Some(tried.settings.to_string()),
        text: Some(tried.text),
        limit: None,
        rejected_by_others: Vec::new(),
    }
}

impl KeyPeaks {
    /// What the keys of a replay with this threshold reach, in one limit of several.
    fn of(report: &RuleReport, threshold: u64, limit: Option<&str>) -> Self {
        let reached = |trip: &Trip| {
            // A part of the limit may be fixed, such as what a wait adds.
            let fixed = trip.peak - trip.margin - threshold as f64;
            Reached { key: trip.key.clone(), peak: trip.peak_range.1 - fixed }
        };
        let mut keys: Vec<Reached> =
            of_limit(report.trips.iter().chain(&report.closest), limit).map(reached).collect();
        keys.sort_by(|one, other| other.peak.total_cmp(&one.peak));
        Self { seen: report.keys.seen as usize, keys }
    }
}

/// Returns the setting with the threshold between the keys of a probe.
fn chosen(
    text: &TunableText,
    probe: RuleSettings,
    KeyPeaks { seen, keys }: &KeyPeaks,
    profiles: &HashMap<&[u8], ClientProfile>,
) -> Option<Candidate> {
    let peaks: Vec<f64> = keys.iter().map(|reached| reached.peak).collect();
    let spared = keys.iter().position(|reached| is_spared(&reached.key, profiles));
    let over_max = spared.unwrap_or(keys.len());
    let found = match probe.trips_at_threshold {
        // Only those that fail are keys, so most of them may be attacks.
        true if peaks.is_empty() => return None,
        true => weir_rules::Suggestion::among(&peaks, over_max),
        false => weir_rules::Suggestion::sparing(&peaks, *seen, over_max)?,
    };
    let threshold = u64::from(found.burst) + u64::from(probe.trips_at_threshold);
    let settings = RuleSettings { threshold: threshold.max(1), ..probe };
    Some(Candidate {
        changed: text.with(settings)?,
        between: Between {
            highest_below: found.highest_below,
            lowest_above: found.lowest_above,
            busiest_spared: spared.and_then(|at| spared_client(keys.get(at)?, profiles)),
        },
    })
}

/// A setting that was replayed already.
fn as_it_is(
    changed: ChangedRule,
    keys: &[Reached],
    profiles: &HashMap<&[u8], ClientProfile>,
) -> Candidate {
    let threshold = changed.settings.threshold as f64;
    let above = keys.iter().take_while(|reached| reached.peak > threshold).count();
    let spared = keys.iter().find(|reached| is_spared(&reached.key, profiles));
    let between = Between {
        highest_below: keys.get(above).map_or(0.0, |reached| reached.peak),
        lowest_above: above.checked_sub(1).map(|last| keys[last].peak),
        busiest_spared: spared.and_then(|reached| spared_client(reached, profiles)),
    };
    Candidate { changed, between }
}

fn is_spared(key: &[u8], profiles: &HashMap<&[u8], ClientProfile>) -> bool {
    profiles.get(key).is_some_and(ClientProfile::is_spared)
}

fn spared_client(
    reached: &Reached,
    profiles: &HashMap<&[u8], ClientProfile>,
) -> Option<JudgedClient> {
    let ClientProfile { client, looks, .. } = profiles.get(&*reached.key)?;
    Some(JudgedClient { client: client.clone(), peak: reached.peak, looks: *looks })
}

/// The numbers of a `limit_req`, as nginx has them.
fn rate_and_burst(settings: RuleSettings) -> String {
    let unit = if settings.period_ns == SECOND_NS { 's' } else { 'm' };
    format!("rate={}r/{unit} burst={}", settings.refill.unwrap_or_default(), settings.threshold)
}

/// Those of some trips that are of one limit, if the rule has several.
fn of_limit<'t>(
    trips: impl Iterator<Item = &'t Trip>,
    limit: Option<&str>,
) -> impl Iterator<Item = &'t Trip> {
    trips.filter(move |trip| limit.is_none() || trip.limit.as_deref() == limit)
}

/// Whether a client that must not be rejected is, or may be.
fn rejects_spared(
    report: &RuleReport,
    limit: Option<&str>,
    profiles: &HashMap<&[u8], ClientProfile>,
) -> bool {
    of_limit(report.trips.iter(), limit).any(|trip| is_spared(&trip.key, profiles))
}

/// The first clients that must not be rejected, and that other limits than this one reject.
fn rejected_by_others(
    report: &RuleReport,
    limit: &str,
    profiles: &HashMap<&[u8], ClientProfile>,
) -> Vec<JudgedClient> {
    let others = report.trips.iter().filter(|trip| trip.limit.as_deref() != Some(limit));
    let rejected = others.filter(|trip| trip.rejected() > 0 && is_spared(&trip.key, profiles));
    let client = |trip: &Trip| {
        let ClientProfile { client, looks, .. } = profiles.get(&*trip.key)?;
        Some(JudgedClient { client: client.clone(), peak: trip.peak, looks: *looks })
    };
    rejected.take(REJECTED_LISTED_MAX).filter_map(client).collect()
}

/// Settings with other periods, or with other rates for a bucket, the own first.
fn neighbours(own: RuleSettings) -> Vec<RuleSettings> {
    match own.refill {
        Some(refill) => {
            // One that comes back each time is not divided, and CrowdSec has no other number.
            let scaled = |(factor, divisor): &(u64, u64)| match refill.saturating_mul(*factor) {
                more if refill > 1 && more.is_multiple_of(*divisor) => {
                    RuleSettings { refill: Some(more / divisor), ..own }
                }
                // Of an absurd period the product is another absurd one.
                _ => RuleSettings {
                    period_ns: (own.period_ns.saturating_mul(*divisor) / factor).max(1),
                    ..own
                },
            };
            FACTORS.iter().map(scaled).collect()
        }
        None if own.period_ns == 0 => vec![own],
        None => {
            let periods = PERIODS_S.map(|seconds| seconds * SECOND_NS);
            let at = periods.partition_point(|period| *period < own.period_ns);
            let (from, to) = (
                at.saturating_sub(PERIODS_PER_SIDE),
                (at + PERIODS_PER_SIDE + 1).min(periods.len()),
            );
            let others = periods[from..to].iter().filter(|period| **period != own.period_ns);
            let with = |period_ns: &u64| RuleSettings { period_ns: *period_ns, ..own };
            [own].into_iter().chain(others.map(with)).collect()
        }
    }
}

/// Settings in which one number is the rate and the threshold.
fn both_at_once(own: RuleSettings) -> Vec<RuleSettings> {
    let scaled = |(factor, divisor): &(u64, u64)| {
        let number = (own.threshold.saturating_mul(*factor) / divisor).max(1);
        RuleSettings { threshold: number, refill: own.refill.map(|_| number), ..own }
    };
    FACTORS_OF_BOTH.iter().map(scaled).collect()
}
