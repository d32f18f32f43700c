//! The requests of a log, and the precision of their times.

use crate::stamps::Stamps;

/// The key of a limit that does not apply.
pub(super) const NO_KEY: u32 = u32::MAX;

/// The largest difference between a time and its stamp in whole seconds, in milliseconds.
const STAMP_SPREAD_MS: i64 = 999;

/// The largest difference between the duration of a request and its request time in whole seconds,
/// in milliseconds: 999 that were cut, and a last millisecond that the request did not fill.
const DURATION_SPREAD_MS: i64 = 1_000;

/// A request that has limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// The arrival according to the time stamp, in milliseconds since 1970.
    pub(super) begin_ms: i64,
    /// The end according to the time stamp, in milliseconds since 1970.
    pub(super) end_ms: i64,
    pub(super) line: u64,
    pub(super) source: u32,
    /// The number of its limit set.
    pub(super) set: u32,
    /// The start of its keys in [`Requests::keys`], one for each limit.
    pub(super) keys_start: u32,
}

/// The requests of a log, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) list: Vec<Request>,
    /// The numbers of keys in their zones.
    pub(super) keys: Vec<u32>,
    stamps: Stamps,
    /// The precision of the request times other than zero.
    durations: Stamps,
    has_durations: bool,
}

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

/// The earliest and latest arrival and end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin_ms: (i64, i64),
    pub(super) end_ms: (i64, i64),
}

impl Doubt {
    /// The possible times of a request.
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

    /// The keys of a request, whose set has this number of limits.
    pub(super) fn keys_of(&self, request: &Request, limits: usize) -> &[u32] {
        let start = request.keys_start as usize;
        &self.keys[start..start + limits]
    }

    /// The doubt about the times; `None` if they are known to the millisecond. If one source has
    /// whole seconds, the doubt applies to all sources.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        let stamp_ms = if self.stamps.have_fractions() { 0 } else { STAMP_SPREAD_MS };
        // A request time in whole seconds is rounded down. If the stamp is that of the end, the
        // arrival may be earlier; if it is that of the arrival, the end may be later.
        // If all request times are zero, they may be whole seconds.
        let is_known = self.has_durations && self.durations.have_fractions();
        let duration_ms = if is_known { 0 } else { DURATION_SPREAD_MS };
        (stamp_ms + duration_ms > 0).then_some(Doubt {
            earlier_ms: duration_ms,
            later_ms: stamp_ms,
            end_later_ms: stamp_ms + duration_ms,
        })
    }

    /// The positions in the list by arrival; requests at the same time stay in the order of the
    /// log.
    pub(super) fn by_arrival(&self) -> Vec<u32> {
        let arrival = |position: &u32| self.list[*position as usize].begin_ms;
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        if !order.is_sorted_by_key(arrival) {
            order.sort_by_key(arrival);
        }
        order
    }
}
