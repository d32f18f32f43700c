//! Enforced rules: a decision about each request as it arrives.
//!
//! A [`Gate`] decides with the same code as the replay of its rule, so that the same traffic gives
//! the same decisions in the gate and over its own log. It does no I/O and has no clock: the caller
//! passes the time.
//!
//! [`KeyStates`] stores the bounded set of a gate's keys.
//! [`ConcurrencyGate`] enforces limits of concurrent requests, for every family that has them, and
//! [`Quota`] is what a response tells the client.

mod clock;
mod concurrency;
mod fields;
mod key_states;
mod quota;
mod served;

use std::fmt;

use weir_core::Record;

pub(crate) use self::clock::GateClock;
pub(crate) use self::concurrency::{
    ConcurrencyGate, ConcurrencyLimit, ConcurrencyLimitSet, ConcurrencyZone, RequestKeys,
};
pub(crate) use self::fields::check_fields;
pub(crate) use self::key_states::{KeyState, KeyStates};
pub use self::quota::{Quota, QuotaPolicy, QuotaUnit};
use crate::report::Verdict;

/// Decides about requests one at a time, as they arrive.
///
/// A decision takes less than a microsecond, so one mutex around a gate is enough for tens of
/// thousands of requests a second. To use more cores, make several gates of a rule and choose one
/// by a hash of the field that all keys of the rule depend on, such as the client. Each gate then
/// has its own bounds.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, LineParser, Record};
/// use weir_rules::{GateOptions, GateVerdict, RuleFiles, parse_rules};
///
/// let text = "limit_req_zone $remote_addr zone=one:1m rate=1r/s; limit_req zone=one;";
/// let rule = parse_rules(text, "one", None, &RuleFiles::default())?.remove(0);
/// let format = Arc::new(Format::parse(r#"$remote_addr "$request""#).expect("a format"));
/// let mut gate = rule.gate(&format.record_fields(), GateOptions::default()).expect("a limit");
///
/// let mut record = Record::new();
/// let mut parser = LineParser::new(format);
/// parser.parse(b"192.0.2.7 \"GET / HTTP/1.1\"", &mut record).expect("it fits");
/// let now_ns = 1_800_000_000_000_000_000;
/// assert_eq!(gate.decide(&record, now_ns).verdict, GateVerdict::Passed);
/// let second = gate.decide(&record, now_ns);
/// assert_eq!(second.verdict, GateVerdict::Rejected { retry_after_s: Some(1) });
/// assert_eq!(second.quota.expect("a limit").to_string(), "\"one\";r=0;t=1");
/// # Ok::<(), weir_rules::RuleError>(())
/// ```
pub trait Gate: Send {
    /// Decides about a request that arrives at `now_ns`, in nanoseconds since 1970, and counts it.
    ///
    /// The record has the fields that are known when a request arrives. Its time is used only by
    /// conditions on the time. If the clock goes back by at most a minute, the gate's time stands
    /// still until the clock has caught up. If it goes back further, the gate forgets all keys,
    /// because the elapsed time is unknown.
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_>;

    /// Frees the place of a request that has ended, however it ended.
    ///
    /// Call it exactly once for each decision that has a [`GateDecision::place`].
    fn release(&mut self, _place: Place) {}

    /// Returns the usage of the gate's bounds.
    fn usage(&self) -> GateUsage;

    /// Returns the limits that [`GateDecision::limit`] can name. One may be listed several times.
    fn limits(&self) -> Vec<GateLimit<'_>>;
}

/// A limit of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateLimit<'g> {
    /// Its name in decisions.
    pub name: &'g str,
    /// Whether the rule itself asks for a dry run of it.
    pub is_dry_run: bool,
}

impl<'g> GateLimit<'g> {
    /// The limit of a rule that has one, without a dry run.
    pub(crate) fn only(name: &'g str) -> Vec<Self> {
        vec![Self { name, is_dry_run: false }]
    }
}

/// The bounds of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateOptions {
    /// The most keys of a rule, or of each zone of nginx.
    pub keys_max: u32,
    /// The most bytes for the keys of a rule, or of each zone of nginx. A zone's own size applies
    /// if it is smaller.
    pub bytes_max: usize,
}

impl Default for GateOptions {
    /// A million keys in 128 MiB: ten thousand new clients a second for almost two minutes.
    fn default() -> Self {
        Self { keys_max: 1_000_000, bytes_max: 128 << 20 }
    }
}

/// The verdict about a request that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// The request passes immediately.
    Passed,
    /// The request passes after a delay.
    Delayed {
        /// The delay, in milliseconds.
        delay_ms: u64,
    },
    /// The request is rejected.
    Rejected {
        /// The number of whole seconds after which it would pass if no other request came
        /// (`Retry-After`, RFC 9110, section 10.2.3); `None` if waiting does not help, as with a
        /// list.
        retry_after_s: Option<u64>,
    },
}

impl GateVerdict {
    /// The verdict of an exact replay. `retry_after_s` is for a request that is rejected.
    pub(crate) fn of(verdict: Verdict, delay_ms: Option<u64>, retry_after_s: Option<u64>) -> Self {
        match verdict {
            Verdict::Rejected => Self::Rejected { retry_after_s },
            Verdict::Delayed => Self::Delayed { delay_ms: delay_ms.unwrap_or(0) },
            Verdict::Passed | Verdict::Undecided => Self::Passed,
        }
    }
}

/// A decision about a request.
#[derive(Debug)]
pub struct GateDecision<'g> {
    /// The verdict.
    pub verdict: GateVerdict,
    /// The limit that decided: a zone of nginx, or the name of the rule. Empty if no limit applies.
    pub limit: &'g str,
    /// The key of the request in that limit. Clients choose its bytes.
    pub key: &'g [u8],
    /// The effective time of the decision, in nanoseconds since 1970: that of the call, unless
    /// another request had that time or a later one. No two decisions have the same time, so a
    /// replay of records with these arrivals makes the same decisions, in whatever order they are
    /// logged.
    pub arrival_ns: i64,
    /// Whether the rule itself asks for a dry run, such as by `limit_req_dry_run on`. Such a
    /// request must be let through, whatever the verdict.
    pub is_dry_run: bool,
    /// The client's remaining quota, for the response's header fields; `None` if no limit applies.
    pub quota: Option<Quota<'g>>,
    /// The place that the request occupies until it ends, if the rule limits concurrent requests;
    /// see [`Gate::release`].
    pub place: Option<Place>,
}

impl GateDecision<'_> {
    /// Makes the decision about a request to which no limit applies.
    pub(crate) fn unlimited(arrival_ns: i64) -> Self {
        Self {
            verdict: GateVerdict::Passed,
            limit: "",
            key: b"",
            arrival_ns,
            is_dry_run: false,
            quota: None,
            place: None,
        }
    }
}

/// A place among the concurrent requests.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the place stays taken until it is released"]
pub struct Place(pub(crate) u32);

/// The usage of a gate's bounds, and the number of keys and requests that exceeded them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateUsage {
    /// The number of keys.
    pub keys: usize,
    /// The memory taken, in bytes.
    pub memory_bytes: usize,
    /// Keys that were evicted to make room although their state still mattered, the least recently
    /// used first.
    pub evicted: u64,
    /// Requests that were rejected because there was no room for their key.
    pub no_room: u64,
    /// The number of times that all keys were forgotten because the clock was set back.
    pub clock_resets: u64,
}

impl GateUsage {
    /// Adds the usage of another gate, or of another part of a gate.
    pub fn add(&mut self, other: Self) {
        let Self { keys, memory_bytes, evicted, no_room, clock_resets } = other;
        self.keys += keys;
        self.memory_bytes += memory_bytes;
        self.evicted += evicted;
        self.no_room += no_room;
        self.clock_resets += clock_resets;
    }
}

/// The reason why a rule cannot be enforced as requests arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotEnforce {
    /// A sentence that names the obstacle.
    pub message: String,
    /// Whether the rule can be replayed over the log instead.
    pub can_be_replayed: bool,
}

impl CannotEnforce {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), can_be_replayed: false }
    }

    /// The reason for a rule that depends on what is only known after the answer.
    pub(crate) fn before_answer(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), can_be_replayed: true }
    }

    /// The reason for a rule that uses a field which requests do not have when they arrive.
    pub(crate) fn without_field(name: &str) -> Self {
        fields::without_field(name)
    }
}

impl fmt::Display for CannotEnforce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.can_be_replayed {
            formatter.write_str("; replay it over the log")?;
        }
        Ok(())
    }
}

impl std::error::Error for CannotEnforce {}
