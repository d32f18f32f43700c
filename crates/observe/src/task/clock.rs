//! The clock of what is observed.

use std::sync::OnceLock;
use std::time::Instant;

/// The time since the first call, in nanoseconds. It is never 0, which stands for no time.
pub(super) fn now_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}
