//! The monotonic clock of task observation.

use std::sync::OnceLock;
use std::time::Instant;

/// Returns the nanoseconds since the first call, plus 1: 0 is reserved for "no time".
pub(super) fn now_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}
