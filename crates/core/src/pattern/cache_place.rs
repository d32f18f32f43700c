//! The caches of a pattern: at most one for each thread that searches at the same time.
//!
//! The engine's own pool has a place for each eighth thread that ever searched, which may leave
//! eight caches for two threads, and does not tell their size.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use regex_automata::meta::{Cache, Regex};

use super::budget::{CACHES_BYTES, CacheReservation, PatternBudget};

/// The most caches of a pattern. If more threads search at the same time, some wait for others.
const PLACES: usize = 16;

/// The first places share what is charged for the caches of a pattern when it is compiled.
const PREPAID_PLACES: usize = 2;

/// The places of the caches of one pattern.
#[derive(Debug)]
pub(super) struct CachePlaces([OnceLock<Box<Mutex<CachePlace>>>; PLACES]);

/// A place for the cache of one thread.
#[derive(Debug, Default)]
struct CachePlace {
    cache: Option<Cache>,
    /// What was charged for the cache beside `prepaid_bytes`.
    reserved: CacheReservation,
    prepaid_bytes: usize,
}

impl Default for CachePlaces {
    fn default() -> Self {
        Self(array::from_fn(|_| OnceLock::new()))
    }
}

impl CachePlaces {
    /// Searches with the cache of this thread. The cache is dropped if it has grown and the budget
    /// has no room for it; the next search begins with an empty one.
    pub(super) fn search<R>(
        &self,
        regex: &Regex,
        budget: &PatternBudget,
        search: impl FnOnce(&mut Cache) -> R,
    ) -> R {
        let number = thread_number() % PLACES;
        let mut place = lock(self.0[number].get_or_init(|| {
            let is_prepaid = number < PREPAID_PLACES;
            let prepaid_bytes = if is_prepaid { CACHES_BYTES / PREPAID_PLACES } else { 0 };
            Box::new(Mutex::new(CachePlace { prepaid_bytes, ..CachePlace::default() }))
        }));
        let cache = place.cache.get_or_insert_with(|| regex.create_cache());
        let found = search(cache);
        let bytes = size_of::<Cache>() + cache.memory_usage();
        place.pay(bytes, budget);
        found
    }

    /// Drops the caches.
    pub(super) fn clear(&self) {
        self.0.iter().filter_map(OnceLock::get).for_each(|place| lock(place).clear());
    }

    /// Returns the memory of the caches, in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let places = self.0.iter().filter_map(OnceLock::get);
        places.map(|place| lock(place).cache.as_ref().map_or(0, Cache::memory_usage)).sum()
    }
}

impl CachePlace {
    /// Pays for the cache, which has a size in bytes, or drops it.
    fn pay(&mut self, bytes: usize, budget: &PatternBudget) {
        let more = bytes.saturating_sub(self.prepaid_bytes);
        if more > self.reserved.bytes() && !self.reserved.grow(more, budget) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.cache = None;
        self.reserved = CacheReservation::default();
    }
}

fn lock(place: &Mutex<CachePlace>) -> MutexGuard<'_, CachePlace> {
    place.lock().unwrap_or_else(|poisoned| {
        let mut place = PoisonError::into_inner(poisoned);
        place.clear();
        place
    })
}

/// The numbers of running threads below 64, as bits.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The number of a thread, which another gets after its end. Numbers are dense, so that threads
/// that follow each other share caches.
struct ThreadNumber(u32);

impl Drop for ThreadNumber {
    fn drop(&mut self) {
        let mask = 1u64.checked_shl(self.0).unwrap_or(0);
        NUMBERS.fetch_and(!mask, Ordering::Relaxed);
    }
}

/// Returns the number of this thread. Those beyond 64 share one.
fn thread_number() -> usize {
    thread_local! {
        static NUMBER: ThreadNumber = {
            let take = |taken: u64| (taken != u64::MAX).then_some(taken | (taken + 1));
            let before = NUMBERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            ThreadNumber(before.map_or(u64::BITS, u64::trailing_ones))
        };
    }
    NUMBER.try_with(|number| number.0 as usize).unwrap_or(0)
}
