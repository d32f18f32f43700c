//! The possible times of requests in a log with whole seconds.

use crate::arrivals::{Arrivals, NS_IN_MS, SECOND_SPREAD_NS};
use crate::engine::Span;

/// The largest difference between the duration of a request and its request time in whole seconds,
/// in milliseconds: 999 that were cut, and a last millisecond that the request did not fill.
const DURATION_SPREAD_MS: i64 = 1_000;

/// The bounds of the difference between real times and those of the log, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubt {
    /// The most by which a request may have arrived earlier.
    earlier_ms: i64,
    /// The most by which it may have arrived later.
    later_ms: i64,
    /// The most by which it may have ended later.
    end_later_ms: i64,
}

impl Doubt {
    /// The doubt about the times of some requests; `None` if they are known to the millisecond. If
    /// one source has whole seconds, the doubt applies to all sources.
    pub(super) fn of(arrivals: &Arrivals) -> Option<Self> {
        let stamp_ms = if arrivals.have_fractions() { 0 } else { SECOND_SPREAD_NS / NS_IN_MS };
        // A request time in whole seconds is rounded down. If the stamp is that of the end, the
        // arrival may be earlier; if it is that of the arrival, the end may be later.
        let is_known = arrivals.durations_have_fractions();
        let duration_ms = if is_known { 0 } else { DURATION_SPREAD_MS };
        (stamp_ms + duration_ms > 0).then_some(Self {
            earlier_ms: duration_ms,
            later_ms: stamp_ms,
            end_later_ms: stamp_ms + duration_ms,
        })
    }

    /// The possible times of the request at a position, in milliseconds.
    pub(super) fn span(self, arrivals: &Arrivals, position: u32) -> Span {
        let begin_ms = arrivals.list[position as usize].time_ms();
        let (latest, end) = (begin_ms.saturating_add(self.later_ms), end_ms(arrivals, position));
        Span {
            earliest: begin_ms.saturating_sub(self.earlier_ms),
            latest,
            // Requests in the same millisecond may have begun and ended in any order.
            begun: latest.saturating_add(1),
            end,
            over: end.saturating_add(self.end_later_ms).saturating_add(1),
        }
    }
}

/// The end of the request at a position according to the log, in milliseconds since 1970.
pub(super) fn end_ms(arrivals: &Arrivals, position: u32) -> i64 {
    arrivals.end_ns(position).div_euclid(NS_IN_MS)
}
