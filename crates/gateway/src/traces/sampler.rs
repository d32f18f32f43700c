//! Random sampling of requests.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Samples a share of the requests. It hashes request numbers with a random key of this process, so
/// that clients cannot predict the choice and no system call is needed.
#[derive(Debug)]
pub(super) struct Sampler {
    key: RandomState,
    next: AtomicU64,
    share: f64,
}

impl Sampler {
    pub(super) fn new(share: f64) -> Self {
        Self { key: RandomState::new(), next: AtomicU64::new(0), share }
    }

    /// Whether the next request is sampled.
    pub(super) fn samples_next(&self) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // The upper 53 bits become a number in [0, 1) without rounding.
        let point = (self.key.hash_one(number) >> 11) as f64 / (1_u64 << 53) as f64;
        point < self.share
    }
}

#[cfg(test)]
mod tests {
    use super::Sampler;

    #[test]
    fn a_share_is_sampled() {
        let sampled = |share| {
            let sampler = Sampler::new(share);
            (0..100_000).filter(|_| sampler.samples_next()).count()
        };
        assert_eq!(sampled(0.0), 0);
        assert_eq!(sampled(1.0), 100_000);
        // Ten standard deviations, 31 each.
        assert!((690..=1_310).contains(&sampled(0.01)));
    }
}
