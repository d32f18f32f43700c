//! A limit enforced: a decision about each request as it arrives.

use weir_core::{Record, RecordFields};

use super::counter::{
    Bucket, Counter, FirstWindow, FixedWindow, SlidingLog, SlidingRing, TwoPeriods,
};
use super::gate_at_once::AtOnceGate;
use super::limit::{Algorithm, Limit};
use super::observer::KeyFinder;
use crate::gate::{
    CannotEnforce, Gate, GateClock, GateDecision, GateOptions, GateUsage, GateVerdict, KeySlots,
    Quota, QuotaPolicy, UseOrder, check_fields,
};
use crate::report::Verdict;

/// How many keys that are like new are forgotten when one comes, as nginx does it: enough to keep up,
/// and little work for one request.
const FORGOTTEN_MAX: usize = 2;

/// The memory of a key besides its counter and its text: its places in the table, in the texts and in
/// the order of use, and that of the allocator.
const KEY_BYTES: usize = 64;

/// Makes the gate of a limit with a name.
///
/// # Errors
/// If the limit is about what is only known after the answer, or cannot be kept within the bounds.
pub(super) fn gate(
    (name, limit): (&str, &Limit),
    fields: &RecordFields,
    options: GateOptions,
) -> Result<Box<dyn Gate>, CannotEnforce> {
    check_fields(limit.key.fields(), fields)?;
    limit.condition.iter().try_for_each(|condition| condition.check_arrival(fields))?;
    let keys = KeyFinder::new(limit, fields)?.to_static();
    let parts = (name, limit, keys, options);
    Ok(match limit.algorithm {
        Algorithm::SlidingRing => WindowGate::<SlidingRing>::with_times(parts)?,
        Algorithm::SlidingLog => WindowGate::<SlidingLog>::with_times(parts)?,
        Algorithm::FixedWindow => WindowGate::<FixedWindow>::boxed(parts),
        Algorithm::FirstWindow => WindowGate::<FirstWindow>::boxed(parts),
        Algorithm::TwoPeriods => WindowGate::<TwoPeriods>::boxed(parts),
        Algorithm::TokenBucket { .. } | Algorithm::LeakyBucket => {
            WindowGate::<Bucket>::boxed(parts)
        }
        Algorithm::Concurrency => Box::new(AtOnceGate::new(parts)),
        Algorithm::Unpublished { .. } => {
            return Err(CannotEnforce::new(
                "how this service counts is not published, so the limit cannot be enforced as it \
                 would; write the limit with an algorithm, such as `limit 100 requests in 1m by \
                 client as sliding`",
            ));
        }
    })
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
    options: GateOptions,
    clock: GateClock,
    keys: KeySlots,
    order: UseOrder,
    /// By the number of a key.
    counters: Vec<C>,
    /// The memory of all counters besides themselves.
    heap_bytes: usize,
    evicted: u64,
}

/// What a gate is made of: the name, the limit, what finds its keys, and the bounds.
pub(super) type Parts<'l> = (&'l str, &'l Limit, KeyFinder<'static>, GateOptions);

impl<C: Counter> WindowGate<C> {
    fn boxed((name, limit, finder, options): Parts<'_>) -> Box<dyn Gate> {
        Box::new(Self {
            name: name.to_owned(),
            finder,
            settings: C::settings(limit),
            policy: policy(name, limit),
            options,
            clock: GateClock::default(),
            keys: KeySlots::default(),
            order: UseOrder::new(),
            counters: Vec::new(),
            heap_bytes: 0,
            evicted: 0,
        })
    }

    /// The gate of an algorithm that keeps the times of requests.
    ///
    /// # Errors
    /// If those of one key may not fit.
    fn with_times(parts: Parts<'_>) -> Result<Box<dyn Gate>, CannotEnforce> {
        let (_, limit, _, options) = &parts;
        let times_bytes = u128::from(limit.count) * size_of::<i64>() as u128;
        match times_bytes > options.bytes_max as u128 {
            true => Err(CannotEnforce::new(format_args!(
                "the times of {} requests of a client are more than the {} bytes that the gate may \
                 take; write the limit `as two-periods`, `as fixed` or `as token-bucket`, which keep \
                 none",
                limit.count, options.bytes_max
            ))),
            false => Ok(Self::boxed(parts)),
        }
    }

    /// The bytes that count for [`GateOptions::bytes_max`].
    fn bytes(&self) -> usize {
        self.keys.len() * (KEY_BYTES + size_of::<C>()) + self.keys.text_bytes() + self.heap_bytes
    }

    fn clear(&mut self) {
        (self.keys, self.order) = (KeySlots::default(), UseOrder::new());
        self.counters.clear();
        self.heap_bytes = 0;
    }

    fn forget(&mut self, number: u32) {
        self.keys.remove(number);
        self.order.remove(number);
        if let Some(counter) = self.counters.get_mut(number as usize) {
            self.heap_bytes -= counter.heap_bytes();
            *counter = C::new();
        }
    }

    /// Forgets a few of the keys that were not used for longest, if that changes no decision.
    fn forget_idle(&mut self, now_ns: i64) {
        for _ in 0..FORGOTTEN_MAX {
            let Some(oldest) = self.order.oldest() else { return };
            let counter = self.counters.get(oldest as usize);
            if !counter.is_some_and(|counter| counter.is_like_new(self.settings, now_ns)) {
                return;
            }
            self.forget(oldest);
        }
    }

    /// Forgets the keys that were not used for longest until the others fit, but not this one.
    fn evict(&mut self, number: u32) {
        while self.keys.len() > self.options.keys_max as usize
            || self.bytes() > self.options.bytes_max
        {
            let Some(oldest) = self.order.oldest().filter(|oldest| *oldest != number) else {
                return;
            };
            self.forget(oldest);
            self.evicted += 1;
        }
    }
}

impl<C: Counter> Gate for WindowGate<C> {
    fn decide(&mut self, record: &Record<'_>, now_ns: i64) -> GateDecision<'_> {
        let (arrival_ns, was_set_back) = self.clock.advance(now_ns);
        if was_set_back {
            self.clear();
        }
        let Some(key) = self.finder.key(record) else {
            return GateDecision::unlimited(arrival_ns);
        };
        let number = match self.keys.find(key) {
            Some(number) => number,
            None => {
                let number = self.keys.insert(key);
                if number as usize >= self.counters.len() {
                    self.counters.push(C::new());
                }
                self.forget_idle(arrival_ns);
                number
            }
        };
        self.order.touch(number);
        let counter = &mut self.counters[number as usize];
        let bytes_before = counter.heap_bytes();
        let outcome = counter.decide(self.settings, arrival_ns);
        let (remaining, wait_ns) = counter.remaining(self.settings, arrival_ns);
        self.heap_bytes += counter.heap_bytes() - bytes_before;
        self.evict(number);
        let reset_s = Some(wait_ns.div_ceil(1_000_000_000).max(1));
        GateDecision {
            verdict: match outcome.verdict {
                Verdict::Rejected => GateVerdict::Rejected { retry_after_s: reset_s },
                Verdict::Delayed => {
                    GateVerdict::Delayed { delay_ms: outcome.delay_ms.unwrap_or(0) }
                }
                _ => GateVerdict::Passed,
            },
            limit: &self.name,
            key: self.keys.text(number),
            quota: Some(Quota { policy: &self.policy, remaining, reset_s }),
            ..GateDecision::unlimited(arrival_ns)
        }
    }

    fn usage(&self) -> GateUsage {
        let arrays_bytes = self.counters.capacity() * size_of::<C>() + self.order.memory_bytes();
        GateUsage {
            keys: self.keys.len(),
            memory_bytes: self.keys.memory_bytes() + arrays_bytes + self.heap_bytes,
            evicted: self.evicted,
            no_room: 0,
            clock_resets: self.clock.resets(),
        }
    }
}

/// A limit as a policy. A bucket lets its size pass at once, in the time in which it fills again.
fn policy(name: &str, limit: &Limit) -> QuotaPolicy {
    let window_ns = u128::from(limit.window_ns);
    match limit.algorithm.has_burst() {
        true => {
            let fill_ns = window_ns * u128::from(limit.burst) / u128::from(limit.count.max(1));
            QuotaPolicy::within(name, limit.burst, fill_ns)
        }
        false => QuotaPolicy::within(name, limit.count, window_ns),
    }
}
