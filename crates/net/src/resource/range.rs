//! Byte ranges (RFC 9110 section 14).

use std::ops::Range;

use hyper::HeaderMap;
use hyper::header::{CONTENT_RANGE, HeaderValue, RANGE};

/// A range of bytes that a client requests. The client may not know the length of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From the first byte to the last one, both counted from 0.
    Inclusive(u64, u64),
    /// From a byte to the end.
    From(u64),
    /// This number of bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// Returns the bytes that the range selects of `total` bytes; `None` if there are none (`416`).
    pub fn within(self, total: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::Inclusive(first, last) => first..last.saturating_add(1).min(total),
            Self::From(first) => first..total,
            Self::Last(count) => total.saturating_sub(count)..total,
        };
        (range.start < range.end).then_some(range)
    }

    /// Parses a range of the field `Range`: `0-99`, `100-` or `-50`.
    fn parse(text: &str) -> Option<Self> {
        match text.split_once('-')? {
            ("", count) => Some(Self::Last(number(count)?)),
            (first, "") => Some(Self::From(number(first)?)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::Inclusive(first, last))
            }
        }
    }
}

/// Returns the range that a request asks for. Returns `None` if there is no range, or one that RFC
/// 9110 section 14.2 lets a server ignore: several ranges, a unit other than bytes, or an invalid
/// field.
pub(super) fn requested_range(headers: &HeaderMap) -> Option<ByteRange> {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (unit, ranges) = value.to_str().ok()?.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut ranges = ranges.split(',').map(str::trim).filter(|range| !range.is_empty());
    let (Some(range), None) = (ranges.next(), ranges.next()) else { return None };
    ByteRange::parse(range)
}

/// Sets `Content-Range` of a `206` response: its range, which must not be empty, and the total
/// length.
pub fn set_content_range(fields: &mut HeaderMap, range: &Range<u64>, total: u64) {
    insert_range(fields, &format!("bytes {}-{}/{total}", range.start, range.end - 1));
}

/// Sets `Content-Range` of a `416` response: the total length.
pub fn set_unsatisfied_range(fields: &mut HeaderMap, total: u64) {
    insert_range(fields, &format!("bytes */{total}"));
}

fn insert_range(fields: &mut HeaderMap, text: &str) {
    // Letters, digits and these signs are always a valid value.
    if let Ok(value) = HeaderValue::from_str(text) {
        fields.insert(CONTENT_RANGE, value);
    }
}

/// Parses a number that consists of digits only. A number over 64 bits counts as the largest one.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderValue, RANGE};
    use proptest::prelude::*;

    use super::{ByteRange, requested_range};

    fn requested(text: &str) -> Option<ByteRange> {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(text).unwrap());
        requested_range(&headers)
    }

    #[test]
    fn ranges_are_read() {
        for (text, range) in [
            ("bytes=0-0", Some(ByteRange::Inclusive(0, 0))),
            ("bytes=0-99", Some(ByteRange::Inclusive(0, 99))),
            ("Bytes = 5-", Some(ByteRange::From(5))),
            ("bytes=-7", Some(ByteRange::Last(7))),
            ("bytes=, 1-2 ,", Some(ByteRange::Inclusive(1, 2))),
            ("bytes=0-99999999999999999999", Some(ByteRange::Inclusive(0, u64::MAX))),
            ("bytes=2-1", None),
            ("bytes=-", None),
            ("bytes=", None),
            ("bytes=1", None),
            ("bytes=+1-2", None),
            ("bytes=1-2-3", None),
            ("bytes=0-1,2-3", None),
            ("items=0-1", None),
            ("0-1", None),
        ] {
            assert_eq!(requested(text), range, "{text}");
        }
    }

    #[test]
    fn two_fields_are_ignored() {
        let mut headers = HeaderMap::new();
        headers.append(RANGE, HeaderValue::from_static("bytes=0-1"));
        headers.append(RANGE, HeaderValue::from_static("bytes=2-3"));
        assert_eq!(requested_range(&headers), None);
    }

    /// The positions that a range selects, one by one.
    fn selected(range: ByteRange, total: u64) -> Vec<u64> {
        let is_selected = |at: &u64| match range {
            ByteRange::Inclusive(first, last) => first <= *at && *at <= last,
            ByteRange::From(first) => first <= *at,
            ByteRange::Last(count) => total - *at <= count,
        };
        (0..total).filter(is_selected).collect()
    }

    proptest! {
        #[test]
        fn a_range_selects_what_it_says(
            first in 0..40_u64, more in 0..40_u64, total in 0..40_u64, kind in 0..3,
        ) {
            let range = match kind {
                0 => ByteRange::Inclusive(first, first + more),
                1 => ByteRange::From(first),
                _ => ByteRange::Last(first),
            };
            let found: Vec<u64> = range.within(total).into_iter().flatten().collect();
            prop_assert_eq!(found, selected(range, total));
        }
    }
}
