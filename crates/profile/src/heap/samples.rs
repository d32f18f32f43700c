//! The samples of a running profile of memory.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use weir_sync::Lock;

use super::interval::{Interval, weight};
use crate::interrupt::walk_own_stack;
use crate::slots::FRAMES_MAX;

/// The most live samples, of about 100 bytes each. Further ones count as allocated but not as held;
/// their number is counted.
const HELD_MAX: usize = 200_000;

/// The most distinct stacks: about 20 MB. Further ones are lost and counted.
const STACKS_MAX: usize = 20_000;

/// The size of the counting filter of addresses, in counters of one byte.
const FILTER_COUNTERS: usize = 1 << 20;

static IS_SAMPLING: AtomicBool = AtomicBool::new(false);

/// A counting filter: the number of live samples by hash of their address. A zero means that a
/// freed address is not a sample, so most memory is freed without a lock. A saturated counter stays
/// saturated. Counters change only under the lock of `SAMPLES`.
static FILTER: [AtomicU8; FILTER_COUNTERS] = [const { AtomicU8::new(0) }; FILTER_COUNTERS];

/// The seed of the next thread's random numbers.
static SEEDS: AtomicU64 = AtomicU64::new(1);

static SAMPLES: Lock<Option<Samples>> = Lock::new(None);

thread_local! {
    static INTERVAL: Cell<Interval> = const { Cell::new(Interval::START) };
    /// Whether the thread is recording a sample. Its own allocations for that are ignored.
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// The samples of one profile.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// The index in `sums` of each stack.
    stacks: HashMap<Box<[usize]>, usize>,
    pub(super) sums: Vec<StackSums>,
    /// The stack's index and the estimated bytes of each live sample, by address.
    held: HashMap<usize, (usize, f64)>,
    /// Samples lost because the table of stacks was full.
    pub(super) lost: u64,
    /// Samples that are missing from `held` because it was full.
    pub(super) not_held: u64,
}

/// The estimated bytes of a stack.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct StackSums {
    pub(super) allocated: f64,
    pub(super) held: f64,
}

/// Returns whether a profile of memory is running.
#[inline]
pub(super) fn is_sampling() -> bool {
    IS_SAMPLING.load(Ordering::Relaxed)
}

/// Starts taking samples.
pub(super) fn start() {
    without_recording(|| {
        let mut samples = SAMPLES.lock();
        for counter in &FILTER {
            counter.store(0, Ordering::Relaxed);
        }
        *samples = Some(Samples::default());
    });
    IS_SAMPLING.store(true, Ordering::Relaxed);
}

/// Discards the samples so far. Returns whether there were any.
pub(super) fn discard() -> bool {
    without_recording(|| {
        let mut samples = SAMPLES.lock();
        let found = samples.replace(Samples::default());
        found.is_some_and(|found| !found.sums.is_empty())
    })
}

/// Stops taking samples, and returns them; `None` if no profile was running.
pub(super) fn finish() -> Option<Samples> {
    IS_SAMPLING.store(false, Ordering::Relaxed);
    without_recording(|| SAMPLES.lock().take())
}

/// Records an allocation if it is a sample. The address 0 means that the allocation failed.
#[cold]
pub(super) fn record_allocation(address: usize, bytes: usize) {
    if address == 0 {
        return;
    }
    let is_sample = INTERVAL.try_with(|cell| {
        let mut interval = cell.get();
        let is_sample = interval.advance(bytes as u64, || SEEDS.fetch_add(1, Ordering::Relaxed));
        cell.set(interval);
        is_sample
    });
    if is_sample == Ok(true) {
        without_recording(|| add(address, bytes));
    }
}

/// Records that memory is about to be freed.
#[cold]
pub(super) fn record_free(address: usize) {
    let counter = counter(address);
    if counter.load(Ordering::Relaxed) == 0 {
        return;
    }
    without_recording(|| {
        if let Some(samples) = &mut *SAMPLES.lock()
            && let Some((stack, bytes)) = samples.held.remove(&address)
            && let Some(sums) = samples.sums.get_mut(stack)
        {
            sums.held -= bytes;
            let held = counter.load(Ordering::Relaxed);
            if held < u8::MAX {
                counter.store(held.saturating_sub(1), Ordering::Relaxed);
            }
        }
    });
}

fn add(address: usize, bytes: usize) {
    let mut addresses = Vec::with_capacity(FRAMES_MAX);
    walk_own_stack(|address| {
        addresses.push(address);
        addresses.len() < FRAMES_MAX
    });
    if let Some(samples) = &mut *SAMPLES.lock() {
        samples.add(address, addresses.into(), weight(bytes as u64) * bytes as f64);
    }
}

impl Samples {
    fn add(&mut self, address: usize, stack: Box<[usize]>, bytes: f64) {
        let next = self.sums.len();
        let index = match self.stacks.get(&stack) {
            Some(index) => *index,
            None if next < STACKS_MAX => {
                self.stacks.insert(stack, next);
                self.sums.push(StackSums::default());
                next
            }
            None => {
                self.lost += 1;
                return;
            }
        };
        let Some(sums) = self.sums.get_mut(index) else { return };
        sums.allocated += bytes;
        if self.held.len() < HELD_MAX {
            sums.held += bytes;
            self.held.insert(address, (index, bytes));
            let counter = counter(address);
            counter.store(counter.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
        } else {
            self.not_held += 1;
        }
    }

    /// Iterates over the stacks with their sums.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (&[usize], StackSums)> {
        self.stacks.iter().filter_map(|(stack, index)| Some((&**stack, *self.sums.get(*index)?)))
    }
}

/// Returns the filter's counter for an address.
fn counter(address: usize) -> &'static AtomicU8 {
    // Allocations are aligned to 16 bytes.
    let hash = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &FILTER[(hash >> 40) as usize % FILTER_COUNTERS]
}

/// Calls a function whose own allocations are ignored. Within such a function, it does nothing and
/// returns the default.
fn without_recording<T: Default>(function: impl FnOnce() -> T) -> T {
    let was_recording = IS_RECORDING.try_with(|it| it.replace(true)).unwrap_or(true);
    if was_recording {
        return T::default();
    }
    let result = function();
    IS_RECORDING.set(false);
    result
}
