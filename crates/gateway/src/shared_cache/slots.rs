//! The slots of a cache, with their limits.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use super::{CacheKey, Slot};

/// The limits of a cache. Beyond them, the oldest unused slots are evicted if they are many or
/// large, or else the oldest in use.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheLimits {
    pub(super) keys_max: usize,
    /// The memory of keys and values, as an estimate without the allocator's overhead.
    pub(super) bytes_max: usize,
}

/// Slots by key, and in the order in which they are evicted.
pub(super) struct Slots<K, V> {
    limits: CacheLimits,
    by_key: HashMap<Arc<K>, Entry<V>>,
    /// The keys by [`Entry::position`], the oldest first.
    in_use: BTreeMap<u64, Arc<K>>,
    unused: BTreeMap<u64, Arc<K>>,
    next_position: u64,
    /// The sum of [`Entry::bytes`].
    bytes: usize,
    /// The sum of those in `unused`.
    unused_bytes: usize,
}

struct Entry<V> {
    slot: Arc<Slot<V>>,
    stage: Stage,
    position: u64,
    bytes: usize,
}

/// Whether a slot is worth its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has a value, or one is being computed.
    InUse,
    /// The computation has failed or was cancelled. A slot is kept for the pause after a failure.
    Unused,
}

/// Of slots and of memory, one part in so many may be unused before unused slots are evicted first.
const UNUSED_SHARE: usize = 16;

/// The memory of an entry without the heap of its key and its value: a hash table may be half
/// empty, and so may the nodes of a B-tree.
const ENTRY_BYTES: usize = 256;

impl<K: CacheKey + Eq + Hash, V> Slots<K, V> {
    pub(super) fn new(limits: CacheLimits) -> Self {
        Self {
            limits,
            by_key: HashMap::new(),
            in_use: BTreeMap::new(),
            unused: BTreeMap::new(),
            next_position: 0,
            bytes: 0,
            unused_bytes: 0,
        }
    }

    /// The number of slots.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.by_key.len(), self.in_use.len() + self.unused.len());
        assert_eq!(self.bytes, self.by_key.values().map(|entry| entry.bytes).sum::<usize>());
        self.by_key.len()
    }

    /// The memory of all slots in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the slot of a key. A new one is empty.
    pub(super) fn slot(&mut self, key: &K, empty: impl FnOnce() -> Slot<V>) -> Arc<Slot<V>> {
        if let Some(entry) = self.by_key.get(key) {
            return entry.slot.clone();
        }
        let slot = Arc::new(empty());
        self.insert(Arc::new(key.clone()), slot.clone(), Stage::InUse, 0);
        slot
    }

    /// Makes a slot the youngest of its stage, with the size of its value on the heap. Brings it
    /// back if it was evicted meanwhile, unless the key has another slot now.
    pub(super) fn renew(&mut self, key: &K, slot: &Arc<Slot<V>>, stage: Stage, value_bytes: usize) {
        let key = match self.by_key.get(key) {
            Some(entry) if !Arc::ptr_eq(&entry.slot, slot) => return,
            Some(_) => self.remove(key),
            None => None,
        }
        .unwrap_or_else(|| Arc::new(key.clone()));
        self.insert(key, slot.clone(), stage, value_bytes);
    }

    /// Inserts a slot as the youngest of its stage, and evicts others beyond the limits.
    fn insert(&mut self, key: Arc<K>, slot: Arc<Slot<V>>, stage: Stage, value_bytes: usize) {
        let position = self.next_position;
        let bytes = bytes_of(&*key) + size_of::<Slot<V>>() + value_bytes;
        self.next_position += 1;
        self.by_age(stage).insert(position, key.clone());
        self.by_key.insert(key, Entry { slot, stage, position, bytes });
        self.bytes += bytes;
        self.unused_bytes += if stage == Stage::Unused { bytes } else { 0 };
        while self.by_key.len() > self.limits.keys_max || self.bytes > self.limits.bytes_max {
            let Some((_, oldest)) = self.by_age(self.stage_to_evict()).pop_first() else { return };
            self.remove(&oldest);
        }
    }

    fn by_age(&mut self, stage: Stage) -> &mut BTreeMap<u64, Arc<K>> {
        match stage {
            Stage::InUse => &mut self.in_use,
            Stage::Unused => &mut self.unused,
        }
    }

    fn stage_to_evict(&self) -> Stage {
        let has_many_unused = self.unused.len() > self.limits.keys_max / UNUSED_SHARE
            || self.unused_bytes > self.limits.bytes_max / UNUSED_SHARE;
        if has_many_unused || self.in_use.is_empty() { Stage::Unused } else { Stage::InUse }
    }

    /// Removes the slot of a key, and returns the key.
    fn remove(&mut self, key: &K) -> Option<Arc<K>> {
        let (key, entry) = self.by_key.remove_entry(key)?;
        self.by_age(entry.stage).remove(&entry.position);
        self.bytes -= entry.bytes;
        self.unused_bytes -= if entry.stage == Stage::Unused { entry.bytes } else { 0 };
        Some(key)
    }
}

fn bytes_of(key: &impl CacheKey) -> usize {
    ENTRY_BYTES + size_of_val(key) + key.heap_bytes()
}
