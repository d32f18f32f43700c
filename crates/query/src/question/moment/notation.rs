//! Parses the notations of times that people and logs use.

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// A parsed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrittenTime {
    /// With an offset.
    Instant(Timestamp),
    /// Without an offset.
    Local(DateTime),
    /// A date.
    Day(DateTime),
}

/// Notations with an offset: Apache's and nginx's, with `/` (`%t`, `$time_local`), Ruby's and Go's.
const WITH_OFFSET: [&str; 3] =
    ["%d/%b/%Y:%H:%M:%S%.f %z", "%d/%b/%Y %H:%M:%S%.f %z", "%Y-%m-%d %H:%M:%S%.f %z"];

/// Notations without an offset: the first of the above without its offset, nginx's error log, and
/// Apache's error log (`ctime`, with and without a fraction).
const WITHOUT_OFFSET: [&str; 7] = [
    "%d/%b/%Y:%H:%M:%S%.f",
    "%d/%b/%Y:%H:%M",
    "%d/%b/%Y %H:%M:%S%.f",
    "%d/%b/%Y %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
    "%a %b %d %H:%M:%S%.f %Y",
];

/// Dates in the same notations.
const DATES: [&str; 2] = ["%d/%b/%Y", "%Y/%m/%d"];

/// The notation of syslog (RFC 3164), with the year before it.
const SYSLOG: &str = "%Y %b %d %H:%M:%S";

/// The minimum number of digits of seconds since 1970 without `@`: times since 1973. Fewer digits
/// may be a date.
const UNIX_DIGITS_MIN: usize = 9;

/// The maximum number of years before the current one for a syslog time: 29 February needs up to
/// eight.
const SYSLOG_YEARS: i16 = 8;

/// Parses a time in one of the notations, with or without square brackets. Returns `None` for other
/// texts. A syslog time has no year; it is the last such time before `now`.
pub(super) fn parse(text: &str, now: &Zoned) -> Option<WrittenTime> {
    let text = text.strip_prefix('[').map_or(text, |text| text.strip_suffix(']').unwrap_or(text));
    if let Some(timestamp) = unix(text).or_else(|| with_offset(text)) {
        return Some(WrittenTime::Instant(timestamp));
    }
    if let Some(day) = DATES.iter().find_map(|notation| parts(notation, text)?.to_date().ok()) {
        return Some(WrittenTime::Day(day.to_datetime(jiff::civil::Time::midnight())));
    }
    let local = |notation: &&str| parts(notation, text)?.to_datetime().ok();
    let datetime = WITHOUT_OFFSET.iter().find_map(local).or_else(|| syslog(text, now))?;
    Some(WrittenTime::Local(datetime))
}

/// Parses seconds since 1970, with or without `@` and a fraction. Also parses milli-, micro- or
/// nanoseconds, recognised by the number of digits, as JSON logs have them.
fn unix(text: &str) -> Option<Timestamp> {
    let (number, digits_min) = match text.strip_prefix('@') {
        Some(number) => (number, 1),
        None => (text, UNIX_DIGITS_MIN),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() < digits_min || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let units_per_s: i64 = match whole.len() {
        ..=11 => 1,
        12..=14 => 1_000,
        15..=17 => 1_000_000,
        _ => 1_000_000_000,
    };
    let units: i64 = whole.parse().ok()?;
    let nanoseconds_per_unit = 1_000_000_000 / units_per_s;
    let digits = fraction.get(..9).unwrap_or(fraction);
    let billionths: i64 = format!("{digits:0<9}").parse().ok()?;
    let nanoseconds = units % units_per_s * nanoseconds_per_unit + billionths / units_per_s;
    Timestamp::new(units / units_per_s, i32::try_from(nanoseconds).ok()?).ok()
}

fn with_offset(text: &str) -> Option<Timestamp> {
    let in_notation = |notation: &&str| parts(notation, text)?.to_timestamp().ok();
    let parsed = WITH_OFFSET.iter().find_map(in_notation);
    // The time in headers of HTTP and mail.
    parsed.or_else(|| jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp()))
}

fn syslog(text: &str, now: &Zoned) -> Option<DateTime> {
    // One day later is allowed: a sender's clock may be ahead, and the log may be from another
    // zone.
    let latest = now.datetime().tomorrow().ok()?;
    let years = (0..=SYSLOG_YEARS).filter_map(|ago| latest.year().checked_sub(ago));
    let datetimes = years.filter_map(|year| {
        let with_year = format!("{year:04} {text}");
        parts(SYSLOG, &with_year)?.to_datetime().ok()
    });
    datetimes.into_iter().find(|datetime| *datetime <= latest)
}

fn parts(notation: &str, text: &str) -> Option<BrokenDownTime> {
    jiff::fmt::strtime::parse(notation, text).ok()
}

/// Returns the seconds since 1970 of a local clock, and the nanoseconds of the second.
pub(super) fn local_clock(datetime: DateTime) -> Option<(i64, i64)> {
    let timestamp = datetime.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let nanoseconds = i64::from(timestamp.subsec_nanosecond());
    let seconds = timestamp.as_second();
    // Times before 1970 have negative seconds and a negative fraction.
    Some(if nanoseconds < 0 {
        (seconds - 1, nanoseconds + 1_000_000_000)
    } else {
        (seconds, nanoseconds)
    })
}
