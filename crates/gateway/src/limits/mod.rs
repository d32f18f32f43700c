//! Rate limits: the rules of `weir rules`, applied to requests as they arrive.
//!
//! [`weir_rules::Gate`] makes the decisions with the code of the replays, so a rule decides here as
//! it did in a replay over a log.

mod arrival;
mod limit;
#[cfg(all(test, unix))]
mod nginx_variables;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weir_observe::mark;
use weir_rules::{GateDecision, GateUsage, GateVerdict, Quota, QuotaPolicy};

pub(crate) use self::arrival::{ARRIVAL_FIELDS, Arrival};
pub(crate) use self::limit::{Limit, LimitPhase, SlotGuard};
pub use self::settings::{LimitConfig, LimitMode};

/// The limits of a configuration, in its order.
#[derive(Debug, Default)]
pub(crate) struct Limits(Vec<Arc<Limit>>);

/// The decision of all limits about a request.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// How long the request has to wait.
    pub(crate) delay: Duration,
    /// The rejection, if an enforced limit refuses the request.
    pub(crate) rejected: Option<Rejection>,
    /// The limit that decided, and its verdict; `None` if all limits passed the request.
    pub(crate) decision: Option<Decision>,
    /// The client's remaining quota in the last enforced limit.
    pub(crate) quota: Option<QuotaSnapshot>,
    /// The arrival time that the limits used.
    pub(crate) arrival_ns: Option<i64>,
    /// The slots of concurrency limits that the request holds while it is served.
    pub(crate) slots: Vec<SlotGuard>,
}

/// The decision of a limit, by its names in records.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub(crate) limit: Arc<str>,
    pub(crate) verdict: &'static str,
}

/// A copy of a client's quota, which outlives the lock of the gate.
#[derive(Debug)]
pub(crate) struct QuotaSnapshot {
    policy: QuotaPolicy,
    remaining: u64,
    reset_s: Option<u64>,
}

/// The refusal of a request by a limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rejection {
    pub(crate) retry_after_s: Option<u64>,
}

impl Limits {
    /// Creates the limits of a configuration. Limits with the same settings as in `before` keep
    /// their counts.
    pub(crate) fn new(configs: &[LimitConfig], before: Option<&Self>) -> Self {
        let limit = |config: &LimitConfig| {
            let kept = before.and_then(|it| it.0.iter().find(|limit| limit.config() == config));
            kept.cloned().unwrap_or_else(|| Arc::new(Limit::new(config)))
        };
        Self(configs.iter().map(limit).collect())
    }

    /// Whether there are limits of a phase.
    pub(crate) fn have(&self, phase: LimitPhase) -> bool {
        self.0.iter().any(|limit| limit.has(phase))
    }

    /// The usage of the limits, by rule file.
    pub(crate) fn usage(&self) -> BTreeMap<String, GateUsage> {
        let mut usage = BTreeMap::<String, GateUsage>::new();
        for limit in &self.0 {
            let file = limit.config().rule_file.display().to_string();
            usage.entry(file).or_default().add(limit.usage());
        }
        usage
    }

    /// Returns a count of zero for each decision that a limit can make.
    pub(crate) fn decisions(&self) -> BTreeMap<(Arc<str>, &'static str), u64> {
        let verdicts = self.0.iter().flat_map(|limit| limit.verdicts());
        verdicts.map(|verdict| (verdict, 0)).collect()
    }

    /// Counts a request in each limit of a phase that its route names or that is for all, until one
    /// refuses it, and adds their decisions.
    pub(crate) fn admit(
        &self,
        admission: &mut Admission,
        phase: LimitPhase,
        named: &[String],
        arrival: &Arrival<'_>,
        now_ns: i64,
    ) {
        let _call = mark!("Limits::admit").enter();
        let record = arrival.record(&[], now_ns);
        for limit in self.0.iter().filter(|limit| limit.is_among(named)) {
            let mode = limit.config().mode;
            limit.decide(arrival, &record, (phase, now_ns), &mut |decision, slot| {
                // Slots are dropped only after the lock of the gate is released, because dropping
                // one locks its gate.
                admission.slots.extend(slot);
                admission.note(mode, decision);
                admission.rejected.is_none()
            });
            if admission.rejected.is_some() {
                admission.slots.clear();
                break;
            }
        }
    }
}

impl Admission {
    /// Merges the decision of a limit.
    fn note(&mut self, mode: LimitMode, decision: &GateDecision<'_>) {
        self.arrival_ns.get_or_insert(decision.arrival_ns);
        let is_enforced = mode == LimitMode::Enforce && !decision.is_dry_run;
        let name = |verdict| Decision { limit: decision.limit.into(), verdict };
        if is_enforced && let Some(Quota { policy, remaining, reset_s }) = decision.quota {
            self.quota = Some(QuotaSnapshot { policy: policy.clone(), remaining, reset_s });
        }
        let VerdictWords { rejected, delayed } = verdict_words(is_enforced);
        match (decision.verdict, is_enforced) {
            (GateVerdict::Passed, _) => {}
            (GateVerdict::Delayed { delay_ms }, true) => {
                self.delay = self.delay.max(Duration::from_millis(delay_ms));
                self.decision = Some(name(delayed));
            }
            (GateVerdict::Delayed { .. }, false) => {
                self.decision.get_or_insert_with(|| name(delayed));
            }
            (GateVerdict::Rejected { retry_after_s }, true) => {
                self.rejected = Some(Rejection { retry_after_s });
                self.decision = Some(name(rejected));
            }
            (GateVerdict::Rejected { .. }, false) => {
                self.decision = Some(name(rejected));
            }
        }
    }
}

/// The names of verdicts in records and metrics.
#[derive(Debug, Clone, Copy)]
struct VerdictWords {
    rejected: &'static str,
    delayed: &'static str,
}

fn verdict_words(is_enforced: bool) -> VerdictWords {
    match is_enforced {
        true => VerdictWords { rejected: "rejected", delayed: "delayed" },
        false => VerdictWords { rejected: "would_reject", delayed: "would_delay" },
    }
}

impl QuotaSnapshot {
    /// Returns the values of `RateLimit-Policy` and `RateLimit`.
    pub(crate) fn header_values(&self) -> (&str, String) {
        let Self { policy, remaining, reset_s } = self;
        let quota = Quota { policy, remaining: *remaining, reset_s: *reset_s };
        (policy.as_str(), quota.to_string())
    }
}
