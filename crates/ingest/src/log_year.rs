//! The year of a log whose times are written without one.

use std::time::SystemTime;

use weir_core::{Date, YearOrigin, YearReference};

use crate::clock::seconds_since_1970;

/// A time that no line of a log is much later than.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastTime {
    /// The time.
    pub at: SystemTime,
    /// Whether it is a time of the next log of a rotated set, and not that at which the log was last
    /// written.
    pub is_of_next_log: bool,
}

impl From<SystemTime> for LastTime {
    fn from(at: SystemTime) -> Self {
        Self { at, is_of_next_log: false }
    }
}

/// Half a year.
const HALF_S: i64 = 365 * 86_400 / 2;

/// Returns the time that determines the year of a log: a day in its name, or else that of the next log of
/// its rotated set, or when it was last written.
///
/// The day in a name may be the first or the last of the log, or between. So the log begins within half
/// a year of it; and not after it was written, unless that was before the day.
pub(crate) fn year_of_log(name: &str, last: Option<LastTime>) -> Option<YearReference> {
    let written_s = last.map(|last| seconds_since_1970(last.at));
    let is_of_next_log = last.is_some_and(|last| last.is_of_next_log);
    let last_origin = if is_of_next_log { YearOrigin::NextLog } else { YearOrigin::Written };
    let of = |origin| move |unix_s| YearReference { unix_s, origin };
    let named = end_of_named_day_s(name).map(|end_s| {
        let latest_s = end_s + HALF_S;
        written_s.map_or(latest_s, |written_s| latest_s.min(written_s.max(end_s)))
    });
    named.map(of(YearOrigin::Name)).or_else(|| written_s.map(of(last_origin)))
}

/// Returns the end of the day in the name of a file, in seconds since 1970: `messages-20231231.gz`,
/// `access.2023-12-31.log`.
fn end_of_named_day_s(name: &str) -> Option<i64> {
    let base = name.rsplit(['/', '\\']).next()?.as_bytes();
    (0..base.len()).find_map(|at| {
        let is_inside = at > 0 && base[at - 1].is_ascii_digit();
        let date = date_at(base, at).filter(|_| !is_inside)?;
        Some((date.days() + 1) * 86_400 - 1)
    })
}

/// Returns the date at a place of a name, as `20231231` or with one sign twice.
fn date_at(name: &[u8], at: usize) -> Option<Date> {
    let digits = |at: usize, length: usize| {
        let text = std::str::from_utf8(name.get(at..at + length)?).ok()?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok())?
    };
    let sign = name.get(at + 4).filter(|sign| matches!(sign, b'-' | b'.' | b'_'));
    let gap = usize::from(sign.is_some());
    let (month_at, day_at, end) = (at + 4 + gap, at + 6 + 2 * gap, at + 8 + 2 * gap);
    if sign.is_some() && name.get(month_at + 2) != sign
        || name.get(end).is_some_and(u8::is_ascii_digit)
    {
        return None;
    }
    let year = digits(at, 4).filter(|year| (1990..2100).contains(year))?;
    Date::new(i32::try_from(year).ok()?, digits(month_at, 2)?, digits(day_at, 2)?)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{HALF_S, end_of_named_day_s, year_of_log};

    #[test]
    fn the_log_of_a_named_day_begins_within_half_a_year() {
        let end_s = 1_704_067_199;
        for (written_s, latest_s) in [
            (None, end_s + HALF_S),
            // Soon after that day, before it, and a copy.
            (Some(end_s + 100), end_s + 100),
            (Some(end_s - 100_000), end_s),
            (Some(end_s + 2 * HALF_S), end_s + HALF_S),
        ] {
            let written = written_s.map(|unix_s: i64| {
                (SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s.unsigned_abs())).into()
            });
            let year = year_of_log("messages-20231231", written);
            assert_eq!(year.map(|year| year.unix_s), Some(latest_s), "{written_s:?}");
        }
    }

    #[test]
    fn days_in_names() {
        for (name, end_s) in [
            ("/var/log/messages-20231231.gz", Some(1_704_067_199)),
            ("access.2023-12-31.log", Some(1_704_067_199)),
            ("a.log.2023.12.31", Some(1_704_067_199)),
            ("2023_12_31", Some(1_704_067_199)),
            ("syslog.1", None),
            ("a-20231331", None),
            ("a-20230229", None),
            ("a-1700000000.log", None),
            ("a-120231231", None),
            ("2023-12-31/messages", None),
            ("a-2023-1231", None),
            ("a-2023-12_31", None),
            ("caf\u{e9}-2023", None),
            ("", None),
        ] {
            assert_eq!(end_of_named_day_s(name), end_s, "{name}");
        }
    }
}
