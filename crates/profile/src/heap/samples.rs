//! The samples of a profile of the heap.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::interval::{Interval, weight};
use crate::slots::FRAMES_MAX;

/// Samples that are held at most, with some 100 bytes each. Further ones count as allocated, and not as held.
const HELD_MAX: usize = 200_000;

/// Distinct stacks at most: some 20 MB. Further ones are lost, and counted.
const STACKS_MAX: usize = 20_000;

/// Bits of the filter of addresses.
const FILTER_BITS: usize = 1 << 20;

static ARE_TAKEN: AtomicBool = AtomicBool::new(false);

/// A bit for each address of a sample, by its hash, so that most memory is freed without a lock.
static FILTER: [AtomicU64; FILTER_BITS / 64] = [const { AtomicU64::new(0) }; FILTER_BITS / 64];

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
    pub(super) lost: u64,
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
        for bits in &FILTER {
            bits.store(0, Ordering::Relaxed);
        }
        *lock() = Some(Samples::default());
    });
    ARE_TAKEN.store(true, Ordering::Relaxed);
}

/// Whether there are any.
pub(super) fn are_any() -> bool {
    without_noting(|| lock().as_ref().is_some_and(|samples| !samples.sums.is_empty()))
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
        // The address of a variable of the thread differs from those of other threads.
        let passes = interval.passes(bytes as u64, std::ptr::from_ref(kept).addr() as u64);
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
    let (word, bit) = filter_place(address);
    if FILTER[word].load(Ordering::Relaxed) & bit == 0 {
        return;
    }
    without_noting(|| {
        if let Some(samples) = &mut *lock()
            && let Some((stack, bytes)) = samples.held.remove(&address)
            && let Some(sums) = samples.sums.get_mut(stack)
        {
            sums.held -= bytes;
        }
    });
}

fn add(address: usize, bytes: usize) {
    let mut addresses = Vec::with_capacity(FRAMES_MAX);
    backtrace::trace(|frame| {
        addresses.push(frame.ip().addr());
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
            let (word, bit) = filter_place(address);
            FILTER[word].fetch_or(bit, Ordering::Relaxed);
        } else {
            self.lost += 1;
        }
    }

    /// The stacks, each with its sums.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (&[usize], StackSums)> {
        self.stacks.iter().filter_map(|(stack, index)| Some((&**stack, *self.sums.get(*index)?)))
    }
}

/// The word of the filter for an address, and its bit.
fn filter_place(address: usize) -> (usize, u64) {
    // Allocations are aligned to 16 bytes.
    let hash = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let place = (hash >> 40) as usize % FILTER_BITS;
    (place / 64, 1 << (place % 64))
}

/// Calls a function whose own allocations are not noted; nothing if this is within such a function.
fn without_noting<T: Default>(function: impl FnOnce() -> T) -> T {
    // A thread that ends has no such variable any more.
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
