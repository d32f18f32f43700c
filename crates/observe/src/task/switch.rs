//! The switches of task observation: whether tasks are observed, and whether they are being
//! watched.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::clock::now_ns;

static IS_ENABLED: AtomicBool = AtomicBool::new(false);

/// The time of the last snapshot, in nanoseconds of the clock; 0 before the first.
static LAST_SNAPSHOT_NS: AtomicU64 = AtomicU64::new(0);

/// Whether a snapshot was taken recently. It caches the comparison of times, so that polls need not
/// read a clock.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// How long tasks count as watched after a snapshot.
const WATCHED_FOR_NS: u64 = 5_000_000_000;

/// Enables the observation of tasks that begin from now on. A program with an admin address calls
/// it.
pub fn enable() {
    IS_ENABLED.store(true, Ordering::Relaxed);
}

/// Returns whether [`enable`] was called.
pub(super) fn is_enabled() -> bool {
    IS_ENABLED.load(Ordering::Relaxed)
}

/// Returns whether a snapshot was taken in the last seconds.
pub(super) fn is_watched() -> bool {
    IS_WATCHED.load(Ordering::Relaxed)
}

/// Records the time of a snapshot. Returns the time of the previous one, in nanoseconds; 0 if there
/// was none.
pub(super) fn record_snapshot(now_ns: u64) -> u64 {
    IS_WATCHED.store(true, Ordering::Relaxed);
    LAST_SNAPSHOT_NS.swap(now_ns, Ordering::Relaxed)
}

/// Ends the watch if the last snapshot is too old. Timed polls call this, because they know the
/// time.
pub(super) fn end_watch_if_expired(now_ns: u64) {
    if is_watched()
        && now_ns.saturating_sub(LAST_SNAPSHOT_NS.load(Ordering::Relaxed)) > WATCHED_FOR_NS
    {
        IS_WATCHED.store(false, Ordering::Relaxed);
    }
}

/// Returns the age of a snapshot; `None` if it is too old to compare with, or if `snapshot_ns` is
/// 0.
pub(super) fn age_to_compare_ns(snapshot_ns: u64) -> Option<u64> {
    let age = now_ns().saturating_sub(snapshot_ns);
    (snapshot_ns > 0 && age > 0 && age <= WATCHED_FOR_NS).then_some(age)
}
