//! The class of a response status.

use super::parse_digits;

/// The name of the class in conditions, groups and reports, beside the names of the fields.
pub const STATUS_CLASS: &str = "status_class";

/// The names of the classes by number. Class 0 is every text that is not a status from 100
/// to 599.
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
pub fn status_class(status: &[u8]) -> usize {
    match parse_digits(status) {
        Some(status @ 100..600) => (status / 100) as usize,
        _ => 0,
    }
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
