//! The order in which the keys of a zone were last used.

use super::bucket::{Bucket, Rate};
use crate::gate::UseOrder;

/// How long a node must be idle before nginx frees it, in milliseconds.
pub(super) const IDLE_MS: i64 = 60_000;

/// The most nodes that are freed when one is added.
const FREED_MAX: usize = 2;

/// The nodes of a zone, from the least to the most recently used, as in
/// `ngx_http_limit_req_expire`.
///
/// nginx forgets a key that is idle for a minute and has drained when a new key arrives. A
/// forgotten key starts with an excess of 0, and a drained one with up to one request. So the queue
/// only matters if a minute may not drain a whole burst and a request.
#[derive(Debug)]
pub(super) struct IdleQueue {
    order: UseOrder,
}

impl IdleQueue {
    /// Whether forgetting keys of a zone has an effect, if excess is at most `burst`.
    pub(super) fn is_needed(rate: Rate, burst: i64) -> bool {
        super::bucket::drained(IDLE_MS, rate) < burst.saturating_add(super::bucket::REQUEST)
    }

    pub(super) fn new() -> Self {
        Self { order: UseOrder::new() }
    }

    /// Whether the zone has a node of this key, with or without a count.
    pub(super) fn contains(&self, key: u32) -> bool {
        self.order.contains(key)
    }

    /// Moves a key to the end, as the most recently used one.
    pub(super) fn touch(&mut self, key: u32) {
        self.order.touch(key);
    }

    /// Frees up to two of the oldest keys, if they are idle and drained, and passes them to the
    /// caller. If there must be room, first frees the oldest key in any case.
    pub(super) fn expire(
        &mut self,
        now_ms: i64,
        rate: Rate,
        must_free: bool,
        buckets: &mut [Option<Bucket>],
        mut freed: impl FnMut(u32),
    ) {
        let forced = usize::from(must_free);
        for turn in 0..forced + FREED_MAX {
            let Some(oldest) = self.order.oldest() else { return };
            let Some(bucket) = buckets.get_mut(oldest as usize) else { return };
            // A node has no count if another limit rejected its request.
            let is_idle = bucket.is_none_or(|bucket| bucket.is_idle(now_ms, IDLE_MS, rate));
            if turn >= forced && !is_idle {
                return;
            }
            *bucket = None;
            self.order.remove(oldest);
            freed(oldest);
        }
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.order.memory_bytes()
    }
}
