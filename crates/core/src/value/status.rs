//! The class of a response status.
//!
//! A status is text in the log and text in the columns. What is counted is its class, the first
//! digit: there are few classes, in a fixed order, and they are what a chart is stacked by. The
//! class of each distinct status is computed once ([`crate::StatusClasses`]).

use super::parse_digits;

/// The name of the class in conditions, groups and reports, beside the names of the fields.
///
/// No field has this name: a class is derived from the field `status`. Clauses, accessors and
/// groups accept it as if it were a text field with the values of [`STATUS_CLASSES`].
pub const STATUS_CLASS: &str = "status_class";

/// The names of the classes by number. Class 0 is every text that is not a status from 100
/// to 599.
///
/// The number of a class is the first digit of its statuses, so classes from 4 on are errors.
pub const STATUS_CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Returns the class of a status as it is logged: an index into [`STATUS_CLASSES`].
///
/// The classes are those of RFC 9110, section 15.
///
/// ```
/// use weir_core::{STATUS_CLASSES, status_class};
///
/// assert_eq!(STATUS_CLASSES[status_class(b"404")], "4xx");
/// assert_eq!(STATUS_CLASSES[status_class(b"-")], "other");
/// ```
///
/// Any number from 100 to 599 has a class, whether or not a standard defines it: nginx logs 499 if
/// a client closes the connection, and Cloudflare 520 to 526. Never panics, and never returns an
/// index beyond the names.
///
/// ```
/// use weir_core::status_class;
///
/// assert_eq!([b"200", b"499", b"526"].map(|status| status_class(status)), [2, 4, 5]);
/// assert_eq!([&b""[..], b"099", b"600", b"20x"].map(status_class), [0; 4]);
/// ```
pub fn status_class(status: &[u8]) -> usize {
    match parse_digits(status) {
        Some(status @ 100..600) => (status / 100) as usize,
        _ => 0,
    }
}

/// Whether a value is a status that servers send, as opposed to any number of three digits.
pub(crate) fn is_known_status(value: &[u8]) -> bool {
    let status = std::str::from_utf8(value).ok().filter(|text| text.len() == 3);
    let status = status.and_then(|text| text.parse::<u16>().ok());
    status.is_some_and(|status| {
        matches!(status, 100..=103 | 200..=208 | 226 | 300..=308 | 400..=431 | 440 | 444 | 449..=451
            | 460..=464 | 494..=499 | 500..=511 | 520..=530)
    })
}

#[cfg(test)]
mod tests {
    use super::{STATUS_CLASSES, status_class};

    #[test]
    fn a_class_needs_three_digits_from_100_to_599() {
        let cases = [
            ("100", "1xx"),
            ("404", "4xx"),
            ("599", "5xx"),
            ("600", "other"),
            ("099", "other"),
            ("40", "other"),
            ("+404", "other"),
            ("-", "other"),
            ("", "other"),
        ];
        for (status, class) in cases {
            assert_eq!(STATUS_CLASSES[status_class(status.as_bytes())], class, "{status}");
        }
    }
}
