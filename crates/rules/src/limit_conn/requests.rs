//! The requests of a log, and how well their times are known.

use crate::stamps::Stamps;

/// A key of a limit that does not apply.
pub(super) const NO_KEY: u32 = u32::MAX;

/// How much later than a whole second a time may be, in milliseconds.
const STAMP_SPREAD_MS: i64 = 999;

/// By how much the milliseconds from the begin to the end of a request may be more than its request
/// time in whole seconds: 999 that were cut, and one that the request did not last for to its end.
const DURATION_SPREAD_MS: i64 = 1_000;

/// A request that has limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// When it arrived, by its time stamp, in milliseconds since 1970.
    pub(super) begin_ms: i64,
    /// When it ended, by its time stamp, in milliseconds since 1970.
    pub(super) end_ms: i64,
    pub(super) line: u64,
    pub(super) source: u32,
    /// The number of its limits.
    pub(super) set: u32,
    /// Where its keys begin in [`Requests::keys`], one for each limit.
    pub(super) keys_start: u32,
}

/// The requests of a log, in its order.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) list: Vec<Request>,
    /// The numbers of keys in their zones.
    pub(super) keys: Vec<u32>,
    stamps: Stamps,
    /// The request times other than zero.
    durations: Stamps,
    has_durations: bool,
}

/// How far the times of requests may be from those of the log, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubt {
    /// How much earlier a request may have arrived.
    earlier_ms: i64,
    /// How much later it may have arrived.
    later_ms: i64,
    /// How much later it may have ended.
    end_later_ms: i64,
}

/// When a request arrived and ended, each from the earliest to the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin_ms: (i64, i64),
    pub(super) end_ms: (i64, i64),
}

impl Doubt {
    /// The times that a request may have had.
    pub(super) fn span(self, request: &Request) -> Span {
        let Request { begin_ms, end_ms, .. } = *request;
        Span {
            begin_ms: (
                begin_ms.saturating_sub(self.earlier_ms),
                begin_ms.saturating_add(self.later_ms),
            ),
            end_ms: (end_ms, end_ms.saturating_add(self.end_later_ms)),
        }
    }
}

impl Requests {
    /// Counts the precision of a request's times, in nanoseconds.
    pub(super) fn count_precision(&mut self, source: u32, time_ns: i64, duration_ns: i64) {
        self.stamps.count(source, time_ns);
        if duration_ns != 0 {
            self.durations.count(source, duration_ns);
            self.has_durations = true;
        }
    }

    /// The keys of a request, of which its set has as many as limits.
    pub(super) fn keys_of(&self, request: &Request, limits: usize) -> &[u32] {
        let start = request.keys_start as usize;
        &self.keys[start..start + limits]
    }

    /// The doubt about the times; `None` if they are known to the millisecond. If one source has
    /// whole seconds, the doubt is that of all.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        let stamp_ms = if self.stamps.have_fractions() { 0 } else { STAMP_SPREAD_MS };
        // A request time in whole seconds is cut. From the end of the request, it makes the arrival
        // earlier, and from the arrival, the end later.
        // If all are zero, whole seconds cannot be excluded.
        let is_known = self.has_durations && self.durations.have_fractions();
        let duration_ms = if is_known { 0 } else { DURATION_SPREAD_MS };
        (stamp_ms + duration_ms > 0).then_some(Doubt {
            earlier_ms: duration_ms,
            later_ms: stamp_ms,
            end_later_ms: stamp_ms + duration_ms,
        })
    }

    /// The positions in the list by arrival; those at the same time in the order of the log.
    pub(super) fn by_arrival(&self) -> Vec<u32> {
        let arrival = |position: &u32| self.list[*position as usize].begin_ms;
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        if !order.is_sorted_by_key(arrival) {
            order.sort_by_key(arrival);
        }
        order
    }
}
