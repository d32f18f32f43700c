//! The numbers of a rule that decide who trips it.

use std::fmt;

use weir_core::format_duration;

/// The numbers that decide who trips a rule with a single limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleSettings {
    /// What a key may have before it trips: requests, tokens or failures.
    pub threshold: u64,
    /// The time in which they count, in nanoseconds; 0 for requests at once. For a bucket the time
    /// in which [`Self::refill`] come back.
    pub period_ns: u64,
    /// What comes back in the period, if the limit is a bucket.
    pub refill: Option<u64>,
    /// Whether a key trips when it reaches the threshold, and not only above it.
    pub trips_at_threshold: bool,
}

impl fmt::Display for RuleSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = format_duration(self.period_ns);
        match (self.refill, self.period_ns) {
            (Some(refill), _) => {
                write!(formatter, "{refill} in {period}, and {} at once", self.threshold)
            }
            (None, 0) => write!(formatter, "{} at once", self.threshold),
            (None, _) => write!(formatter, "{} in {period}", self.threshold),
        }
    }
}
