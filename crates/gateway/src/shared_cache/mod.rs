//! An asynchronous cache that computes each value once for all callers.

mod slots;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_sync::Lock;

use self::slots::{CacheLimits, Slots, Stage};

/// The default limits: as many keys and as much memory as verified tokens may take.
const LIMITS: CacheLimits = CacheLimits { keys_max: 100_000, bytes_max: 64 << 20 };

/// After a failure, the same key fails at once for this time.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// A key of a cache.
pub(crate) trait CacheKey: Clone {
    /// The size on the heap in bytes.
    fn heap_bytes(&self) -> usize;
}

impl CacheKey for String {
    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}

/// A value that expires.
pub(crate) trait Expiring {
    /// The time from which the value is no longer used.
    fn expires(&self) -> Instant;

    /// The size on the heap in bytes, without that of the value itself.
    fn heap_bytes(&self) -> usize;
}

/// Values by key. One caller computes a value while other callers of the same key wait.
pub(crate) struct SharedCache<K, V>(Lock<Slots<K, V>>);

/// The slot of a value. The holder of the lock computes the value.
type Slot<V> = tokio::sync::Mutex<State<V>>;

enum State<V> {
    Empty,
    Ready(Arc<V>),
    FailedAt(Instant),
}

/// A value, and whether it came from the cache.
#[derive(Debug)]
pub(crate) struct CacheResult<V> {
    pub(crate) value: Arc<V>,
    /// Whether an earlier call computed the value.
    pub(crate) is_cached: bool,
}

impl<K: CacheKey + Eq + Hash, V: Expiring> SharedCache<K, V> {
    pub(crate) fn new() -> Self {
        Self::with_limits(LIMITS)
    }

    fn with_limits(limits: CacheLimits) -> Self {
        Self(Lock::new(Slots::new(limits)))
    }

    /// Returns the value of a key, computed with `compute` if there is none. Returns `None` if the
    /// computation fails, or failed within [`FAILURE_PAUSE`]. The value `stale` is ignored and
    /// replaced.
    pub(crate) async fn get<F>(
        &self,
        key: &K,
        stale: Option<&Arc<V>>,
        compute: impl FnOnce() -> F,
    ) -> Option<CacheResult<V>>
    where
        F: Future<Output = Option<V>>,
    {
        let slot = self.0.lock().slot(key, || Slot::new(State::Empty));
        let mut state = slot.lock().await;
        let is_stale = |value: &Arc<V>| stale.is_some_and(|stale| Arc::ptr_eq(stale, value));
        match &*state {
            State::Ready(value) if is_valid(&**value) && !is_stale(value) => {
                return Some(CacheResult { value: value.clone(), is_cached: true });
            }
            State::FailedAt(at) if at.elapsed() < FAILURE_PAUSE => return None,
            _ => {}
        }
        let kept = if let State::Ready(value) = &*state { Some(value.clone()) } else { None };
        let computation = Computation::begin(self, key, &slot, kept.as_deref());
        let found = compute().await.map(Arc::new);
        *state = match &found {
            Some(value) => State::Ready(value.clone()),
            None => State::FailedAt(Instant::now()),
        };
        computation.end(found.as_deref());
        found.map(|value| CacheResult { value, is_cached: false })
    }
}

fn is_valid<V: Expiring>(value: &V) -> bool {
    Instant::now() < value.expires()
}

/// The computation of a value. Dropping it before its end means that it was cancelled.
struct Computation<'a, K: CacheKey + Eq + Hash, V: Expiring> {
    cache: &'a SharedCache<K, V>,
    key: &'a K,
    slot: &'a Arc<Slot<V>>,
    /// The stage of the slot after the computation, and the size of its value.
    outcome: (Stage, usize),
}

impl<'a, K: CacheKey + Eq + Hash, V: Expiring> Computation<'a, K, V> {
    /// Begins while the slot still has an earlier value, if any. The slot becomes young, so that
    /// others which arrive meanwhile evict older ones first, and callers of this key find it.
    fn begin(
        cache: &'a SharedCache<K, V>,
        key: &'a K,
        slot: &'a Arc<Slot<V>>,
        kept: Option<&V>,
    ) -> Self {
        let kept_bytes = kept.map_or(0, value_bytes);
        cache.0.lock().renew(key, slot, Stage::InUse, kept_bytes);
        // Callers who do not know that the kept value is stale go on using it.
        let stage = if kept.is_some_and(is_valid) { Stage::InUse } else { Stage::Unused };
        Self { cache, key, slot, outcome: (stage, kept_bytes) }
    }

    fn end(mut self, found: Option<&V>) {
        self.outcome = match found {
            Some(value) => (Stage::InUse, value_bytes(value)),
            None => (Stage::Unused, 0),
        };
    }
}

impl<K: CacheKey + Eq + Hash, V: Expiring> Drop for Computation<'_, K, V> {
    fn drop(&mut self) {
        let (stage, bytes) = self.outcome;
        self.cache.0.lock().renew(self.key, self.slot, stage, bytes);
    }
}

/// The memory of a value in bytes.
fn value_bytes<V: Expiring>(value: &V) -> usize {
    size_of::<V>() + value.heap_bytes()
}

impl<K, V> fmt::Debug for SharedCache<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Value(u32, Instant);

    impl CacheKey for u32 {
        fn heap_bytes(&self) -> usize {
            0
        }
    }

    impl Expiring for Value {
        fn expires(&self) -> Instant {
            self.1
        }

        fn heap_bytes(&self) -> usize {
            1_000
        }
    }

    fn lasting(number: u32) -> Option<Value> {
        Some(Value(number, Instant::now() + Duration::from_secs(60)))
    }

    #[tokio::test]
    async fn a_value_is_found_out_once() {
        let cache = SharedCache::<u32, Value>::new();
        let first = cache.get(&1, None, async || lasting(10)).await.expect("found");
        assert_eq!((first.value.0, first.is_cached), (10, false));
        let second = cache.get(&1, None, async || lasting(11)).await.expect("found");
        assert_eq!((second.value.0, second.is_cached), (10, true));
        let renewed = cache.get(&1, Some(&first.value), async || lasting(12)).await.expect("found");
        assert_eq!((renewed.value.0, renewed.is_cached), (12, false));
        // Another caller has already replaced the stale value.
        let again = cache.get(&1, Some(&first.value), async || lasting(13)).await.expect("found");
        assert_eq!((again.value.0, again.is_cached), (12, true));
    }

    #[tokio::test]
    async fn ends_and_failures_are_kept_to() {
        let cache = SharedCache::<u32, Value>::new();
        let ended = async || Some(Value(1, Instant::now()));
        assert!(cache.get(&1, None, ended).await.is_some());
        let next = cache.get(&1, None, async || lasting(2)).await.expect("found");
        assert_eq!(next.value.0, 2, "the first one has ended");
        assert!(cache.get(&2, None, async || None).await.is_none());
        assert!(cache.get(&2, None, async || lasting(3)).await.is_none(), "it has just failed");
    }

    /// The number of slots, and their memory in bytes.
    fn size(cache: &SharedCache<u32, Value>) -> (usize, usize) {
        let slots = cache.0.lock();
        (slots.len(), slots.bytes())
    }

    /// Asks for the values of these keys, and returns how many had to be computed.
    async fn computed(cache: &SharedCache<u32, Value>, keys: impl Iterator<Item = u32>) -> usize {
        let mut count = 0;
        for key in keys {
            let found = cache.get(&key, None, async || lasting(key)).await.expect("found");
            assert_eq!(found.value.0, key);
            count += usize::from(!found.is_cached);
        }
        count
    }

    #[tokio::test]
    async fn the_oldest_of_ten_thousand_keys_are_evicted() {
        let limits = CacheLimits { keys_max: 1_000, bytes_max: usize::MAX };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        assert_eq!(computed(&cache, 0..10_000).await, 10_000);
        assert_eq!(cache.0.lock().len(), 1_000);
        assert_eq!(computed(&cache, 9_000..10_000).await, 0, "the youngest are there");
        assert_eq!(computed(&cache, 0..10).await, 10, "the evicted ones are computed again");
        assert_eq!(computed(&cache, 0..10).await, 0);
        assert_eq!(computed(&cache, 9_010..10_000).await, 0, "only the next oldest had to go");
        assert_eq!(computed(&cache, 9_000..9_010).await, 10);
    }

    #[tokio::test]
    async fn a_renewed_value_is_young() {
        let limits = CacheLimits { keys_max: 3, bytes_max: usize::MAX };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        assert_eq!(computed(&cache, 1..=3).await, 3);
        let first = cache.get(&1, None, async || lasting(1)).await.expect("found").value;
        cache.get(&1, Some(&first), async || lasting(1)).await.expect("found");
        assert_eq!(computed(&cache, [4, 1].into_iter()).await, 1, "the second one was evicted");
    }

    #[tokio::test]
    async fn a_value_is_kept_although_others_arrive_while_it_is_renewed() {
        let limits = CacheLimits { keys_max: 3, bytes_max: usize::MAX };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        let first = cache.get(&1, None, async || lasting(1)).await.expect("found").value;
        assert_eq!(computed(&cache, 2..=3).await, 2);
        let renewal = async || {
            // One arrival would evict the first key if it still had its old place.
            computed(&cache, 4..=5).await;
            let other = cache.get(&1, Some(&first), async || panic!("it is being computed"));
            assert!(tokio::time::timeout(Duration::ZERO, other).await.is_err(), "it waits");
            lasting(1)
        };
        cache.get(&1, Some(&first), renewal).await.expect("found");
        assert_eq!(computed(&cache, [1, 5].into_iter()).await, 0, "both are there");
        let crowd = async || {
            computed(&cache, 10..20).await;
            lasting(6)
        };
        cache.get(&6, None, crowd).await.expect("found");
        assert_eq!(computed(&cache, [6, 19].into_iter()).await, 0, "evicted meanwhile, and back");
        assert_eq!(cache.0.lock().len(), 3);
    }

    #[tokio::test]
    async fn failures_displace_few_values() {
        let limits = CacheLimits { keys_max: 32, bytes_max: usize::MAX };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        assert_eq!(computed(&cache, 0..32).await, 32);
        for key in 100..200 {
            assert!(cache.get(&key, None, async || None).await.is_none());
        }
        let again = async || panic!("it has just failed");
        assert!(cache.get(&198, None, again).await.is_none(), "also if the cache is full");
        assert_eq!(cache.0.lock().len(), 32);
        assert_eq!(computed(&cache, 3..32).await, 0, "a sixteenth, and the one that is computed");
        assert_eq!(computed(&cache, 0..3).await, 3);
    }

    #[tokio::test]
    async fn a_cancelled_computation_counts_as_a_failure() {
        let limits = CacheLimits { keys_max: 32, bytes_max: usize::MAX };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        assert_eq!(computed(&cache, 0..32).await, 32);
        for key in 100..200 {
            let never = cache.get(&key, None, async || std::future::pending().await);
            assert!(tokio::time::timeout(Duration::ZERO, never).await.is_err());
        }
        assert_eq!(cache.0.lock().len(), 32);
        assert_eq!(computed(&cache, 3..32).await, 0, "a sixteenth, and the one that is computed");
        assert_eq!(computed(&cache, 199..200).await, 1, "nothing has failed");
    }

    #[tokio::test]
    async fn a_value_outlives_its_cancelled_renewal() {
        let limits = CacheLimits { keys_max: 32, bytes_max: usize::MAX };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        assert_eq!(computed(&cache, 0..32).await, 32);
        let full = size(&cache);
        for key in 0..8 {
            let value =
                cache.get(&key, None, async || panic!("it is cached")).await.expect("found").value;
            let renewal = cache.get(&key, Some(&value), async || std::future::pending().await);
            assert!(tokio::time::timeout(Duration::ZERO, renewal).await.is_err());
        }
        assert_eq!(size(&cache), full);
        assert_eq!(computed(&cache, 32..40).await, 8);
        assert_eq!(computed(&cache, 0..8).await, 0, "they are the youngest");
        assert_eq!(size(&cache), full);
    }

    #[tokio::test]
    async fn large_keys_of_failures_displace_few_values() {
        let limits = CacheLimits { keys_max: usize::MAX, bytes_max: 1 << 20 };
        let cache = SharedCache::<String, Value>::with_limits(limits);
        assert!(cache.get(&"value".to_owned(), None, async || lasting(1)).await.is_some());
        for number in 0..1_000 {
            let key = format!("{number:010000}");
            assert!(cache.get(&key, None, async || None).await.is_none());
        }
        assert!(cache.0.lock().bytes() <= 1 << 20);
        let again = async || panic!("it is cached");
        assert!(cache.get(&"value".to_owned(), None, again).await.is_some());
    }

    #[tokio::test]
    async fn the_memory_is_bounded() {
        let limits = CacheLimits { keys_max: usize::MAX, bytes_max: 1 << 20 };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        computed(&cache, 0..10_000).await;
        let (keys, bytes) = size(&cache);
        assert!(bytes <= 1 << 20, "{bytes}");
        assert!((500..1_048).contains(&keys), "each takes a kilobyte and some more: {keys}");
        assert_eq!(computed(&cache, 9_999..10_000).await, 0);
        assert_eq!(computed(&cache, 0..1).await, 1);
    }

    #[tokio::test]
    async fn a_value_beyond_the_limit_is_used_once() {
        let limits = CacheLimits { keys_max: 9, bytes_max: 1_000 };
        let cache = SharedCache::<u32, Value>::with_limits(limits);
        assert_eq!(computed(&cache, [1, 1].into_iter()).await, 2);
        assert_eq!(size(&cache), (0, 0));
    }
}
