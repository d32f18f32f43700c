//! The order in which the keys of a zone were last used.

use super::bucket::{Bucket, Rate};

/// How long a node must be idle before nginx frees it, in milliseconds.
pub(super) const IDLE_MS: i64 = 60_000;

/// The most nodes that are freed when one is made.
const FREED_MAX: usize = 2;

const NONE: u32 = u32::MAX;

/// The nodes of a zone from the least recently used one on, as in `ngx_http_limit_req_expire`.
///
/// nginx forgets a key that is idle for a minute and has drained when a new one comes. A forgotten
/// key begins with an excess of 0, and one that has just drained with up to one request. So it only
/// matters if a minute may not drain a whole burst and a request.
#[derive(Debug)]
pub(super) struct IdleQueue {
    /// By key: the key used before it and after it; its own number if it is not in the queue.
    links: Vec<(u32, u32)>,
    oldest: u32,
    newest: u32,
}

impl IdleQueue {
    /// Whether keys of a zone can be forgotten to an effect, if excess is at most `burst`.
    pub(super) fn is_needed(rate: Rate, burst: i64) -> bool {
        super::bucket::drained(IDLE_MS, rate) < burst.saturating_add(super::bucket::REQUEST)
    }

    pub(super) fn new() -> Self {
        Self { links: Vec::new(), oldest: NONE, newest: NONE }
    }

    /// Whether the zone has a node of this key, with a count or without.
    pub(super) fn contains(&self, key: u32) -> bool {
        self.links.get(key as usize).is_some_and(|(before, _)| *before != key)
    }

    /// Moves a key to the end, where the most recently used one is.
    pub(super) fn touch(&mut self, key: u32) {
        self.remove(key);
        let index = key as usize;
        while self.links.len() <= index {
            let own = self.links.len() as u32;
            self.links.push((own, own));
        }
        self.links[index] = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = key,
            newest => self.links[newest as usize].1 = key,
        }
        self.newest = key;
    }

    /// Frees up to two of the oldest keys, if they have been idle and have drained, and passes them
    /// on.
    pub(super) fn expire(
        &mut self,
        now_ms: i64,
        rate: Rate,
        buckets: &mut [Option<Bucket>],
        mut freed: impl FnMut(u32),
    ) {
        for _ in 0..FREED_MAX {
            let oldest = self.oldest;
            let Some(bucket) = buckets.get_mut(oldest as usize) else { return };
            // A node without a count is that of a request which another limit has rejected.
            if !bucket.is_none_or(|bucket| bucket.is_idle(now_ms, IDLE_MS, rate)) {
                return;
            }
            *bucket = None;
            self.remove(oldest);
            freed(oldest);
        }
    }

    fn remove(&mut self, key: u32) {
        let Some(&(before, after)) = self.links.get(key as usize) else { return };
        if before == key {
            return;
        }
        match before {
            NONE => self.oldest = after,
            before => self.links[before as usize].1 = after,
        }
        match after {
            NONE => self.newest = before,
            after => self.links[after as usize].0 = before,
        }
        self.links[key as usize] = (key, key);
    }
}
