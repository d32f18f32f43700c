//! Parses the time stamps of services' logs.

use weir_core::parse_rfc3339;

/// The year assumed for stamps without a year: a leap year, so that every day exists.
const YEAR_WITHOUT_ONE: u16 = 1972;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses a stamp to nanoseconds since 1970. The forms are RFC 3339, also with a comma before the
/// fraction or a space after the day; seconds since 1970; `Jan 27 11:02:49`; `Thu Sep 30
/// 13:27:06.009964 2021`; and `01/25/22 16:08:02.393003`. A stamp without a time zone is taken as UTC.
pub(super) fn unix_ns(stamp: &[u8]) -> Option<i64> {
    let stamp = std::str::from_utf8(stamp).ok()?;
    let text = if let Some(seconds) = seconds_ns(stamp) {
        return Some(seconds);
    } else if stamp.starts_with(|c: char| c.is_ascii_alphabetic()) {
        year_last(stamp).or_else(|| without_year(stamp))?
    } else if stamp.as_bytes().get(2).is_some_and(|byte| matches!(byte, b'/' | b'-')) {
        month_first(stamp)?
    } else {
        year_first(stamp)?
    };
    parse_rfc3339(text.as_bytes()).map(|time| time.unix_ns)
}

/// `1700845155.8713691`
fn seconds_ns(stamp: &str) -> Option<i64> {
    let (whole, fraction) = stamp.split_once('.').unwrap_or((stamp, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos = format!("{:0<9}", &fraction[..fraction.len().min(9)]);
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos.parse().ok()?)
}

/// `Thu Sep 30 13:27:06.009964 2021`
fn year_last(stamp: &str) -> Option<String> {
    let words: Vec<&str> = stamp.split_ascii_whitespace().collect();
    let [_, name, day, clock, year] = words[..] else { return None };
    let month = 1 + MONTHS.iter().position(|month| *month == name)?;
    Some(format!("{year}-{month:02}-{day:0>2}T{clock}Z"))
}

/// `Jan 27 11:02:49`
fn without_year(stamp: &str) -> Option<String> {
    let mut words = stamp.split_ascii_whitespace();
    let name = words.next()?;
    let month = 1 + MONTHS.iter().position(|month| *month == name)?;
    let day: u8 = words.next()?.parse().ok()?;
    Some(format!("{YEAR_WITHOUT_ONE}-{month:02}-{day:02}T{}Z", words.next()?))
}

/// `01/25/22 16:08:02.393003` or `12/17/22, 10:31:29 PM MST.557710`, whose zone is ignored.
fn month_first(stamp: &str) -> Option<String> {
    let (month, day, year) = (stamp.get(..2)?, stamp.get(3..5)?, stamp.get(6..8)?);
    let rest = stamp.get(8..)?.trim_start_matches([',', ' ', '-']);
    let (clock, fraction) = rest.rsplit_once('.')?;
    let mut words = clock.split(' ');
    let mut parts = words.next()?.split(':');
    let mut hour: u8 = parts.next()?.parse().ok()?;
    match words.next() {
        Some("PM") => hour = hour % 12 + 12,
        Some("AM") => hour %= 12,
        _ => {}
    }
    let (minute, second) = (parts.next()?, parts.next()?);
    Some(format!("20{year}-{month}-{day}T{hour:02}:{minute}:{second}.{fraction}Z"))
}

/// `2023-04-06T09:13:34,820Z`, `2022-02-11 13:41:28` or `2021/11/18 08:34:27`
fn year_first(stamp: &str) -> Option<String> {
    let (date, clock) = (stamp.get(..10)?.replace('/', "-"), stamp.get(11..)?.replace(',', "."));
    let has_zone = clock.ends_with('Z') || clock.contains(['+', '-']);
    Some(format!("{date}T{clock}{}", if has_zone { "" } else { "Z" }))
}

#[cfg(test)]
mod tests {
    use weir_core::parse_rfc3339;

    use super::unix_ns;

    #[test]
    fn stamps_of_services_are_read() {
        for (stamp, time) in [
            ("Jan 27 11:02:49", "1972-01-27T11:02:49Z"),
            ("Feb  9 01:02:03", "1972-02-09T01:02:03Z"),
            ("Thu Sep 30 13:27:06.009964 2021", "2021-09-30T13:27:06.009964Z"),
            ("Thu Sep 30 13:27:06 2021", "2021-09-30T13:27:06Z"),
            ("2023-04-06T09:13:34,820Z", "2023-04-06T09:13:34.820Z"),
            ("2022-02-11 13:41:28", "2022-02-11T13:41:28Z"),
            ("2021/11/18 08:34:27", "2021-11-18T08:34:27Z"),
            ("2023-03-19T12:34:09.757188+01:00", "2023-03-19T11:34:09.757188Z"),
            ("01/25/22 16:08:02.393003", "2022-01-25T16:08:02.393003Z"),
            ("12/17/22, 10:31:29 PM MST.557710", "2022-12-17T22:31:29.557710Z"),
            ("12/17/22, 12:31:29 AM MST.557710", "2022-12-17T00:31:29.557710Z"),
            ("1700845155.8713691", "2023-11-24T16:59:15.8713691Z"),
        ] {
            let expected = parse_rfc3339(time.as_bytes()).map(|time| time.unix_ns);
            assert!(expected.is_some());
            assert_eq!(unix_ns(stamp.as_bytes()), expected, "{stamp}");
        }
        for stamp in ["", "Foo 27 11:02:49", "x", "12/17", "\u{e9}\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(unix_ns(stamp.as_bytes()), None, "{stamp}");
        }
    }
}
