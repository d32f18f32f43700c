//! The samples of a profile of the heap.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::interval::{Interval, weight};
use crate::interrupt::walk_own;
use crate::slots::FRAMES_MAX;

/// Samples that are held at most, with some 100 bytes each. Further ones count as allocated, and not as held,
/// which is counted.
const HELD_MAX: usize = 200_000;

/// Distinct stacks at most: some 20 MB. Further ones are lost, and counted.
const STACKS_MAX: usize = 20_000;

/// Counters of the filter of addresses, of a byte each.
const FILTER_COUNTERS: usize = 1 << 20;

static ARE_TAKEN: AtomicBool = AtomicBool::new(false);

/// How many samples are held whose address has this hash, so that most memory is freed without a lock. A counter
/// that is full stays so. They are changed under the lock of the samples alone.
static FILTER: [AtomicU8; FILTER_COUNTERS] = [const { AtomicU8::new(0) }; FILTER_COUNTERS];

/// Each thread begins with another random number.
static SEEDS: AtomicU64 = AtomicU64::new(1);

static SAMPLES: Mutex<Option<Samples>> = Mutex::new(None);

thread_local! {
    static INTERVAL: Cell<Interval> = const { Cell::new(Interval::START) };
    /// Whether the thread notes something at the moment. What it allocates for that is not noted.
    static IS_NOTING: Cell<bool> = const { Cell::new(false) };
}

/// What is known of the samples.
#[derive(Debug, Default)]
pub(super) struct Samples {
    stacks: HashMap<Box<[usize]>, usize>,
    pub(super) sums: Vec<StackSums>,
    /// The stack and the bytes of each sample that is held, by its address.
    held: HashMap<usize, (usize, f64)>,
    /// Those without a stack.
    pub(super) lost: u64,
    /// Those that are not among the held ones, for want of room.
    pub(super) not_held: u64,
}

/// The estimated bytes of a stack.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct StackSums {
    pub(super) allocated: f64,
    pub(super) held: f64,
}

/// Whether samples are taken.
#[inline]
pub(super) fn are_taken() -> bool {
    ARE_TAKEN.load(Ordering::Relaxed)
}

/// Begins to take samples.
pub(super) fn start() {
    without_noting(|| {
        let mut samples = lock();
        for counter in &FILTER {
            counter.store(0, Ordering::Relaxed);
        }
        *samples = Some(Samples::default());
    });
    ARE_TAKEN.store(true, Ordering::Relaxed);
}

/// Whether there are any. Forgets them.
pub(super) fn take_any() -> bool {
    without_noting(|| {
        let mut samples = lock();
        let found = samples.replace(Samples::default());
        found.is_some_and(|found| !found.sums.is_empty())
    })
}

/// Ends it.
pub(super) fn finish() -> Option<Samples> {
    ARE_TAKEN.store(false, Ordering::Relaxed);
    without_noting(|| lock().take())
}

/// Notes that memory was allocated. 0 means that there was none.
#[cold]
pub(super) fn note(address: usize, bytes: usize) {
    if address == 0 {
        return;
    }
    let is_sample = INTERVAL.try_with(|kept| {
        let mut interval = kept.get();
        let passes = interval.passes(bytes as u64, || SEEDS.fetch_add(1, Ordering::Relaxed));
        kept.set(interval);
        passes
    });
    if is_sample == Ok(true) {
        without_noting(|| add(address, bytes));
    }
}

/// Notes that memory is freed.
#[cold]
pub(super) fn forget(address: usize) {
    let counter = counter(address);
    if counter.load(Ordering::Relaxed) == 0 {
        return;
    }
    without_noting(|| {
        if let Some(samples) = &mut *lock()
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
    walk_own(|address| {
        addresses.push(address);
        addresses.len() < FRAMES_MAX
    });
    if let Some(samples) = &mut *lock() {
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

    /// The stacks, each with its sums.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (&[usize], StackSums)> {
        self.stacks.iter().filter_map(|(stack, index)| Some((&**stack, *self.sums.get(*index)?)))
    }
}

/// The counter of the filter for an address.
fn counter(address: usize) -> &'static AtomicU8 {
    // Allocations are aligned to 16 bytes.
    let hash = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &FILTER[(hash >> 40) as usize % FILTER_COUNTERS]
}

/// Calls a function whose own allocations are not noted; nothing if this is within such a function.
fn without_noting<T: Default>(function: impl FnOnce() -> T) -> T {
    let was_noting = IS_NOTING.try_with(|noting| noting.replace(true)).unwrap_or(true);
    if was_noting {
        return T::default();
    }
    let result = function();
    IS_NOTING.set(false);
    result
}

fn lock() -> MutexGuard<'static, Option<Samples>> {
    SAMPLES.lock().unwrap_or_else(PoisonError::into_inner)
}
