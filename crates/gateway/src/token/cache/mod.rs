//! A cache of verified tokens, by their digest.

mod shard;
mod size;

use std::sync::{Arc, MutexGuard};

use ring::digest::{SHA256, digest};
use weir_sync::Lock;

use self::shard::Shard;
pub(in crate::token) use self::size::bytes_of;
use super::verified::VerifiedToken;

/// The limits of the cache of verified tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The maximum number of tokens. 0 turns the cache off. Default 100,000.
    pub entries_max: usize,
    /// The maximum memory in bytes, as an estimate without the allocator's overhead. Default 64
    /// MiB.
    pub bytes_max: usize,
    /// The maximum age of an entry in seconds; a token is never cached longer than it is valid.
    /// Default and maximum 60, so that a withdrawn key is not trusted for longer.
    pub seconds_max: u32,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { entries_max: 100_000, bytes_max: 64 << 20, seconds_max: SECONDS_MAX }
    }
}

impl CacheLimits {
    /// The maximum age of an entry that is used.
    pub(super) fn seconds_max_used(self) -> u32 {
        self.seconds_max.min(SECONDS_MAX)
    }
}

const SECONDS_MAX: u32 = 60;

/// The counters of the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Lookups that found their token.
    pub hits: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// Tokens that were evicted for lack of space before they expired.
    pub evictions: u64,
    /// Tokens in the cache, some of which may have expired.
    pub entries: u64,
    /// The memory of the cached tokens in bytes.
    pub bytes: u64,
}

/// The SHA-256 of a token, which is its key in the cache. The memory of the cache therefore
/// contains no usable token.
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

/// The state of keys and clock for a lookup or an insertion.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheContext {
    /// The generation of the keys.
    pub(super) generation: u64,
    pub(super) now_unix_s: i64,
}

/// A cache of the verified tokens of one issuer. It is divided by digest into shards with separate
/// locks, so that cores seldom wait for each other.
#[derive(Debug)]
pub(super) struct TokenCache {
    shards: Vec<Lock<Shard>>,
    seconds_max: u32,
    is_on: bool,
}

/// Far more than cores, so that two cores seldom need the same shard.
const SHARDS: usize = 64;

impl TokenCache {
    pub(super) fn new(limits: CacheLimits) -> Self {
        let entries_max = limits.entries_max.div_ceil(SHARDS);
        let shard = || Lock::new(Shard::new(entries_max, limits.bytes_max / SHARDS));
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            seconds_max: limits.seconds_max_used(),
            is_on: limits.entries_max > 0 && limits.bytes_max > 0 && limits.seconds_max > 0,
        }
    }

    /// Returns a token that was verified with the keys of this generation and is still valid.
    pub(super) fn get(
        &self,
        digest: &TokenDigest,
        context: CacheContext,
    ) -> Option<Arc<VerifiedToken>> {
        self.shard(digest)?.get(digest, context)
    }

    /// Like [`get`](Self::get), but does not count a token that is not there, because other caches
    /// may have it.
    pub(super) fn recall(
        &self,
        digest: &TokenDigest,
        context: CacheContext,
    ) -> Option<Arc<VerifiedToken>> {
        self.shard(digest)?.recall(digest, context)
    }

    /// Inserts a token.
    pub(super) fn insert(
        &self,
        digest: TokenDigest,
        context: CacheContext,
        token: &Arc<VerifiedToken>,
    ) {
        let latest = context.now_unix_s.saturating_add(i64::from(self.seconds_max));
        let until_unix_s = token.expires_at_unix_s().min(latest);
        if !self.is_on || until_unix_s <= context.now_unix_s {
            return;
        }
        let Some(mut shard) = self.shard(&digest) else { return };
        let removed = shard.insert(digest, context, until_unix_s, Arc::clone(token));
        // Evicted tokens are freed after the lock is released.
        drop(shard);
        drop(removed);
    }

    pub(super) fn counters(&self) -> CacheCounters {
        let mut sum = CacheCounters::default();
        for shard in &self.shards {
            let counters = shard.lock().counters();
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
        self.shards.get(usize::from(*last) % SHARDS).map(Lock::lock)
    }
}
