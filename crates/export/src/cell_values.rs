//! Cells that are computed from the values of a record.

/// The value that servers write in a line of text if there is none.
pub(crate) const NO_VALUE: &[u8] = b"-";

const SECOND_NS: f64 = 1e9;

/// Returns the number that a status is, if it is one.
pub(crate) fn status_code(status: &[u8]) -> Option<i32> {
    let is_number = !status.is_empty() && status.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(status).ok().filter(|_| is_number)?.parse().ok()
}

/// Returns a duration in seconds. Up to 2^51 nanoseconds, about 26 days, the nanoseconds can be
/// restored by rounding.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / SECOND_NS
}

/// Returns a number as a signed one. A number over 2^63 - 1, which no log should have, is 2^63 - 1.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns an instant in microseconds, rounded down.
pub(crate) fn microseconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::{microseconds, seconds, signed, status_code};

    #[test]
    fn numbers_keep_what_they_can() {
        let codes = [&b"404"[..], b"0", b"007", b"-", b"", b"+1", b"20x", b"99999999999"];
        let expected = [Some(404), Some(0), Some(7), None, None, None, None, None];
        assert_eq!(codes.map(status_code), expected);
        for nanoseconds in [0, 1, 1_234_567_890, (1 << 51) - 1] {
            assert_eq!((seconds(nanoseconds) * 1e9).round() as u64, nanoseconds);
        }
        assert_eq!([seconds(123_000_000), seconds(1)], [0.123, 1e-9]);
        assert_eq!([7, u64::MAX].map(signed), [7, i64::MAX]);
        assert_eq!([1_999, -1].map(microseconds), [1, -1]);
    }
}
