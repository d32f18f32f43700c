//! A cache of the users' sessions, because a log-in is slow.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_observe::mark;
use weir_sync::Lock;

/// The capacity of the cache.
const SESSIONS_MAX: usize = 1_000;

/// The work of a log-in: about ten microseconds.
const LOGIN_ROUNDS: u64 = 10_000;

#[derive(Debug)]
pub(super) struct Sessions {
    remembered: Lock<HashMap<String, u64>>,
    hits: AtomicU64,
    misses: AtomicU64,
    has_time_in_key: bool,
}

impl Sessions {
    pub(super) fn new(has_time_in_key: bool) -> Self {
        let (hits, misses) = Default::default();
        Self { remembered: Lock::default(), hits, misses, has_time_in_key }
    }

    /// Returns the session of a user.
    pub(super) fn get(&self, user: &str) -> u64 {
        let _call = mark!("Sessions::get").enter();
        let key =
            if self.has_time_in_key { format!("{user} {}", now_ns()) } else { user.to_owned() };
        let mut remembered = self.remembered.lock();
        if let Some(session) = remembered.get(&key) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return *session;
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let session = log_in(user);
        if remembered.len() >= SESSIONS_MAX {
            remembered.clear();
        }
        remembered.insert(key, session);
        session
    }

    /// Returns the numbers of cache hits and misses.
    pub(super) fn lookups(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

#[inline(never)]
fn log_in(user: &str) -> u64 {
    let _call = mark!("log_in").enter();
    let seed = user.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
    (0..LOGIN_ROUNDS).fold(seed, |sum, round| black_box(sum.wrapping_mul(31).wrapping_add(round)))
}
