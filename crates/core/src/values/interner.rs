//! A string interner that belongs to one reader.
//!
//! Interning is where half of the time of parsing goes, because each value of each line is a random
//! access to memory that is larger than the caches. The interner is a hash table that is built
//! around those accesses:
//!
//! ```text
//! value --hash--> bucket: | 8 hashes, 32 bits each | 8 offsets of entries |   one cache line
//!                                                         |
//! entries:   ... | id | length | the bytes | id | length | the bytes | ...    one place per lookup
//! ```
//!
//! 1. A bucket is one cache line, and its eight hashes are compared at once. Hashes of 32 bits
//!    rarely agree by accident, so the entry is nearly always the right one.
//! 2. The id and the length stand before the bytes, so finding the id and comparing the value touch
//!    the same lines.
//! 3. Lookups are done in batches of 64, so that many accesses are in flight at once.
//! 4. Values of up to eight bytes, of which a column often has few, are first looked up in a small
//!    cache by their bytes as a number.
//!
//! Memory for a value is its bytes, 12 bytes for its entry and its offset, and at least 8 for its
//! slot, up to twice as many after the table has grown.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use super::prefetch::{CACHE_LINE_BYTES, prefetch};
use super::short_values::word;
use crate::column::ABSENT;
use crate::line::is_equal;

/// The values of one field that a reader has met. Each has a dense id that belongs to the reader,
/// from 1 on.
///
/// It is a hash map from values to ids:
///
/// ```text
/// for value in batch:
///     ids.push(map.entry(value).or_insert(map.len() + 1))
/// ```
///
/// The table and the values are larger than the fast caches, and each lookup accesses a random
/// location. So [`Self::intern_batch`] looks up a batch of values in several passes. Each pass
/// prefetches the memory for the next: hashing prefetches the buckets, the buckets lead to the
/// entries, and the comparisons find both in the cache.
///
/// The hash is seeded at random, so that a hostile log cannot cause collisions.
///
/// Offsets have 32 bits: the reader forgets its values long before they take 4 GiB.
#[derive(Debug, Clone)]
pub(crate) struct LocalInterner {
    state: RandomState,
    /// The length is a power of two, and at most three quarters of the slots are full. A value is
    /// in the bucket that its hash selects, or if that is full, in the next bucket with an empty
    /// slot.
    buckets: Vec<Bucket>,
    /// For each value: its id and its length, four bytes each, then its bytes. They are adjacent so
    /// that a lookup touches one place.
    entries: Vec<u8>,
    /// The offset of each value's entry, by id. Id 0 is the absent value.
    starts: Vec<u32>,
    /// A direct-mapped cache of recent short values.
    short: [Short; 64],
}

/// A value of up to eight bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Short {
    word: u64,
    length: u32,
    /// [`ABSENT`] if the slot is empty.
    id: u32,
}

/// A cache line of the table. Eight hashes are compared at once, so that a lookup rarely has an
/// unpredictable branch.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket {
    /// The hashes, 0 in empty slots. The empty slots are the last.
    hashes: [u32; SLOTS],
    /// The offsets of the values' entries.
    starts: [u32; SLOTS],
}

/// The slots of a bucket: hash and offset of eight values fill a cache line.
const SLOTS: usize = 8;

impl Bucket {
    /// Returns a mask with a bit for each slot that has the hash.
    #[inline]
    fn matches(&self, hash: u32) -> u32 {
        let bit = |slot: usize| u32::from(self.hashes[slot] == hash) << slot;
        (0..SLOTS).fold(0, |bits, slot| bits | bit(slot))
    }

    /// Returns the first empty slot.
    fn empty(&self) -> Option<usize> {
        self.hashes.iter().position(|hash| *hash == 0)
    }
}

/// The hash and the length of a value to look up.
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    hash: u32,
    length: u32,
}

/// The number of lookups in one batch. It exceeds the number of memory accesses that a core can
/// have in flight, and the batch's intermediate results still fit into the first-level cache.
pub(crate) const BATCH: usize = 64;

/// Up to this number of distinct values, each value is looked up on its own.
const FEW: usize = 64;

/// The size of an empty table: one for each column of each reader.
const BUCKETS_MIN: usize = 8;
/// The length of the id and length before a value's bytes.
const HEAD: usize = 8;

impl LocalInterner {
    /// An interner without values. Entry 0 is the absent value, with no bytes.
    pub(crate) fn new() -> Self {
        Self {
            state: RandomState::default(),
            buckets: vec![Bucket::default(); BUCKETS_MIN],
            entries: vec![0; HEAD],
            starts: vec![0],
            short: [Short::default(); 64],
        }
    }

    /// Returns the number of ids assigned so far, including the absent value's.
    pub(crate) fn ids(&self) -> usize {
        self.starts.len()
    }

    /// Returns the value of an id.
    ///
    /// # Panics
    /// If no such id was assigned.
    pub(crate) fn value(&self, id: usize) -> &[u8] {
        self.entry(self.starts[id]).1
    }

    /// Returns the memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
            + self.entries.capacity()
            + self.starts.capacity() * 4
    }

    /// Appends the ids of up to [`BATCH`] values to `ids`.
    ///
    /// `None` is an absent value, whose id is [`ABSENT`]. More than [`BATCH`] values are not all
    /// looked up, so callers divide them.
    pub(crate) fn intern_batch<'a>(
        &mut self,
        values: impl Iterator<Item = Option<&'a [u8]>> + Clone,
        ids: &mut Vec<u32>,
    ) {
        if self.ids() <= FEW {
            return self.intern_few(values, ids);
        }
        let mut keys = [Key::default(); BATCH];
        let mut starts = [0; BATCH];
        let mut count = 0;
        for (value, key) in values.clone().zip(&mut keys) {
            if let Some(value) = value {
                *key = Key { hash: self.hash(value), length: value.len() as u32 };
                prefetch(&self.buckets, self.home(key.hash));
            }
            count += 1;
        }
        for (key, start) in keys.iter().zip(&mut starts[..count]) {
            // If no slot has the hash, the value is new or is in another bucket.
            let bucket = &self.buckets[self.home(key.hash)];
            *start = bucket.starts[bucket.matches(key.hash).trailing_zeros() as usize % SLOTS];
            self.fetch(*start, key.length);
        }
        for ((value, key), start) in values.zip(keys).zip(starts) {
            let id = match value {
                None => ABSENT,
                Some(value) => match self.id_at(start, value) {
                    Some(id) => id,
                    None => self.intern(value, key.hash),
                },
            };
            ids.push(id);
        }
    }

    /// Does what [`Self::intern_batch`] does, for columns with few distinct values, such as
    /// methods. These values are in the cache and mostly short.
    fn intern_few<'a>(
        &mut self,
        values: impl Iterator<Item = Option<&'a [u8]>>,
        ids: &mut Vec<u32>,
    ) {
        for value in values {
            let id = match value {
                None => ABSENT,
                Some(value) => match word(value) {
                    Some(word) => self.intern_word(value, word),
                    None => self.intern_one(value),
                },
            };
            ids.push(id);
        }
    }

    /// Returns the id of a value of up to eight bytes, from the cache of short values if possible.
    #[inline]
    fn intern_word(&mut self, value: &[u8], word: u64) -> u32 {
        // Fibonacci hashing (Knuth, volume 3, 6.4). Two values with the same slot only cost a
        // lookup in the table.
        let at = (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
        let short = self.short[at];
        if short.word == word && short.length == value.len() as u32 && short.id != ABSENT {
            return short.id;
        }
        let id = self.intern_one(value);
        self.short[at] = Short { word, length: value.len() as u32, id };
        id
    }

    /// Returns the id of one value.
    pub(crate) fn intern_one(&mut self, value: &[u8]) -> u32 {
        self.intern(value, self.hash(value))
    }

    /// Prefetches the entry at this offset, for a value of this length. The number of cache lines
    /// is fixed, to avoid a branch on the length; they cover most user agents.
    #[inline]
    fn fetch(&self, start: u32, length: u32) {
        let last = HEAD + length as usize - 1;
        for distance in [0, CACHE_LINE_BYTES, 2 * CACHE_LINE_BYTES, last] {
            prefetch(&self.entries, start as usize + distance.min(last));
        }
    }

    /// Returns the id of a value, and assigns a new id to an unknown value.
    fn intern(&mut self, value: &[u8], hash: u32) -> u32 {
        let mut at = self.home(hash);
        loop {
            let bucket = &self.buckets[at];
            let mut matches = bucket.matches(hash);
            while matches != 0 {
                let start = bucket.starts[matches.trailing_zeros() as usize];
                if let Some(id) = self.id_at(start, value) {
                    return id;
                }
                matches &= matches - 1;
            }
            if let Some(slot) = bucket.empty() {
                return self.insert(at, slot, value, hash);
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
    }

    /// Puts a new value into an empty slot and returns its id. The table doubles when it is three
    /// quarters full.
    #[cold]
    fn insert(&mut self, at: usize, slot: usize, value: &[u8], hash: u32) -> u32 {
        let id = self.starts.len() as u32;
        let start = self.entries.len() as u32;
        self.entries.extend_from_slice(&id.to_le_bytes());
        self.entries.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.entries.extend_from_slice(value);
        self.starts.push(start);
        self.buckets[at].hashes[slot] = hash;
        self.buckets[at].starts[slot] = start;
        if self.starts.len() * 4 > self.buckets.len() * SLOTS * 3 {
            self.grow();
        }
        id
    }

    /// Doubles the number of buckets. Entries and ids stay as they are.
    #[cold]
    fn grow(&mut self) {
        let empty = vec![Bucket::default(); self.buckets.len() * 2];
        for old in std::mem::replace(&mut self.buckets, empty) {
            for (hash, start) in old.hashes.into_iter().zip(old.starts) {
                if hash != 0 {
                    self.put(hash, start);
                }
            }
        }
    }

    /// Puts an entry into an empty slot.
    fn put(&mut self, hash: u32, start: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(slot) = bucket.empty() {
                bucket.hashes[slot] = hash;
                bucket.starts[slot] = start;
                return;
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
    }

    /// Returns the hash of a value, which is never 0.
    #[inline]
    fn hash(&self, value: &[u8]) -> u32 {
        let mut hasher = self.state.build_hasher();
        // `write` omits the length that hashing a slice would add. There is only one slice, and
        // foldhash includes its length.
        hasher.write(value);
        (hasher.finish() as u32).max(1)
    }

    /// The bucket that a hash selects.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Returns the id of the entry if it has this value.
    #[inline]
    fn id_at(&self, start: u32, value: &[u8]) -> Option<u32> {
        let (id, bytes) = self.entry(start);
        (id != ABSENT && is_equal(bytes, value)).then_some(id)
    }

    /// Returns the id and the bytes of the entry at this offset.
    #[inline]
    fn entry(&self, start: u32) -> (u32, &[u8]) {
        let rest = &self.entries[start as usize..];
        let [i0, i1, i2, i3, l0, l1, l2, l3, ref bytes @ ..] = *rest else { return (ABSENT, &[]) };
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        (u32::from_le_bytes([i0, i1, i2, i3]), &bytes[..length as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{BATCH, LocalInterner};

    #[test]
    fn agrees_with_a_map() {
        let text = |n: u64| format!("{:x}", n.wrapping_mul(n) % 9_973).repeat((n % 40) as usize);
        compare_with_a_map((0..50_000).map(|n| text(n).into_bytes()).collect());
        // Few distinct values, of every length close to those that are compared as words.
        let text = |n: u64| (0..n * 7 % 11).map(|at| (n % 3 + at) as u8 & 1).collect();
        compare_with_a_map((0..5_000).map(text).collect());
    }

    fn compare_with_a_map(texts: Vec<Vec<u8>>) {
        let mut seen = LocalInterner::new();
        let mut ids = Vec::new();
        let values: Vec<Option<&[u8]>> =
            texts.iter().enumerate().map(|(n, text)| (n % 7 != 0).then_some(&text[..])).collect();
        for batch in values.chunks(BATCH) {
            seen.intern_batch(batch.iter().copied(), &mut ids);
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
