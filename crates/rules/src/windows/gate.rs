//! A limit enforced: a decision about each request as it arrives.

use weir_core::{Record, RecordFields};

use super::counter::{
    Bucket, Counter, FirstWindow, FixedWindow, RecentHits, SincePause, SlidingLog, SlidingRing,
    TwoPeriods,
};
use super::limit::{Algorithm, Limit};
use super::observer::KeyFinder;
use super::whole_tokens::WholeTokens;
use crate::gate::{
    CannotEnforce, ConcurrencyGate, ConcurrencyLimit, ConcurrencyLimitSet, ConcurrencyZone, Gate,
    GateClock, GateDecision, GateLimit, GateOptions, GateUsage, GateVerdict, KeyStates, Quota,
    QuotaPolicy, RequestKeys, check_fields,
};
use crate::report::Verdict;

/// Makes the gate of a limit with a name.
///
/// # Errors
/// If the limit needs a value that is only known after the response, or may exceed the bounds.
pub(super) fn gate(
    name: &str,
    limit: &Limit,
    fields: &RecordFields,
    options: GateOptions,
) -> Result<Box<dyn Gate>, CannotEnforce> {
    check_fields(limit.key.fields(), fields)?;
    if limit.effect.hold.is_some() {
        return Err(CannotEnforce::new(
            "a limit that rejects a client for longer than it is over can only be replayed; leave \
             out what `gpc0` does",
        ));
    }
    limit.effect.rejects.iter().try_for_each(|condition| condition.check_arrival(fields))?;
    limit.condition.iter().try_for_each(|condition| condition.check_arrival(fields))?;
    let finder = KeyFinder::new(limit, fields)?.to_static();
    let parts = GateParts { name, limit, finder, options };
    Ok(match limit.algorithm {
        Algorithm::SlidingRing => WindowGate::<SlidingRing>::with_times(parts)?,
        Algorithm::SlidingLog => WindowGate::<SlidingLog>::with_times(parts)?,
        Algorithm::RecentHits => WindowGate::<RecentHits>::with_times(parts)?,
        Algorithm::FixedWindow => WindowGate::<FixedWindow>::boxed(parts),
        Algorithm::FirstWindow => WindowGate::<FirstWindow>::boxed(parts),
        Algorithm::SincePause => WindowGate::<SincePause>::boxed(parts),
        Algorithm::TwoPeriods => WindowGate::<TwoPeriods>::boxed(parts),
        Algorithm::WholeTokens { .. } => WindowGate::<WholeTokens>::boxed(parts),
        Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket => {
            WindowGate::<Bucket>::boxed(parts)
        }
        Algorithm::Concurrency => Box::new(concurrency_gate(parts)),
        Algorithm::Unpublished { .. } => {
            return Err(CannotEnforce::new(
                "how this service counts is not published, so the limit cannot be enforced as it \
                 would; write the limit with an algorithm, such as `limit 100 requests in 1m by \
                 client as sliding`",
            ));
        }
    })
}

/// The memory of a key with requests in progress besides its text, in bytes.
const KEY_BYTES: usize = 64;

/// Makes the gate of a limit of requests at once.
fn concurrency_gate(parts: GateParts<'_>) -> ConcurrencyGate<KeyFinder<'static>> {
    let GateParts { name, limit, finder, options } = parts;
    let limits = vec![ConcurrencyLimit::new(name, 0, limit.count)];
    let limit_set = ConcurrencyLimitSet { limits, is_dry_run: false };
    let zone = ConcurrencyZone::new(name, options);
    ConcurrencyGate::new(finder, vec![zone], vec![limit_set], |key_bytes| KEY_BYTES + key_bytes)
}

impl RequestKeys for KeyFinder<'static> {
    const EMPTY_IS_KEY: bool = true;

    fn keys(&mut self, record: &Record<'_>) -> Option<(usize, &[Vec<u8>])> {
        self.text_of_key(record).map(|text| (0, std::slice::from_ref(text)))
    }
}

/// The gate of a limit.
///
/// # Memory
///
/// For each key, up to 180 bytes and its text; with the sliding algorithms, 8 bytes more for each
/// request within the window, up to the number of the limit and one more, which a buffer that grows
/// may double.
struct WindowGate<C: Counter> {
    name: String,
    finder: KeyFinder<'static>,
    settings: C::Settings,
    policy: QuotaPolicy,
    clock: GateClock,
    counters: KeyStates<C>,
}

/// The parts of a gate.
struct GateParts<'l> {
    name: &'l str,
    limit: &'l Limit,
    finder: KeyFinder<'static>,
    options: GateOptions,
}

impl<C: Counter> WindowGate<C> {
    fn boxed(parts: GateParts<'_>) -> Box<dyn Gate> {
        let GateParts { name, limit, finder, options } = parts;
        Box::new(Self {
            name: name.to_owned(),
            finder,
            settings: C::settings(limit),
            policy: policy(name, limit),
            clock: GateClock::default(),
            counters: KeyStates::new(options),
        })
    }

    /// The gate of an algorithm that keeps the times of requests.
    ///
    /// # Errors
    /// If those of one key may not fit.
    fn with_times(parts: GateParts<'_>) -> Result<Box<dyn Gate>, CannotEnforce> {
        let GateParts { limit, options, .. } = &parts;
        let times_bytes = u128::from(limit.count) * size_of::<i64>() as u128;
        if times_bytes > options.bytes_max as u128 {
            Err(CannotEnforce::new(format_args!(
                "the times of {} requests of a client are more than the {} bytes that the gate may \
                 take; write the limit `as two-periods`, `as fixed` or `as token-bucket`, which keep \
                 none",
                limit.count, options.bytes_max
            )))
        } else {
            Ok(Self::boxed(parts))
        }
    }
}

impl<C: Counter> Gate for WindowGate<C> {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        let (arrival_ns, was_set_back) = self.clock.advance(now_ns);
        if was_set_back {
            self.counters.clear();
        }
        let Self { finder, settings, counters, .. } = self;
        let is_spared = finder.spares(record);
        let Some(key) = finder.key(record) else {
            return GateDecision::unlimited(arrival_ns);
        };
        let number = counters.number(key, |counter| counter.is_like_new(*settings, arrival_ns));
        let (outcome, (remaining, wait_ns)) = counters.update(number, |counter| {
            let mut outcome = counter.decide(*settings, arrival_ns);
            if is_spared {
                outcome.verdict = Verdict::Passed;
            }
            (outcome, counter.remaining(*settings, arrival_ns))
        });
        let reset_s = Some(wait_ns.div_ceil(1_000_000_000).max(1));
        GateDecision {
            verdict: GateVerdict::of(outcome.verdict, outcome.delay_ms, reset_s),
            limit: &self.name,
            key: self.counters.text(number),
            quota: Some(Quota { policy: &self.policy, remaining, reset_s }),
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn limits(&self) -> Vec<GateLimit<'_>> {
        GateLimit::only(&self.name)
    }

    fn usage(&self) -> GateUsage {
        GateUsage { clock_resets: self.clock.resets(), ..self.counters.usage() }
    }
}

/// A limit as a policy. A bucket lets its size pass at once, in the time in which it fills again.
fn policy(name: &str, limit: &Limit) -> QuotaPolicy {
    let window_ns = u128::from(limit.window_ns);
    if limit.algorithm.has_burst() {
        let fill_ns = window_ns * u128::from(limit.burst) / u128::from(limit.count.max(1));
        QuotaPolicy::within(name, limit.burst, fill_ns)
    } else {
        QuotaPolicy::within(name, limit.count, window_ns)
    }
}
