//! Whether tasks are observed, and whether somebody looks at them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::clock::now_ns;

static IS_ENABLED: AtomicBool = AtomicBool::new(false);

/// The time of the last look, in nanoseconds of the clock; 0 before the first.
static LAST_LOOK_NS: AtomicU64 = AtomicU64::new(0);

/// Whether somebody looks. It is a copy of what the times say, so that a poll reads no clock for it.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Somebody who has not looked for this long does not look any more.
const WATCHED_FOR_NS: u64 = 5_000_000_000;

/// Observes the tasks that begin from now on. A program calls this if it can be looked into.
pub fn enable() {
    IS_ENABLED.store(true, Ordering::Relaxed);
}

/// Whether [`enable`] was called.
pub(super) fn is_enabled() -> bool {
    IS_ENABLED.load(Ordering::Relaxed)
}

/// Whether somebody has looked in the last seconds.
pub(super) fn is_watched() -> bool {
    IS_WATCHED.load(Ordering::Relaxed)
}

/// Notes a look. Returns the time of the one before, in nanoseconds of the clock; 0 if there was none.
pub(super) fn note_look(now_ns: u64) -> u64 {
    IS_WATCHED.store(true, Ordering::Relaxed);
    LAST_LOOK_NS.swap(now_ns, Ordering::Relaxed)
}

/// Ends the watch if nobody has looked for a while. Timed polls call this: they know the time.
pub(super) fn end_watch_if_late(now_ns: u64) {
    if is_watched() && now_ns.saturating_sub(LAST_LOOK_NS.load(Ordering::Relaxed)) > WATCHED_FOR_NS
    {
        IS_WATCHED.store(false, Ordering::Relaxed);
    }
}

/// The age of a look at this time; `None` if it is too old to compare with, or was none.
pub(super) fn age_to_compare_ns(look_ns: u64) -> Option<u64> {
    let age = now_ns().saturating_sub(look_ns);
    (look_ns > 0 && age > 0 && age <= WATCHED_FOR_NS).then_some(age)
}
