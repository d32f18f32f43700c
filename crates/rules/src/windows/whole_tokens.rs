//! The bucket of Varnish, which takes and adds whole tokens.
//!
//! Follows `vmod_is_denied` and `calc_tokens` of `vmod_vsthrottle.c` (varnish-modules): the whole tokens
//! that have come since the bucket was last used are added, and a request that takes one drops the
//! part of the next. A denied request begins a block, in which requests take tokens too.

use super::counter::Counter;
use super::limit::{Algorithm, Limit};
use super::summary::Peak;
use crate::engine::Outcome;
use crate::gate::KeyState;

/// The parameters of a bucket. Times are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenScale {
    capacity: i64,
    period_ns: i64,
    block_ns: i64,
}

impl TokenScale {
    pub(super) fn new(limit: &Limit) -> Self {
        let block_ns = match limit.algorithm {
            Algorithm::WholeTokens { block_ns } => i64::try_from(block_ns).unwrap_or(i64::MAX),
            _ => 0,
        };
        // A limit has at most a billion requests, and a window of a year.
        let (capacity, period_ns) = (limit.count as i64, (limit.window_ns as i64).max(1));
        Self { capacity, period_ns, block_ns }
    }

    /// The whole tokens that come in a time.
    fn tokens(self, elapsed_ns: i64) -> i64 {
        let tokens = i128::from(elapsed_ns.max(0)) * i128::from(self.capacity);
        i64::try_from(tokens / i128::from(self.period_ns)).unwrap_or(i64::MAX)
    }
}

/// The least and the most that something can be.
type Bounds = (i64, i64);

/// What is known about the bucket of a key whose requests come at times within some bounds.
#[derive(Debug)]
pub(super) struct WholeTokens {
    /// The tokens after the last request; `None` before the first.
    tokens: Option<Bounds>,
    /// When the bucket was last used.
    last_ns: Bounds,
    /// When the block ends.
    blocked_ns: Bounds,
}

impl Default for WholeTokens {
    fn default() -> Self {
        Self { tokens: None, last_ns: (0, 0), blocked_ns: (i64::MIN, i64::MIN) }
    }
}

impl WholeTokens {
    /// The tokens of the bucket at some time.
    fn tokens(&self, scale: TokenScale, now_ns: Bounds) -> Bounds {
        let Some((least, most)) = self.tokens else { return (scale.capacity, scale.capacity) };
        let came = |from_ns: i64, to_ns: i64| scale.tokens(to_ns.saturating_sub(from_ns));
        let with = |tokens: i64, more: i64| tokens.saturating_add(more).min(scale.capacity);
        (with(least, came(self.last_ns.1, now_ns.0)), with(most, came(self.last_ns.0, now_ns.1)))
    }

    /// Decides about a request that arrives between two times, and counts it.
    pub(super) fn decide_within(&mut self, scale: TokenScale, now_ns: Bounds) -> Outcome {
        let (least, most) = self.tokens(scale, now_ns);
        if self.tokens.is_none() {
            self.last_ns = now_ns;
        }
        let is_surely_blocked = now_ns.1 < self.blocked_ns.0;
        let may_be_blocked = now_ns.0 < self.blocked_ns.1;
        let (surely_takes, may_take) = (least > 0, most > 0);
        if !surely_takes && !is_surely_blocked && scale.block_ns > 0 {
            let later = |time_ns: i64| time_ns.saturating_add(scale.block_ns);
            let begins = !may_take && !may_be_blocked;
            let first_ns = if begins { later(now_ns.0) } else { self.blocked_ns.0 };
            self.blocked_ns = (first_ns, self.blocked_ns.1.max(later(now_ns.1)));
        }
        self.last_ns = match (surely_takes, may_take || may_be_blocked) {
            (true, _) => now_ns,
            (false, true) if is_surely_blocked => now_ns,
            (false, true) => (self.last_ns.0, now_ns.1),
            (false, false) => self.last_ns,
        };
        self.tokens = Some(((least - 1).max(0), (most - 1).max(0)));
        let is_rejected = !may_take || is_surely_blocked;
        let mut outcome = Outcome::bounded(is_rejected, surely_takes && !may_be_blocked);
        if now_ns.0 == now_ns.1 {
            outcome.count = Some((scale.capacity - most + 1) as f64);
        }
        outcome
    }
}

/// The highest count that the requests of a key would reach in a bucket without a limit. Each request
/// comes within `spread_ns` after its time.
pub(super) fn peak(limit: &Limit, times_ns: &[i64], spread_ns: i64) -> Peak {
    let scale = TokenScale::new(limit);
    let mut peak = Peak::default();
    let (mut counts, mut last_ns) = ([0_i64; 3], None);
    for (at, now_ns) in times_ns.iter().copied().enumerate() {
        let elapsed_ns = last_ns.map_or(0, |last_ns| now_ns.saturating_sub(last_ns));
        // The stamps may be the times, or a second more or less apart.
        let spreads_ns = [0, spread_ns, spread_ns.saturating_neg()];
        for (count, spread_ns) in counts.iter_mut().zip(spreads_ns) {
            let tokens = scale.tokens(elapsed_ns.saturating_add(spread_ns));
            *count = count.saturating_sub(tokens).max(0) + 1;
        }
        last_ns = Some(now_ns);
        let [stamped, lowest, highest] = counts.map(|count| count as f64);
        peak.take_range(at, stamped, lowest, highest);
    }
    peak
}

impl KeyState for WholeTokens {}

impl Counter for WholeTokens {
    type Settings = TokenScale;

    fn settings(limit: &Limit) -> TokenScale {
        TokenScale::new(limit)
    }

    fn decide(&mut self, scale: TokenScale, now_ns: i64) -> Outcome {
        let mut outcome = self.decide_within(scale, (now_ns, now_ns));
        outcome.delay_ms = (outcome.verdict == crate::report::Verdict::Passed).then_some(0);
        outcome
    }

    fn remaining(&self, scale: TokenScale, now_ns: i64) -> (u64, u64) {
        let until_ns = |time_ns: i64| time_ns.saturating_sub(now_ns).max(0).unsigned_abs();
        let (tokens, _) = self.tokens(scale, (now_ns, now_ns));
        if now_ns < self.blocked_ns.0 {
            return (0, until_ns(self.blocked_ns.0));
        }
        let came = scale.tokens(now_ns.saturating_sub(self.last_ns.0));
        let next = i128::from(came + 1) * i128::from(scale.period_ns);
        let next = (next + i128::from(scale.capacity) - 1) / i128::from(scale.capacity.max(1));
        let next_ns = self.last_ns.0.saturating_add(i64::try_from(next).unwrap_or(i64::MAX));
        (tokens.unsigned_abs(), until_ns(next_ns))
    }

    fn is_like_new(&self, scale: TokenScale, now_ns: i64) -> bool {
        let is_blocked = now_ns < self.blocked_ns.1;
        !is_blocked && self.tokens(scale, (now_ns, now_ns)).0 >= scale.capacity
    }
}
