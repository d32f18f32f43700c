//! A string interner that belongs to one reader.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use super::prefetch::{CACHE_LINE_BYTES, prefetch};
use crate::column::ABSENT;

/// The values of one field that a reader has met, each with the reader's own dense id, from
/// 1 on.
///
/// The table and the values are larger than the near caches, and each look-up lands
/// somewhere else. So look-ups come in batches ([`Self::intern_batch`]) and are done in
/// passes over the batch, each of which asks for the memory that the next one needs: the
/// hashes ask for buckets of the table, the buckets for values, and the comparisons find
/// everything near.
///
/// The hash is seeded at random, so that nobody can make a log that is slow to read.
///
/// Places are 32 bits wide: the reader forgets long before there are 4 GiB of values.
#[derive(Debug, Clone)]
pub(crate) struct LocalInterner {
    state: RandomState,
    /// A power of two of them, at most three quarters full. A value is in the bucket that the
    /// hash names, or where that is full in the next one that is not.
    buckets: Vec<Bucket>,
    /// For each value its id and its length, four bytes each, then its bytes. What a look-up
    /// needs of a value stands together.
    entries: Vec<u8>,
    /// Where each value's entry starts, by id; id 0 is the absent value.
    starts: Vec<u32>,
    /// The short values that came last.
    short: [Short; 64],
}

/// A value of up to eight bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Short {
    word: u64,
    length: u32,
    /// [`ABSENT`] where there is none.
    id: u32,
}

/// A cache line of the table. Eight hashes are compared at once, so that a look-up hardly
/// ever has a branch that cannot be foreseen.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket {
    /// 0 in slots that are empty, which are the last ones.
    hashes: [u32; SLOTS],
    /// Where the values' entries start.
    starts: [u32; SLOTS],
}

const SLOTS: usize = 8;

impl Bucket {
    /// A bit for each slot that has the hash.
    #[inline]
    fn matches(&self, hash: u32) -> u32 {
        let bit = |slot: usize| u32::from(self.hashes[slot] == hash) << slot;
        (0..SLOTS).fold(0, |bits, slot| bits | bit(slot))
    }

    /// The first empty slot.
    fn empty(&self) -> Option<usize> {
        self.hashes.iter().position(|hash| *hash == 0)
    }
}

/// What is looked for.
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    hash: u32,
    length: u32,
}

/// Look-ups that are under way together: more than a core can wait for at once, few enough
/// that what the passes hand on stays in the first-level cache.
pub(crate) const BATCH: usize = 64;

/// Up to so many values are looked up one by one.
const FEW: usize = 64;

const BUCKETS_MIN: usize = 8;
/// Id and length in front of a value's bytes.
const HEAD: usize = 8;

impl LocalInterner {
    pub(crate) fn new() -> Self {
        Self {
            state: RandomState::default(),
            buckets: vec![Bucket::default(); BUCKETS_MIN],
            entries: vec![0; HEAD],
            starts: vec![0],
            short: [Short::default(); 64],
        }
    }

    /// The ids given out so far, the absent value's included.
    pub(crate) fn ids(&self) -> usize {
        self.starts.len()
    }

    /// The value of an id.
    pub(crate) fn value(&self, id: usize) -> &[u8] {
        self.entry(self.starts[id]).1
    }

    /// Memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
            + self.entries.capacity()
            + self.starts.capacity() * 4
    }

    /// Appends the ids of up to [`BATCH`] values to `ids`.
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
            // Where no slot has the hash this is another value's, or none's.
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

    /// As [`Self::intern_batch`], while there are few values, such as methods: they are all
    /// near, and mostly short.
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

    /// The id of a value of up to eight bytes, which the short values have at hand or get.
    #[inline]
    fn intern_word(&mut self, value: &[u8], word: u64) -> u32 {
        // Fibonacci hashing (Knuth, volume 3, 6.4). Values that meet at one place cost a
        // look-up in the table, no more.
        let at = (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
        let short = self.short[at];
        if short.word == word && short.length == value.len() as u32 && short.id != ABSENT {
            return short.id;
        }
        let id = self.intern_one(value);
        self.short[at] = Short { word, length: value.len() as u32, id };
        id
    }

    /// The id of one value.
    pub(crate) fn intern_one(&mut self, value: &[u8]) -> u32 {
        self.intern(value, self.hash(value))
    }

    /// Asks for the entry that starts there, as far as a value of that length goes: all of it
    /// where it is no longer than most user agents, without a branch on how long it is.
    #[inline]
    fn fetch(&self, start: u32, length: u32) {
        let last = HEAD + length as usize - 1;
        for distance in [0, CACHE_LINE_BYTES, 2 * CACHE_LINE_BYTES, last] {
            prefetch(&self.entries, start as usize + distance.min(last));
        }
    }

    /// The id of a value, a new one if it was not seen before.
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

    /// Puts an entry into a slot that is empty.
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

    /// Never 0.
    #[inline]
    fn hash(&self, value: &[u8]) -> u32 {
        let mut hasher = self.state.build_hasher();
        // Without the length, which the hash of a slice writes as well: there is only one
        // slice, and foldhash takes its length into account.
        hasher.write(value);
        (hasher.finish() as u32).max(1)
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// The id of the value, where the entry is its.
    #[inline]
    fn id_at(&self, start: u32, value: &[u8]) -> Option<u32> {
        let (id, bytes) = self.entry(start);
        (id != ABSENT && is_equal(bytes, value)).then_some(id)
    }

    /// Id and bytes of the value whose entry starts there.
    #[inline]
    fn entry(&self, start: u32) -> (u32, &[u8]) {
        let rest = &self.entries[start as usize..];
        let [i0, i1, i2, i3, l0, l1, l2, l3, ref bytes @ ..] = *rest else { return (ABSENT, &[]) };
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        (u32::from_le_bytes([i0, i1, i2, i3]), &bytes[..length as usize])
    }
}

/// The bytes of a value of up to eight; different for different values of one length.
#[inline]
fn word(value: &[u8]) -> Option<u64> {
    if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk())
        && value.len() <= 8
    {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return Some(u64::from(first) | u64::from(last) << 32);
    }
    match *value {
        [] => Some(0),
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_le_bytes([a, b]))),
        [a, b, c] => Some(u64::from(u32::from_le_bytes([a, b, c, 0]))),
        _ => None,
    }
}

/// As `==`, without the call of a function and its branches on the length for values of up to
/// 256 bytes, which nearly all are: the first and the last so many bytes are compared, which
/// overlap.
#[inline]
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        8..=16 => a.first_chunk::<8>() == b.first_chunk() && a.last_chunk::<8>() == b.last_chunk(),
        17..=32 => is_equal_at_ends::<1>(a, b),
        33..=64 => is_equal_at_ends::<2>(a, b),
        65..=128 => is_equal_at_ends::<4>(a, b),
        129..=256 => is_equal_at_ends::<8>(a, b),
        4..8 => a.first_chunk::<4>() == b.first_chunk() && a.last_chunk::<4>() == b.last_chunk(),
        0..4 => a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
}

/// True where the first `16 * N` bytes are equal, and the last; false where there are not so
/// many. All of them are compared before the only branch.
#[inline]
fn is_equal_at_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    let ends = |value: &[u8]| {
        let (first, last) = (value.as_chunks::<16>().0, value.as_rchunks::<16>().1);
        Some((*first.first_chunk::<N>()?, *last.last_chunk::<N>()?))
    };
    let (Some((a_first, a_last)), Some((b_first, b_last))) = (ends(a), ends(b)) else {
        return false;
    };
    let differing = |a: [[u8; 16]; N], b: [[u8; 16]; N]| {
        let pairs = a.into_iter().zip(b);
        pairs.fold(0, |bits, (a, b)| bits | (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)))
    };
    differing(a_first, b_first) | differing(a_last, b_last) == 0
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{BATCH, LocalInterner, is_equal};

    #[test]
    fn equal_is_equal() {
        for length in 0..300 {
            let a: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            assert!(is_equal(&a, &a.clone()));
            for at in 0..a.len() {
                let mut b = a.clone();
                b[at] ^= 0x80;
                assert!(!is_equal(&a, &b), "{length} bytes that differ at {at}");
                assert!(!is_equal(&a, &a[..at]));
            }
        }
    }

    #[test]
    fn agrees_with_a_map() {
        let text = |n: u64| format!("{:x}", n.wrapping_mul(n) % 9_973).repeat((n % 40) as usize);
        compare_with_a_map((0..50_000).map(|n| text(n).into_bytes()).collect());
        // Few values, of every length about those that are compared as words.
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
