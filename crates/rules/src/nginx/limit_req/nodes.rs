//! The nodes of a zone: one for each key that nginx remembers.

use super::bucket::{Bucket, IDLE_MS, REQUEST, Rate, drained};
use crate::keys::UseOrder;

/// The most nodes that are freed when one is added.
const FREED_MAX: usize = 2;

/// The nodes of a zone, by the number of their key.
#[derive(Debug)]
pub(super) struct ZoneNodes {
    rate: Rate,
    /// A node has no bucket if another limit rejected its request.
    buckets: Vec<Option<Bucket>>,
    /// The order in which nodes were last used; `None` if forgetting has no effect.
    order: Option<UseOrder>,
}

impl ZoneNodes {
    /// Makes the nodes of a zone whose limits have a burst of at most `burst`.
    pub(super) fn new(rate: Rate, burst: i64) -> Self {
        let order = Self::may_forget(rate, burst).then(UseOrder::new);
        Self { rate, buckets: Vec::new(), order }
    }

    /// Makes the nodes of a zone that forgets every drained and idle key, whether or not that has
    /// an effect.
    pub(super) fn that_forget(rate: Rate) -> Self {
        Self { rate, buckets: Vec::new(), order: Some(UseOrder::new()) }
    }

    /// Whether forgetting keys of a zone has an effect, if the excess is at most `burst`.
    ///
    /// nginx forgets a key that is idle for a minute and has drained when a new key arrives. A
    /// forgotten key starts with an excess of 0, and a drained one with up to one request. So this
    /// only matters if a minute may not drain a whole burst and a request.
    pub(super) fn may_forget(rate: Rate, burst: i64) -> bool {
        drained(IDLE_MS, rate) < burst.saturating_add(REQUEST)
    }

    /// The rate of the zone.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Whether a request of this key adds a node, before which others may be freed.
    pub(super) fn is_new(&self, key: u32) -> bool {
        self.order.as_ref().is_some_and(|order| !order.contains(key))
    }

    /// The excess that a request would make; `None` for the first request of a key. Adds a node if
    /// the key has none.
    pub(super) fn excess(&mut self, key: u32, now_ms: i64) -> Option<i64> {
        if let Some(order) = &mut self.order {
            order.touch(key);
        }
        let index = key as usize;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, None);
        }
        self.buckets[index].map(|bucket| bucket.excess_at(now_ms, self.rate))
    }

    /// Counts a request of a key with a node, as `ngx_http_limit_req_account` does.
    pub(super) fn count(&mut self, key: u32, now_ms: i64) {
        match &mut self.buckets[key as usize] {
            Some(bucket) => bucket.count(now_ms, bucket.excess_at(now_ms, self.rate)),
            empty => *empty = Some(Bucket::first(now_ms)),
        }
    }

    /// Frees up to two of the oldest nodes, if they are idle and drained, as
    /// `ngx_http_limit_req_expire` does before a node is added. If there must be room, first frees
    /// the oldest node in any case. Passes the keys to the caller.
    pub(super) fn free(&mut self, now_ms: i64, must_free: bool, mut freed: impl FnMut(u32)) {
        let Some(order) = &mut self.order else { return };
        let forced = usize::from(must_free);
        for turn in 0..forced + FREED_MAX {
            let Some(oldest) = order.oldest() else { return };
            let Some(bucket) = self.buckets.get_mut(oldest as usize) else { return };
            let is_idle = bucket.is_none_or(|bucket| bucket.is_idle(now_ms, IDLE_MS, self.rate));
            if turn >= forced && !is_idle {
                return;
            }
            *bucket = None;
            order.remove(oldest);
            freed(oldest);
        }
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Option<Bucket>>()
            + self.order.as_ref().map_or(0, UseOrder::memory_bytes)
    }
}
