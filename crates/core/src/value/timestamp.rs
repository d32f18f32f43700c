//! Instants.
//!
//! Two things are kept of a logged time: the instant, by which records are ordered and counted, and
//! the zone offset in which the server wrote it, which is needed to show the time as it was logged
//! and to group by hours and days of the server's clock.

use super::calendar::{DAY_S, Date};
use super::number::SECOND_NS;

/// An instant, with the offset from UTC of the local time that it was written in.
///
/// The offset is kept so that a time can be shown as it was logged. It is not part of the instant:
/// to compare instants, compare `unix_ns`. Two timestamps are equal only if both members are.
///
/// The range is that of nanoseconds in an `i64`, the years 1678 to 2261. A time outside it is not
/// read. Unix time has no leap seconds: 23:59:60 is the first second of the next day.
///
/// ```
/// use weir_core::{Timestamp, format_rfc3339, parse_rfc3339};
///
/// let time = parse_rfc3339(b"2025-12-17T09:03:01+01:00");
/// let expected = Timestamp { unix_ns: 1_765_958_581_000_000_000, offset_s: 3_600 };
/// assert_eq!(time, Some(expected));
/// assert_eq!(format_rfc3339(expected), "2025-12-17T09:03:01+01:00");
/// ```
///
/// The derived order is by instant, then by offset.
///
/// Code that makes a timestamp should keep to the range, and avoid the two extremes: the packed
/// columns rely on any two instants being less than 2^64 - 1 ns apart. Timestamps of a log always
/// do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Nanoseconds since 1970-01-01T00:00:00Z without leap seconds.
    ///
    /// Negative before 1970.
    pub unix_ns: i64,
    /// Seconds that local time is ahead of UTC.
    ///
    /// Positive east of Greenwich: 3,600 for `+0100`. Less than a day in either direction.
    pub offset_s: i32,
}

impl Timestamp {
    /// The instant of a local date and time of day. Returns `None` outside the years that
    /// nanoseconds in an `i64` can hold (1678 to 2261).
    pub(crate) fn from_local(
        date: Date,
        second_of_day: i64,
        nanos: u32,
        offset_s: i32,
    ) -> Option<Self> {
        let unix_s = date.days() * DAY_S + second_of_day - i64::from(offset_s);
        Self::from_unix(unix_s, nanos, offset_s)
    }

    /// The instant `nanos` nanoseconds after `unix_s`, in seconds since 1970.
    pub(crate) fn from_unix(unix_s: i64, nanos: u32, offset_s: i32) -> Option<Self> {
        let unix_ns = unix_s.checked_mul(SECOND_NS as i64)?.checked_add(i64::from(nanos))?;
        // The extremes stay free, so that any two instants lie less than 2^64 - 1 apart.
        (unix_ns.unsigned_abs() < i64::MAX as u64).then_some(Self { unix_ns, offset_s })
    }
}
