//! Verified tokens, remembered by their hash.

mod shard;
mod size;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest::{SHA256, digest};

use self::shard::Shard;
use super::verified::VerifiedToken;

/// How much is remembered of verified tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// Tokens at most. 0 turns the cache off. Default 100,000.
    pub entries_max: usize,
    /// Bytes of memory at most, as far as can be told: the allocator's own are not counted. Default 64 MiB.
    pub bytes_max: usize,
    /// Seconds for which a token is remembered at most, and never longer than it is valid. Default and
    /// highest value 60: a key that is withdrawn is not trusted for longer.
    pub seconds_max: u32,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entries_max: 100_000, bytes_max: 64 << 20, seconds_max: SECONDS_MAX }
    }
}

const SECONDS_MAX: u32 = 60;

/// What happened to the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Tokens that were found.
    pub hits: u64,
    /// Tokens that were not.
    pub misses: u64,
    /// Tokens that were forgotten while they could still have been used, for want of room.
    pub evictions: u64,
    /// Tokens that are remembered now, some of which may have expired.
    pub entries: u64,
    /// The bytes that they take.
    pub bytes: u64,
}

/// The SHA-256 of a token, by which it is remembered. Whoever reads the memory of the cache finds no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        let mut bytes = [0; 32];
        let digest = digest(&SHA256, token.as_bytes());
        bytes.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

/// For what an entry of the cache is asked, or made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// The generation of the keys.
    pub(super) generation: u64,
    pub(super) now_unix_s: i64,
}

/// Verified tokens of one issuer. It is divided into shards by the token's hash, each with a lock of its own,
/// so that cores seldom wait for one another.
#[derive(Debug)]
pub(super) struct TokenCache {
    shards: Vec<Mutex<Shard>>,
    seconds_max: u32,
    is_on: bool,
}

/// Far more than cores, so that two of them seldom want the same one.
const SHARDS: usize = 64;

impl TokenCache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        let entries_max = limits.entries_max.div_ceil(SHARDS);
        let shard = || Mutex::new(Shard::new(entries_max, limits.bytes_max / SHARDS));
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            seconds_max: limits.seconds_max.min(SECONDS_MAX),
            is_on: limits.entries_max > 0 && limits.bytes_max > 0 && limits.seconds_max > 0,
        }
    }

    /// A token that was verified with these keys, and is still valid.
    pub(super) fn get(&self, digest: &TokenDigest, moment: Moment) -> Option<Arc<VerifiedToken>> {
        self.shard(digest)?.get(digest, moment)
    }

    /// Remembers a token.
    pub(super) fn insert(&self, digest: TokenDigest, moment: Moment, token: &Arc<VerifiedToken>) {
        let latest = moment.now_unix_s.saturating_add(i64::from(self.seconds_max));
        let until_unix_s = token.expires_at_unix_s().min(latest);
        if !self.is_on || until_unix_s <= moment.now_unix_s {
            return;
        }
        let Some(mut shard) = self.shard(&digest) else { return };
        let forgotten = shard.insert(digest, moment, until_unix_s, Arc::clone(token));
        // What was forgotten is freed without the lock.
        drop(shard);
        drop(forgotten);
    }

    pub(super) fn counters(&self) -> CacheCounters {
        let mut sum = CacheCounters::default();
        for shard in &self.shards {
            let counters = lock(shard).counters();
            sum.hits += counters.hits;
            sum.misses += counters.misses;
            sum.evictions += counters.evictions;
            sum.entries += counters.entries;
            sum.bytes += counters.bytes;
        }
        sum
    }

    fn shard(&self, digest: &TokenDigest) -> Option<MutexGuard<'_, Shard>> {
        let TokenDigest([.., last]) = digest;
        self.shards.get(usize::from(*last) % SHARDS).map(lock)
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
