//! Rules that are enforced: a decision about each request as it arrives.
//!
//! A [`Gate`] decides with the same code as the replay of its rule, so that the same traffic gives
//! the same decisions in the gate and over its own log. It does no I/O and has no clock: the caller
//! passes the time.
//!
//! [`KeyStates`] holds the keys of a gate, which are bounded, in [`KeySlots`] and their [`UseOrder`],
//! [`Served`] counts what is served at the same time, and [`Quota`] is what an answer tells the client.

mod clock;
mod fields;
mod key_slots;
mod key_states;
mod quota;
mod served;
mod use_order;

use std::fmt;

use weir_core::Record;

pub(crate) use self::clock::GateClock;
pub(crate) use self::fields::check_fields;
pub(crate) use self::key_slots::KeySlots;
pub(crate) use self::key_states::{KeyState, KeyStates};
pub use self::quota::{Quota, QuotaPolicy, QuotaUnit};
pub(crate) use self::served::{Places, Served};
pub(crate) use self::use_order::UseOrder;

/// Decides about requests one at a time, as they arrive.
///
/// A decision takes less than a microsecond, so one mutex around a gate is enough for tens of
/// thousands of requests a second. To use more cores, make several gates of a rule and choose one by
/// a hash of what all keys of the rule are made of, such as the client. Each then has its own bounds.
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
    /// The record has what is known of a request when it arrives. Only conditions on the time read the
    /// time of the record. If the clock goes back by a minute at most, the gate waits until it has
    /// caught up; if by more, it forgets all keys, because nothing is known of the time between.
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_>;

    /// Frees the place of a request that has ended, however it ended.
    ///
    /// It is to be called once for each decision with a [`GateDecision::place`].
    fn release(&mut self, _place: Place) {}

    /// Returns how full the gate is.
    fn usage(&self) -> GateUsage;
}

/// The bounds of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateOptions {
    /// The most keys of a rule, or of each zone of nginx.
    pub keys_max: u32,
    /// The most bytes for the keys of a rule, or of each zone of nginx, whose own size counts if it is
    /// smaller.
    pub bytes_max: usize,
}

impl Default for GateOptions {
    /// A million keys in 128 MiB: ten thousand new clients a second for almost two minutes.
    fn default() -> Self {
        Self { keys_max: 1_000_000, bytes_max: 128 << 20 }
    }
}

/// What happens to a request that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// It is let through at once.
    Passed,
    /// It is let through later.
    Delayed {
        /// How much later, in milliseconds.
        delay_ms: u64,
    },
    /// It is refused.
    Rejected {
        /// After how many whole seconds it would pass if no other request came (`Retry-After`, RFC
        /// 9110, section 10.2.3); `None` if waiting does not help, as with a list.
        retry_after_s: Option<u64>,
    },
}

/// A decision about a request.
#[derive(Debug)]
pub struct GateDecision<'g> {
    /// What happens to it.
    pub verdict: GateVerdict,
    /// The limit that decided: a zone of nginx, or the name of the rule. Empty if no limit applies.
    pub limit: &'g str,
    /// The key of the request in that limit. Clients choose its bytes.
    pub key: &'g [u8],
    /// The time for which it was decided, in nanoseconds since 1970: that of the call, unless another
    /// request had that time or a later one. No two have the same, so that a replay of records with
    /// these arrivals comes to the same decisions, in whatever order they are logged.
    pub arrival_ns: i64,
    /// Whether the rule itself says that it is only tried, such as by `limit_req_dry_run on`. The
    /// request is to be let through, whatever the verdict.
    pub is_dry_run: bool,
    /// What the client may still do, for the fields of the answer; `None` if there is no limit.
    pub quota: Option<Quota<'g>>,
    /// The place that a request holds until it ends, if the rule limits how many are served at the
    /// same time; see [`Gate::release`].
    pub place: Option<Place>,
}

impl GateDecision<'_> {
    /// The decision about a request to which no limit applies.
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

/// A place among the requests that are served at the same time.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the place stays taken until it is released"]
pub struct Place(pub(crate) u32);

/// How full a gate is, and what did not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateUsage {
    /// The keys that are held.
    pub keys: usize,
    /// The memory taken, in bytes.
    pub memory_bytes: usize,
    /// Keys that were forgotten to make room although they still counted, each the one that was idle
    /// for longest.
    pub evicted: u64,
    /// Requests that were rejected because there was no room for their key.
    pub no_room: u64,
    /// How often all keys were forgotten because the clock was set back.
    pub clock_resets: u64,
}

impl GateUsage {
    /// Adds what is held in another part of a gate, or in another gate.
    pub fn add(&mut self, other: Self) {
        let Self { keys, memory_bytes, evicted, no_room, clock_resets } = other;
        self.keys += keys;
        self.memory_bytes += memory_bytes;
        self.evicted += evicted;
        self.no_room += no_room;
        self.clock_resets += clock_resets;
    }
}

/// Why a rule cannot be enforced as requests arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotEnforce {
    /// A sentence that names what is missing.
    pub message: String,
}

impl CannotEnforce {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string() }
    }

    /// A rule with a field that requests do not have when they arrive.
    pub(crate) fn without_field(name: &str) -> Self {
        fields::without_field(name)
    }
}

impl fmt::Display for CannotEnforce {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for CannotEnforce {}
