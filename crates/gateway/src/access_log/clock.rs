//! Formats timestamps. Thousands of lines share a second, so the text of the last second is cached.

use weir_core::{Timestamp, format_rfc3339};

const SECOND_NS: i64 = 1_000_000_000;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Formats timestamps in UTC, with a cache of the last second.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The second since 1970 whose texts are cached.
    second: Option<i64>,
    /// `2025-12-17T09:03:01`.
    rfc3339: String,
    /// `17/Dec/2025:09:03:01 +0000`.
    common: String,
}

impl Clock {
    /// Appends a time in the common log format, truncated to seconds.
    pub(super) fn push_common(&mut self, line: &mut Vec<u8>, time: Timestamp) {
        self.set_second(time.unix_ns.div_euclid(SECOND_NS));
        line.extend_from_slice(self.common.as_bytes());
    }

    /// Appends a time as in RFC 3339, with nanoseconds.
    pub(super) fn push_rfc3339(&mut self, line: &mut Vec<u8>, time: Timestamp) {
        self.set_second(time.unix_ns.div_euclid(SECOND_NS));
        line.extend_from_slice(self.rfc3339.as_bytes());
        line.push(b'.');
        let mut rest = time.unix_ns.rem_euclid(SECOND_NS);
        let mut digits = [b'0'; 9];
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        line.extend_from_slice(&digits);
        line.push(b'Z');
    }

    fn set_second(&mut self, second: i64) {
        if self.second == Some(second) {
            return;
        }
        self.second = Some(second);
        let time = Timestamp { unix_ns: second.saturating_mul(SECOND_NS), offset_s: 0 };
        self.rfc3339 = format_rfc3339(time).trim_end_matches('Z').to_owned();
        self.common = common_log_time(&self.rfc3339).unwrap_or_default();
    }
}

/// Converts `2025-12-17T09:03:01` to the common log format.
fn common_log_time(rfc3339: &str) -> Option<String> {
    let (date, time) = rfc3339.split_once('T')?;
    let (year, month_and_day) = date.split_once('-')?;
    let (month, day) = month_and_day.split_once('-')?;
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("{day}/{month}/{year}:{time} +0000"))
}

#[cfg(test)]
mod tests {
    use weir_core::Timestamp;

    use super::Clock;

    #[test]
    fn times_have_both_forms() {
        let mut clock = Clock::default();
        for (unix_ns, expected) in [
            (
                1_765_962_181_250_000_001,
                "17/Dec/2025:09:03:01 +0000 2025-12-17T09:03:01.250000001Z",
            ),
            (
                1_765_962_181_999_999_999,
                "17/Dec/2025:09:03:01 +0000 2025-12-17T09:03:01.999999999Z",
            ),
            (
                1_765_962_182_000_000_000,
                "17/Dec/2025:09:03:02 +0000 2025-12-17T09:03:02.000000000Z",
            ),
            (
                1_767_225_600_000_000_000,
                "01/Jan/2026:00:00:00 +0000 2026-01-01T00:00:00.000000000Z",
            ),
        ] {
            let (time, mut line) = (Timestamp { unix_ns, offset_s: 0 }, Vec::new());
            clock.push_common(&mut line, time);
            line.push(b' ');
            clock.push_rfc3339(&mut line, time);
            assert_eq!(String::from_utf8_lossy(&line), expected);
        }
    }
}
