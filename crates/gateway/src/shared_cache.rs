//! What was found out once for a key, for all who ask.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keys at most. Beyond it the expired ones are forgotten, and if there are none, any one.
const KEYS_MAX: usize = 100_000;

/// After a failure, the next attempt for the same key waits for so long.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// How often the expired ones are looked for at most. It takes long, and keys that come once may come fast.
const SWEEP_PAUSE: Duration = Duration::from_secs(10);

/// A value with an end.
pub(crate) trait Expiring {
    /// From when on it is not used any more.
    fn expires(&self) -> Instant;
}

/// Values by their keys. Each is found out by one at a time, and the others wait for it.
pub(crate) struct SharedCache<K, V>(Mutex<Slots<K, V>>);

struct Slots<K, V> {
    by_key: HashMap<K, Arc<Slot<V>>>,
    swept_at: Option<Instant>,
}

/// The place of a value. Who holds its lock finds it out.
type Slot<V> = tokio::sync::Mutex<State<V>>;

enum State<V> {
    Empty,
    Known(Arc<V>),
    FailedAt(Instant),
}

/// A value with how it was found.
#[derive(Debug)]
pub(crate) struct Found<V> {
    pub(crate) value: Arc<V>,
    /// Whether it was found for somebody else.
    pub(crate) is_remembered: bool,
}

impl<K: Clone + Eq + Hash, V: Expiring> SharedCache<K, V> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Slots { by_key: HashMap::new(), swept_at: None }))
    }

    /// The value of a key, or the one that `find_out` returns; `None` if that fails, or has just failed. A
    /// `stale` value is as good as none.
    pub(crate) async fn get<F>(
        &self,
        key: &K,
        stale: Option<&Arc<V>>,
        find_out: impl FnOnce() -> F,
    ) -> Option<Found<V>>
    where
        F: Future<Output = Option<V>>,
    {
        let slot = self.slot(key);
        let mut state = slot.lock().await;
        let is_stale = |value: &Arc<V>| stale.is_some_and(|stale| Arc::ptr_eq(stale, value));
        match &*state {
            State::Known(value) if is_valid(&**value) && !is_stale(value) => {
                return Some(Found { value: value.clone(), is_remembered: true });
            }
            State::FailedAt(at) if at.elapsed() < FAILURE_PAUSE => return None,
            _ => {}
        }
        let found = find_out().await.map(Arc::new);
        *state = match &found {
            Some(value) => State::Known(value.clone()),
            None => State::FailedAt(Instant::now()),
        };
        found.map(|value| Found { value, is_remembered: false })
    }

    fn slot(&self, key: &K) -> Arc<Slot<V>> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.by_key.get(key) {
            return slot.clone();
        }
        if slots.by_key.len() >= KEYS_MAX {
            slots.make_room();
        }
        let empty = || Arc::new(Slot::new(State::Empty));
        slots.by_key.entry(key.clone()).or_insert_with(empty).clone()
    }
}

impl<K: Clone + Eq + Hash, V: Expiring> Slots<K, V> {
    /// Forgets the expired values, or any one.
    fn make_room(&mut self) {
        if self.swept_at.is_none_or(|at| at.elapsed() >= SWEEP_PAUSE) {
            self.swept_at = Some(Instant::now());
            self.by_key.retain(|_, slot| is_in_use(slot));
        }
        if self.by_key.len() >= KEYS_MAX
            && let Some(key) = self.by_key.keys().next().cloned()
        {
            self.by_key.remove(&key);
        }
    }
}

fn is_valid<V: Expiring>(value: &V) -> bool {
    Instant::now() < value.expires()
}

/// Whether a slot has a value that may be used, or somebody is finding it out.
fn is_in_use<V: Expiring>(slot: &Arc<Slot<V>>) -> bool {
    match slot.try_lock() {
        Ok(state) => matches!(&*state, State::Known(value) if is_valid(&**value)),
        Err(_) => true,
    }
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

    impl Expiring for Value {
        fn expires(&self) -> Instant {
            self.1
        }
    }

    fn lasting(number: u32) -> Option<Value> {
        Some(Value(number, Instant::now() + Duration::from_secs(60)))
    }

    #[tokio::test]
    async fn a_value_is_found_out_once() {
        let cache = SharedCache::<u32, Value>::new();
        let first = cache.get(&1, None, async || lasting(10)).await.expect("found");
        assert_eq!((first.value.0, first.is_remembered), (10, false));
        let second = cache.get(&1, None, async || lasting(11)).await.expect("found");
        assert_eq!((second.value.0, second.is_remembered), (10, true));
        let renewed = cache.get(&1, Some(&first.value), async || lasting(12)).await.expect("found");
        assert_eq!((renewed.value.0, renewed.is_remembered), (12, false));
        // Another one has renewed it meanwhile.
        let again = cache.get(&1, Some(&first.value), async || lasting(13)).await.expect("found");
        assert_eq!((again.value.0, again.is_remembered), (12, true));
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

    #[tokio::test]
    async fn keys_are_bounded() {
        let cache = SharedCache::<usize, Value>::new();
        for key in 0..KEYS_MAX + 1_000 {
            cache.get(&key, None, async || lasting(0)).await.expect("found");
        }
        let held = cache.0.lock().expect("no panic").by_key.len();
        assert_eq!(held, KEYS_MAX);
    }
}
