//! Limits: the rules of `weir rules`, applied to requests as they arrive.
//!
//! The decisions are those of [`weir_rules::Gate`], which has the code of the replays; so a rule that was
//! tried over a log does here what it did there.

mod arrival;
mod limit;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weir_observe::mark;
use weir_rules::{GateDecision, GateUsage, GateVerdict, Quota, QuotaPolicy};

pub(crate) use self::arrival::{ARRIVAL_FIELDS, Arrival};
pub(crate) use self::limit::{HeldPlace, Limit};
pub use self::settings::{LimitConfig, LimitMode};

/// All limits of a configuration, in its order.
#[derive(Debug, Default)]
pub(crate) struct Limits(Vec<Arc<Limit>>);

/// What the limits say about a request.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// How long the request has to wait.
    pub(crate) delay: Duration,
    /// Why it is refused.
    pub(crate) rejected: Option<Rejection>,
    /// The limit that decided, and what it decided; nothing if all let it pass.
    pub(crate) decision: Option<Decision>,
    /// What the client may still do, from the last enforced limit.
    pub(crate) quota: Option<OwnQuota>,
    /// When the request arrived, as the limits count it.
    pub(crate) arrival_ns: Option<i64>,
    /// The places that the request holds while it is served.
    pub(crate) places: Vec<HeldPlace>,
}

/// What a limit decided, as records name it.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub(crate) limit: Arc<str>,
    pub(crate) verdict: &'static str,
}

/// What a client may still do, without the lock of the gate that decided.
#[derive(Debug)]
pub(crate) struct OwnQuota {
    policy: QuotaPolicy,
    remaining: u64,
    reset_s: Option<u64>,
}

/// A request that a limit refuses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rejection {
    pub(crate) retry_after_s: Option<u64>,
}

impl Limits {
    /// Limits with the same settings as in `before` keep their counts.
    pub(crate) fn new(configs: &[LimitConfig], before: Option<&Self>) -> Self {
        let limit = |config: &LimitConfig| {
            let kept = before.and_then(|it| it.0.iter().find(|limit| limit.config() == config));
            kept.cloned().unwrap_or_else(|| Arc::new(Limit::new(config)))
        };
        Self(configs.iter().map(limit).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How full the limits are, by their rule files.
    pub(crate) fn usage(&self) -> BTreeMap<String, GateUsage> {
        let mut usage = BTreeMap::<String, GateUsage>::new();
        for limit in &self.0 {
            let file = limit.config().rule_file.display().to_string();
            usage.entry(file).or_default().add(limit.usage());
        }
        usage
    }

    /// Counts a request in each limit, until one refuses it.
    pub(crate) fn admit(&self, arrival: &Arrival<'_>, now_ns: i64) -> Admission {
        let _call = mark!("Limits::admit").enter();
        let record = arrival.record(&[], now_ns);
        let mut admission = Admission::default();
        for limit in &self.0 {
            let mode = limit.config().mode;
            limit.decide((arrival, &record), now_ns, &mut |decision, place| {
                // A place is given back when no gate is locked.
                admission.places.extend(place);
                admission.note(mode, decision);
                admission.rejected.is_none()
            });
            if admission.rejected.is_some() {
                admission.places.clear();
                break;
            }
        }
        admission
    }
}

impl Admission {
    /// Notes what a limit decided.
    fn note(&mut self, mode: LimitMode, decision: &GateDecision<'_>) {
        self.arrival_ns.get_or_insert(decision.arrival_ns);
        let is_enforced = mode == LimitMode::Enforce && !decision.is_dry_run;
        let name = |verdict| Decision { limit: decision.limit.into(), verdict };
        if is_enforced && let Some(Quota { policy, remaining, reset_s }) = decision.quota {
            self.quota = Some(OwnQuota { policy: policy.clone(), remaining, reset_s });
        }
        match (decision.verdict, is_enforced) {
            (GateVerdict::Passed, _) => {}
            (GateVerdict::Delayed { delay_ms }, true) => {
                self.delay = self.delay.max(Duration::from_millis(delay_ms));
                self.decision = Some(name("delayed"));
            }
            (GateVerdict::Delayed { .. }, false) => {
                self.decision.get_or_insert_with(|| name("would_delay"));
            }
            (GateVerdict::Rejected { retry_after_s }, true) => {
                self.rejected = Some(Rejection { retry_after_s });
                self.decision = Some(name("rejected"));
            }
            (GateVerdict::Rejected { .. }, false) => {
                self.decision = Some(name("would_reject"));
            }
        }
    }
}

impl OwnQuota {
    /// The values of `RateLimit-Policy` and `RateLimit`.
    pub(crate) fn header_values(&self) -> (&str, String) {
        let Self { policy, remaining, reset_s } = self;
        let quota = Quota { policy, remaining: *remaining, reset_s: *reset_s };
        (policy.as_str(), quota.to_string())
    }
}
