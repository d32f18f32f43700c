//! What one reader remembers of a field's values.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::dictionary::ABSENT;

/// The values of one field that a reader has met, each with the reader's own dense id, from
/// 1 on.
///
/// This is where reading a log spends most of its time. The table and the values are larger
/// than the near caches, and each look-up lands somewhere else. So look-ups come in batches ([`Self::intern_batch`]) and are done
/// in three passes over the batch, each a loop of loads that do not depend on one another
/// and which the processor therefore has under way all at once: the slots, then the values
/// they point to, then the comparisons, which find everything near.
///
/// The hash is seeded at random, so that nobody can make a log that is slow to read.
///
/// Places are 32 bits wide: the reader forgets long before there are 4 GiB of values.
#[derive(Debug, Clone)]
pub(super) struct SeenValues {
    state: RandomState,
    /// Open addressing with linear probing; a power of two, at most half full.
    slots: Vec<Slot>,
    /// The values' bytes, end to end.
    bytes: Vec<u8>,
    /// Where each value ends in `bytes`, by id; id 0 is the absent value.
    ends: Vec<u32>,
}

/// A quarter of a cache line, so that a look-up that finds its value at home touches one.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u32,
    /// 0 where the slot is empty.
    id: u32,
    start: u32,
    length: u32,
}

/// Look-ups that are under way together: more than a core can wait for at once, few enough
/// that what the passes hand on stays in the first-level cache.
pub(super) const BATCH: usize = 64;

/// Up to so many values are looked up one by one.
const FEW: usize = 64;

const SLOTS_MIN: usize = 64;
const CACHE_LINE: usize = 64;

impl SeenValues {
    pub(super) fn new() -> Self {
        Self {
            state: RandomState::default(),
            slots: vec![Slot::default(); SLOTS_MIN],
            bytes: Vec::new(),
            ends: vec![0],
        }
    }

    /// The ids given out so far, the absent value's included.
    pub(super) fn ids(&self) -> usize {
        self.ends.len()
    }

    /// The value of an id.
    pub(super) fn value(&self, id: usize) -> &[u8] {
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.bytes[start..self.ends[id] as usize]
    }

    /// Memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.bytes.capacity() + self.ends.capacity() * 4
    }

    /// Appends the ids of up to [`BATCH`] values to `ids`.
    pub(super) fn intern_batch(&mut self, values: &[Option<&[u8]>], ids: &mut Vec<u32>) {
        if self.ids() <= FEW {
            return self.intern_few(values, ids);
        }
        let mut hashes = [0u32; BATCH];
        let mut slots = [Slot::default(); BATCH];
        for ((value, hash), slot) in values.iter().zip(&mut hashes).zip(&mut slots) {
            if let Some(value) = value {
                *hash = self.hash(value);
                *slot = self.slots[self.home(*hash)];
            }
        }
        self.fetch(&slots[..values.len()]);
        for ((value, hash), slot) in values.iter().zip(hashes).zip(slots) {
            let id = match value {
                None => ABSENT,
                Some(value) if slot.hash == hash && self.is_at(slot, value) => slot.id,
                Some(value) => self.intern(value, hash),
            };
            ids.push(id);
        }
    }

    /// As [`Self::intern_batch`], while there are few values, such as methods: they are all
    /// near, and mostly the next is the same as the one before.
    fn intern_few(&mut self, values: &[Option<&[u8]>], ids: &mut Vec<u32>) {
        let mut last = ABSENT;
        for value in values {
            let id = match value {
                None => ABSENT,
                Some(value) if last != ABSENT && self.value(last as usize) == *value => last,
                Some(value) => self.intern(value, self.hash(value)),
            };
            last = if id == ABSENT { last } else { id };
            ids.push(id);
        }
    }

    /// Brings the values that the slots point to into the near cache.
    fn fetch(&self, slots: &[Slot]) {
        let mut any = 0;
        for slot in slots {
            let start = slot.start as usize;
            let end = start + slot.length as usize;
            for at in (start..end).step_by(CACHE_LINE) {
                any |= self.bytes[at];
            }
        }
        // Keeps the loads from being left out.
        std::hint::black_box(any);
    }

    /// The id of a value that is not in its home slot, a new one if it was not seen before.
    fn intern(&mut self, value: &[u8], hash: u32) -> u32 {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot.id == 0 {
                return self.insert(at, value, hash);
            }
            if slot.hash == hash && self.is_at(slot, value) {
                return slot.id;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn insert(&mut self, at: usize, value: &[u8], hash: u32) -> u32 {
        let id = self.ends.len() as u32;
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len() as u32);
        self.slots[at] = Slot { hash, id, start, length: value.len() as u32 };
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        id
    }

    #[cold]
    fn grow(&mut self) {
        let empty = vec![Slot::default(); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, empty);
        for slot in old.into_iter().filter(|slot| slot.id != 0) {
            let mut at = self.home(slot.hash);
            while self.slots[at].id != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = slot;
        }
    }

    #[inline]
    fn hash(&self, value: &[u8]) -> u32 {
        self.state.hash_one(value) as u32
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn is_at(&self, slot: Slot, value: &[u8]) -> bool {
        let start = slot.start as usize;
        slot.id != 0 && self.bytes[start..start + slot.length as usize] == *value
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{BATCH, SeenValues};

    #[test]
    fn agrees_with_a_map() {
        let texts: Vec<Vec<u8>> = (0..50_000u64)
            .map(|n| format!("{:x}", n.wrapping_mul(n) % 9_973).repeat((n % 40) as usize))
            .map(String::into_bytes)
            .collect();
        let mut seen = SeenValues::new();
        let mut ids = Vec::new();
        let values: Vec<Option<&[u8]>> =
            texts.iter().enumerate().map(|(n, text)| (n % 7 != 0).then_some(&text[..])).collect();
        for batch in values.chunks(BATCH) {
            seen.intern_batch(batch, &mut ids);
        }
        let mut map: HashMap<&[u8], u32> = HashMap::new();
        for (value, id) in values.iter().zip(&ids) {
            let Some(value) = value else {
                assert_eq!(*id, 0);
                continue;
            };
            let next = map.len() as u32 + 1;
            assert_eq!(id, map.entry(value).or_insert(next));
            assert_eq!(seen.value(*id as usize), *value);
        }
        assert_eq!(seen.ids(), map.len() + 1);
    }
}
