//! The summary of a jail's replay, by key.

use super::bans::{NewBan, SERVICE_S};
use super::estimator::FailManager;
use super::jail::Limits;
use super::replay::Undecided;
use crate::keys::Interner;
use crate::keys::KeyLists;
use crate::report::{Exactness, RequestCounts, RuleReport, Step, Trip, Verdict};

/// The summary of a key.
#[derive(Debug, Clone, Copy, Default)]
struct KeySummary {
    requests: RequestCounts,
    /// The highest count, and its time.
    peak: f64,
    peak_at: (f64, u32, u64),
    /// The first ban.
    trip: Option<(f64, u32, u64)>,
}

/// The summary of a replay.
#[derive(Debug)]
pub(super) struct Summary {
    max_retry: f64,
    keys: Vec<KeySummary>,
    /// Counts the same failures without bans, for the highest counts.
    unlimited: FailManager,
    next_service_s: f64,
}

impl Summary {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_retry: f64::from(limits.max_retry),
            keys: Vec::new(),
            unlimited: FailManager::new(limits.find_time_s, 0),
            next_service_s: f64::NEG_INFINITY,
        }
    }

    pub(super) fn service(&mut self, now_s: f64) {
        if now_s >= self.next_service_s {
            self.next_service_s = now_s + SERVICE_S;
            self.unlimited.forget_idle(now_s);
        }
    }

    fn key(&mut self, key: u32) -> &mut KeySummary {
        let length = self.keys.len().max(key as usize + 1);
        self.keys.resize(length, KeySummary::default());
        &mut self.keys[key as usize]
    }

    /// Counts a failure. `is_banned` is whether a ban would have prevented it.
    pub(super) fn count(&mut self, key: u32, is_banned: bool) {
        let requests = &mut self.key(key).requests;
        if is_banned { requests.rejected += 1 } else { requests.passed += 1 }
    }

    /// Counts a failure as if there were no bans.
    pub(super) fn fail(&mut self, key: u32, now_s: f64, line: (u32, u64)) {
        let retry = self.unlimited.add(key, now_s, 1.0, line);
        self.raise(key, retry, (now_s, line.0, line.1));
    }

    fn raise(&mut self, key: u32, retry: f64, at: (f64, u32, u64)) {
        let known = self.key(key);
        if retry > known.peak {
            known.peak = retry;
            known.peak_at = at;
        }
    }

    /// Records a ban.
    pub(super) fn trip(&mut self, key: u32, ban: &NewBan, source: u32, line: u64) {
        self.raise(key, ban.retry, (ban.time_s, source, line));
        self.key(key).trip.get_or_insert((ban.time_s, source, line));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<KeySummary>() + self.unlimited.memory_bytes()
    }

    /// Makes the report, without bans. `others` are other values of `maxretry` and the number of
    /// keys that they ban.
    pub(super) fn finish(
        self,
        texts: &Interner,
        others: &[(u32, u64)],
        undecided: Undecided,
    ) -> RuleReport {
        let (mut keys, mut requests) = (KeyLists::default(), RequestCounts::default());
        for (number, key) in self.keys.iter().enumerate() {
            requests += key.requests;
            let trip = key.entry(texts.text(number as u32), self.max_retry);
            keys.put(trip.verdict, Some(trip));
        }
        requests.undecided = undecided.host_names + undecided.too_slow + undecided.untimed;
        let step = |(max_retry, tripped): &(u32, u64)| Step {
            setting: format!("maxretry={max_retry}"),
            tripped: *tripped,
            undecided: 0,
            likely: None,
        };
        let is_exact = requests.undecided == 0;
        RuleReport {
            exactness: if is_exact { Exactness::Exact } else { Exactness::Bounded },
            notes: undecided.notes(),
            ..keys.into_report(requests, others.iter().map(step).collect())
        }
    }
}

impl Undecided {
    fn notes(self) -> Vec<String> {
        let notes = [
            (self.host_names, "failures are of host names, which fail2ban would look up"),
            (self.too_slow, "lines take a pattern too long and were not replayed"),
            (self.untimed, "failures come before the first date of the log and were not replayed"),
        ];
        let notes = notes.into_iter().filter(|(number, _)| *number > 0);
        notes.map(|(number, sentence)| format!("{number} {sentence}")).collect()
    }
}

impl KeySummary {
    fn entry(&self, key: &[u8], max_retry: f64) -> Trip {
        let (time_s, source, line) = self.trip.unwrap_or(self.peak_at);
        Trip {
            key: key.to_vec(),
            limit: None,
            verdict: if self.trip.is_some() { Verdict::Rejected } else { Verdict::Passed },
            time_ns: (time_s * 1e9).round() as i64,
            source,
            line,
            peak: self.peak,
            peak_range: (self.peak, self.peak),
            margin: self.peak - max_retry,
            requests: self.requests,
            likely_rejected: None,
        }
    }
}
