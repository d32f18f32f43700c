//! A limit of requests.

use std::fmt;

use weir_core::format_duration;

use super::key::LimitKey;
use crate::condition::RuleCondition;

/// The note about a counter whose algorithm is not published.
const UNPUBLISHED: &str = "how the windows of this limit lie is not known: a request within the \
                           limit in every window passes; of the others it cannot be told";

/// How requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// A request is rejected if the last `count` that passed are not older than the window.
    SlidingRing,
    /// A request is rejected if more than `count`, those rejected included, are not older than the
    /// window.
    SlidingLog,
    /// The same, but a rejected request counts twice: a list of `xt_recent` that is set and then
    /// updated.
    RecentHits,
    /// Windows that begin at multiples of their length since 1970.
    FixedWindow,
    /// Windows that begin with a request of the key.
    FirstWindow,
    /// The count since the last pause that is as long as the window.
    SincePause,
    /// The count of this period, and of the one before it in proportion to what is left of it.
    TwoPeriods,
    /// A bucket of `burst` tokens. `delay_ns` is how long a request may wait for its token, and
    /// `forget_s` after how many whole seconds without a request the bucket is full again.
    TokenBucket {
        /// The longest wait.
        delay_ns: u64,
        /// The whole seconds.
        forget_s: Option<u64>,
    },
    /// A bucket of whole tokens, to which `count` are added in each window.
    WholeTokens {
        /// How long a key that found no token stays rejected, in nanoseconds.
        block_ns: u64,
    },
    /// A queue of `burst` requests, which leave it at the rate.
    LeakyBucket,
    /// The number of requests that are served at the same time.
    Concurrency,
    /// A window whose algorithm is not published.
    Unpublished {
        /// A sentence with the known facts about it.
        note: &'static str,
        /// How long a key may stay blocked after it was over the limit.
        hold_ns: u64,
    },
}

impl Algorithm {
    /// The algorithms of the language by name.
    pub(super) const NAMED: [(&'static str, Self); 11] = [
        ("sliding", Self::SlidingRing),
        ("sliding-log", Self::SlidingLog),
        ("fixed", Self::FixedWindow),
        ("first", Self::FirstWindow),
        ("since-pause", Self::SincePause),
        ("two-periods", Self::TwoPeriods),
        ("token-bucket", Self::TokenBucket { delay_ns: 0, forget_s: None }),
        ("whole-tokens", Self::WholeTokens { block_ns: 0 }),
        ("leaky-bucket", Self::LeakyBucket),
        ("concurrency", Self::Concurrency),
        ("unpublished", Self::Unpublished { note: UNPUBLISHED, hold_ns: 0 }),
    ];

    /// Whether it is a counter of HAProxy, which may meet requests at one time in another order than
    /// it logs them.
    pub(super) const fn is_of_haproxy(self) -> bool {
        matches!(self, Self::TwoPeriods | Self::SincePause)
    }

    /// Whether requests come back to it at a rate.
    pub(super) const fn is_bucket(self) -> bool {
        self.has_burst() || matches!(self, Self::WholeTokens { .. })
    }

    /// Whether it has a burst.
    pub(super) const fn has_burst(self) -> bool {
        matches!(self, Self::TokenBucket { .. } | Self::LeakyBucket)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::SlidingRing => "sliding",
            Self::SlidingLog => "sliding-log",
            Self::RecentHits => "sliding-log, with two hits for each rejected request",
            Self::FixedWindow => "fixed",
            Self::FirstWindow => "first",
            Self::SincePause => "since-pause",
            Self::TwoPeriods => "two-periods",
            Self::TokenBucket { .. } => "token-bucket",
            Self::WholeTokens { .. } => "whole-tokens",
            Self::LeakyBucket => "leaky-bucket",
            Self::Concurrency => "concurrency",
            Self::Unpublished { .. } => "unpublished",
        }
    }
}

/// A limit.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) name: Option<String>,
    /// The requests that pass in a window, or at once.
    pub(crate) count: u64,
    /// The window in nanoseconds; 0 for [`Algorithm::Concurrency`].
    pub(crate) window_ns: u64,
    /// The size of the bucket.
    pub(crate) burst: u64,
    pub(crate) algorithm: Algorithm,
    pub(crate) key: LimitKey,
    pub(crate) condition: Option<RuleCondition>,
    /// Which of the requests over the limit are rejected.
    pub(crate) effect: Effect,
}

/// Which of the requests over a limit are rejected. By default all of them are, and no others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effect {
    /// Of the requests that count, only those that meet this are rejected.
    pub(crate) rejects: Option<RuleCondition>,
    /// How long a key that was over the limit stays rejected.
    pub(crate) hold: Option<Hold>,
}

/// A key that was over a limit stays rejected for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    /// How long, in nanoseconds.
    pub(crate) length_ns: u64,
    /// Whether each of its requests begins that time again, so that only a pause ends it.
    pub(crate) is_renewed: bool,
    /// Whether the request that is over the limit passes.
    pub(crate) spares_first: bool,
}

impl Effect {
    /// Whether the requests that are rejected are those over the limit.
    pub(crate) fn is_plain(&self) -> bool {
        self.rejects.is_none() && self.hold.is_none()
    }
}

impl Limit {
    /// The longest window, in nanoseconds: a year.
    pub(crate) const WINDOW_NS_MAX: u64 = 366 * 86_400 * 1_000_000_000;

    /// The highest count.
    pub(crate) const COUNT_MAX: u64 = 1_000_000_000;

    /// Makes a limit of all requests together, whose burst is its count.
    pub(crate) fn new(count: u64, window_ns: u64, algorithm: Algorithm) -> Self {
        let (name, condition) = (None, None);
        let (key, effect) = (LimitKey::default(), Effect::default());
        Self { name, count, window_ns, burst: count, algorithm, key, condition, effect }
    }

    /// The count above which a request is rejected, in requests.
    pub(super) fn threshold(&self) -> f64 {
        match self.algorithm {
            Algorithm::TokenBucket { delay_ns, .. } => {
                self.burst as f64 + delay_ns as f64 * self.count as f64 / self.window_ns as f64
            }
            Algorithm::LeakyBucket => self.burst as f64,
            _ => self.count as f64,
        }
    }

    /// Whether the algorithm is published.
    pub(super) fn is_published(&self) -> bool {
        !matches!(self.algorithm, Algorithm::Unpublished { .. })
    }

    /// The setting that [`Self::threshold`] is about.
    pub(super) fn setting(&self) -> u64 {
        if self.algorithm.has_burst() { self.burst } else { self.count }
    }

    /// The setting with another value, as it is written.
    pub(super) fn setting_text(&self, value: u64) -> String {
        match self.algorithm {
            algorithm if algorithm.has_burst() => format!("burst {value}"),
            Algorithm::Concurrency => format!("limit {} at once", requests(value)),
            _ => format!("limit {} in {}", requests(value), format_duration(self.window_ns)),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "limit {}", requests(self.count))?;
        match self.algorithm {
            Algorithm::Concurrency => write!(formatter, " at once")?,
            _ => write!(formatter, " in {}", format_duration(self.window_ns))?,
        }
        write!(formatter, "{}", self.key)?;
        if let Some(condition) = &self.condition {
            write!(formatter, " where {}", condition.text())?;
        }
        if self.algorithm != Algorithm::Concurrency {
            write!(formatter, " as {}", self.algorithm.name())?;
        }
        if self.algorithm.has_burst() {
            write!(formatter, " burst {}", self.burst)?;
        }
        if let Algorithm::WholeTokens { block_ns: block_ns @ 1.. } = self.algorithm {
            write!(formatter, "; then rejected for {}", format_duration(block_ns))?;
        }
        if let Some(rejects) = &self.effect.rejects {
            write!(formatter, "; of these, {} is rejected", rejects.text())?;
        }
        if let Some(hold) = self.effect.hold {
            let length = format_duration(hold.length_ns);
            let until = if hold.is_renewed { "until a pause of" } else { "for" };
            write!(formatter, "; then rejected {until} {length}")?;
        }
        Ok(())
    }
}

fn requests(count: u64) -> String {
    format!("{count} request{}", if count == 1 { "" } else { "s" })
}
