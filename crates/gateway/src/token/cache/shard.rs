//! A shard of the cache, which one lock protects.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::size::bytes_of;
use super::{CacheContext, CacheCounters, TokenDigest};
use crate::token::verified::VerifiedToken;

/// A cache of two generations, which approximates LRU without a list. A token that is found in the
/// old generation moves to the young one. When the young generation has filled half of the space,
/// the old one is dropped as a whole and the young one becomes old.
#[derive(Debug)]
pub(super) struct Shard {
    young: Generation,
    old: Generation,
    entries_max: usize,
    bytes_max: usize,
    /// When the generations were last rotated, in seconds since 1970.
    rotated_at_unix_s: i64,
    /// The generation of the keys that verified the entries.
    key_generation: u64,
    hits: u64,
    misses: u64,
    evictions: u64,
}

/// Entries, with their total size in bytes.
#[derive(Debug, Default)]
pub(super) struct Generation {
    entries: HashMap<TokenDigest, Entry, BuildHasherDefault<DigestHasher>>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    token: Arc<VerifiedToken>,
    /// The end of the entry's validity, exclusive, in seconds since 1970.
    until_unix_s: i64,
    /// When the token was verified. If the clock is set back before this time, `nbf` must be
    /// checked again.
    since_unix_s: i64,
    bytes: usize,
}

/// After this many seconds an insertion rotates the generations in any case, so that expired tokens
/// do not stay.
const ROTATION_S: u64 = 60;

impl Shard {
    /// Creates a shard. Each generation gets half of each limit.
    pub(super) fn new(entries_max: usize, bytes_max: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            entries_max: entries_max.div_ceil(2),
            bytes_max: bytes_max / 2,
            rotated_at_unix_s: i64::MIN,
            key_generation: 0,
            hits: 0,
            misses: 0,
            evictions: 0,
        }
    }

    pub(super) fn get(
        &mut self,
        digest: &TokenDigest,
        context: CacheContext,
    ) -> Option<Arc<VerifiedToken>> {
        let found = self.recall(digest, context);
        self.misses += u64::from(found.is_none());
        found
    }

    /// Like [`get`](Self::get), but does not count a token that is not there.
    pub(super) fn recall(
        &mut self,
        digest: &TokenDigest,
        context: CacheContext,
    ) -> Option<Arc<VerifiedToken>> {
        let found = self.find(digest, context);
        self.hits += u64::from(found.is_some());
        found
    }

    fn find(&mut self, digest: &TokenDigest, context: CacheContext) -> Option<Arc<VerifiedToken>> {
        if context.generation != self.key_generation {
            return None;
        }
        let is_old = !self.young.entries.contains_key(digest);
        let generation = if is_old { &self.old } else { &self.young };
        let entry = generation.entries.get(digest)?;
        if !(entry.since_unix_s..entry.until_unix_s).contains(&context.now_unix_s) {
            return None;
        }
        let token = Arc::clone(&entry.token);
        // If there is no space, the token stays in the old generation, so that a hit never evicts
        // other tokens.
        if is_old && self.has_room(entry.bytes) {
            let entry = self.old.remove(digest)?;
            self.young.insert(*digest, entry);
        }
        Some(token)
    }

    /// Inserts a token. Returns the entries that were evicted.
    pub(super) fn insert(
        &mut self,
        digest: TokenDigest,
        context: CacheContext,
        until_unix_s: i64,
        token: Arc<VerifiedToken>,
    ) -> [Generation; 2] {
        // Otherwise a token that was verified with keys that have since been replaced would be
        // accepted again.
        if context.generation < self.key_generation {
            return [Generation::default(), Generation::default()];
        }
        let mut removed = [Generation::default(), Generation::default()];
        if context.generation > self.key_generation {
            self.key_generation = context.generation;
            removed = [std::mem::take(&mut self.young), std::mem::take(&mut self.old)];
        }
        let bytes = bytes_of(&token);
        if bytes > self.bytes_max {
            return removed;
        }
        self.old.remove(&digest);
        self.young.remove(&digest);
        let is_late = context.now_unix_s.abs_diff(self.rotated_at_unix_s) >= ROTATION_S;
        if is_late || !self.has_room(bytes) {
            let evicted = self.rotate(context.now_unix_s);
            if !evicted.entries.is_empty() {
                removed = [evicted, Generation::default()];
            }
        }
        let since_unix_s = context.now_unix_s;
        self.young.insert(digest, Entry { token, until_unix_s, since_unix_s, bytes });
        removed
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.young.entries.len() < self.entries_max && self.young.bytes + bytes <= self.bytes_max
    }

    /// Makes the young generation old, and returns the previous old one.
    fn rotate(&mut self, now_unix_s: i64) -> Generation {
        let young = std::mem::take(&mut self.young);
        let old = std::mem::replace(&mut self.old, young);
        let usable = old.entries.values().filter(|entry| entry.until_unix_s > now_unix_s).count();
        self.evictions += usable as u64;
        self.rotated_at_unix_s = now_unix_s;
        old
    }

    pub(super) fn counters(&self) -> CacheCounters {
        CacheCounters {
            hits: self.hits,
            misses: self.misses,
            evictions: self.evictions,
            entries: (self.young.entries.len() + self.old.entries.len()) as u64,
            bytes: (self.young.bytes + self.old.bytes) as u64,
        }
    }

    /// Asserts the invariants of the fields.
    #[cfg(test)]
    pub(super) fn invariants(&self) {
        for generation in [&self.young, &self.old] {
            let bytes: usize = generation.entries.values().map(|entry| entry.bytes).sum();
            assert_eq!(generation.bytes, bytes);
            assert!(generation.entries.len() <= self.entries_max && bytes <= self.bytes_max);
        }
        assert!(self.young.entries.keys().all(|digest| !self.old.entries.contains_key(digest)));
    }
}

impl Generation {
    fn insert(&mut self, digest: TokenDigest, entry: Entry) {
        self.bytes += entry.bytes;
        self.entries.insert(digest, entry);
    }

    fn remove(&mut self, digest: &TokenDigest) -> Option<Entry> {
        let entry = self.entries.remove(digest)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

/// Uses the first eight bytes of a digest as the hash. An attacker cannot choose them: only tokens
/// that the issuer signed are inserted.
#[derive(Debug, Default)]
pub(super) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::{CacheContext, Shard, TokenDigest, VerifiedToken};
    use crate::token::claims::Claims;

    const NOW: i64 = 1_000;

    fn token() -> Arc<VerifiedToken> {
        let members = serde_json::Map::new();
        Arc::new(VerifiedToken::new(Claims { members, expires_at_unix_s: i64::MAX }))
    }

    fn digest(number: u8) -> TokenDigest {
        TokenDigest([number; 32])
    }

    fn context(generation: u64, now_unix_s: i64) -> CacheContext {
        CacheContext { generation, now_unix_s }
    }

    #[test]
    fn a_token_counts_until_its_end_and_for_its_keys() {
        let mut shard = Shard::new(10, 1 << 20);
        shard.insert(digest(1), context(3, NOW), NOW + 5, token());
        for (generation, now, expected) in [
            (3, NOW, true),
            (3, NOW + 4, true),
            (3, NOW + 5, false),
            (3, NOW - 1, false),
            (4, NOW, false),
            (2, NOW, false),
        ] {
            let found = shard.get(&digest(1), context(generation, now)).is_some();
            assert_eq!(found, expected, "{generation} {now}");
        }
        assert!(shard.get(&digest(2), context(3, NOW)).is_none());
        // Tokens of older keys are not inserted; newer keys clear the shard.
        shard.insert(digest(2), context(2, NOW), NOW + 5, token());
        assert_eq!(shard.counters().entries, 1);
        shard.insert(digest(3), context(4, NOW), NOW + 5, token());
        assert_eq!((shard.counters().entries, shard.counters().evictions), (1, 0));
    }

    #[test]
    fn tokens_that_are_used_stay() {
        let mut shard = Shard::new(8, 1 << 20);
        for number in 0..100 {
            shard.insert(digest(number), context(0, NOW), NOW + 60, token());
            assert!(shard.get(&digest(0), context(0, NOW)).is_some(), "{number}");
            shard.invariants();
        }
        let counters = shard.counters();
        assert_eq!(counters.hits, 100);
        assert_eq!(counters.evictions + counters.entries, 100);
        assert!((4..=8).contains(&counters.entries), "{}", counters.entries);
    }

    #[test]
    fn bytes_are_bounded() {
        let bytes = super::bytes_of(&token());
        let mut shard = Shard::new(1_000, bytes * 10);
        for number in 0..=255 {
            shard.insert(digest(number), context(0, NOW), NOW + 60, token());
            shard.invariants();
        }
        assert!(shard.counters().bytes <= bytes as u64 * 10);
        let mut tiny = Shard::new(1_000, bytes);
        tiny.insert(digest(1), context(0, NOW), NOW + 60, token());
        assert_eq!(tiny.counters().entries, 0);
    }

    proptest! {
        /// A shard finds only tokens that a map without limits finds, and keeps its limits.
        #[test]
        fn a_shard_never_finds_more_than_a_map(
            steps in vec((any::<bool>(), 0..20_u8, 0..3_u64, 0..90_i64), 1..200),
        ) {
            let mut shard = Shard::new(6, 1 << 20);
            let mut map = HashMap::new();
            let mut newest = 0;
            for (is_insert, number, generation, time) in steps {
                let now = NOW + time;
                if is_insert {
                    shard.insert(digest(number), context(generation, now), now + 10, token());
                    if generation > newest {
                        newest = generation;
                        map.clear();
                    }
                    if generation == newest {
                        map.insert(number, now);
                    }
                } else {
                    let found = shard.get(&digest(number), context(generation, now)).is_some();
                    let since = map.get(&number).filter(|_| generation == newest);
                    let may = since.is_some_and(|since| (*since..since + 10).contains(&now));
                    assert!(may || !found);
                }
                shard.invariants();
            }
        }
    }
}
