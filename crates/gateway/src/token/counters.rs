//! Counters of the tokens of an issuer.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cache::CacheCounters;
use super::refusal::TokenRefusal;

/// Counts of tokens since the verifier was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCounters {
    /// Accepted tokens, with or without the cache.
    pub accepted: u64,
    /// Accepted tokens whose signature was verified; the others came from the cache.
    pub verified: u64,
    /// Refused tokens by [`TokenRefusal::index`].
    pub refused: [u64; TokenRefusal::ALL.len()],
    /// The counters of the cache of verified tokens.
    pub cache: CacheCounters,
}

impl TokenCounters {
    /// The number of tokens that were refused for this reason.
    pub fn refused_for(&self, refusal: TokenRefusal) -> u64 {
        self.refused.get(refusal.index()).copied().unwrap_or_default()
    }
}

/// Counters that threads share.
#[derive(Debug)]
pub(super) struct SharedCounters {
    verified: AtomicU64,
    refused: [AtomicU64; TokenRefusal::ALL.len()],
}

impl SharedCounters {
    pub(super) fn new() -> Self {
        Self { verified: AtomicU64::new(0), refused: [const { AtomicU64::new(0) }; _] }
    }

    pub(super) fn count_verified(&self) {
        self.verified.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refused(&self, refusal: TokenRefusal) {
        if let Some(count) = self.refused.get(refusal.index()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self, cache: CacheCounters) -> TokenCounters {
        let verified = self.verified.load(Ordering::Relaxed);
        let refused = self.refused.each_ref().map(|count| count.load(Ordering::Relaxed));
        TokenCounters { accepted: verified + cache.hits, verified, refused, cache }
    }
}
