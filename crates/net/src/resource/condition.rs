//! Conditional requests, evaluated in the order of RFC 9110 section 13.2.2.

use std::time::SystemTime;

use hyper::HeaderMap;
use hyper::header::{
    HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE,
};

/// The outcome of the conditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConditionOutcome {
    /// Send the whole, even if a range is requested.
    Whole,
    /// Send the range, if one is requested.
    Range,
    /// The client has the content already.
    NotModified,
    /// A precondition failed: the content is not the one that the client requires.
    PreconditionFailed,
}

/// Evaluates the conditions of a GET or HEAD request, given the tag of the content, which must be
/// strong, and the time of its last change.
pub(super) fn evaluate(
    headers: &HeaderMap,
    tag: &HeaderValue,
    modified: Option<SystemTime>,
) -> ConditionOutcome {
    if let Some(tags) = Tags::read(headers, IF_MATCH) {
        if !tags.has_strong(tag) {
            return ConditionOutcome::PreconditionFailed;
        }
    } else if is_later(modified, date(headers, IF_UNMODIFIED_SINCE)) == Some(true) {
        return ConditionOutcome::PreconditionFailed;
    }
    if let Some(tags) = Tags::read(headers, IF_NONE_MATCH) {
        if tags.has_weak(tag) {
            return ConditionOutcome::NotModified;
        }
    } else if is_later(modified, date(headers, IF_MODIFIED_SINCE)) == Some(false) {
        return ConditionOutcome::NotModified;
    }
    match headers.get(IF_RANGE) {
        // A date is not a strong validator, because content may change twice within a second.
        Some(validator) if validator != tag => ConditionOutcome::Whole,
        _ => ConditionOutcome::Range,
    }
}

/// Whether a request requires certain content by `If-Match`. Content without a tag is never that.
pub(super) fn requires_tag(headers: &HeaderMap) -> bool {
    Tags::read(headers, IF_MATCH).is_some_and(|tags| !tags.0.contains(&"*"))
}

/// Whether the content was changed after the date; `None` if either is unknown.
fn is_later(modified: Option<SystemTime>, date: Option<SystemTime>) -> Option<bool> {
    Some(whole_seconds(modified?) > date?)
}

/// Drops the fraction of a second, which HTTP dates do not have.
fn whole_seconds(time: SystemTime) -> SystemTime {
    httpdate::HttpDate::from(time).into()
}

/// Returns the date of a field; `None` if the field is missing, repeated or invalid.
fn date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    httpdate::parse_http_date(value.to_str().ok()?).ok()
}

/// The tags of `If-Match` or `If-None-Match`.
struct Tags<'h>(Vec<&'h str>);

impl<'h> Tags<'h> {
    fn read(headers: &'h HeaderMap, name: HeaderName) -> Option<Self> {
        if !headers.contains_key(&name) {
            return None;
        }
        let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        // A comma within a tag splits it. Neither half equals one of this server's tags, which have
        // no commas.
        Some(Self(lines.flat_map(|line| line.split(',')).map(str::trim).collect()))
    }

    fn has_strong(&self, tag: &HeaderValue) -> bool {
        self.0.iter().any(|one| *one == "*" || *one == tag)
    }

    fn has_weak(&self, tag: &HeaderValue) -> bool {
        let without_mark = |one: &'h str| one.strip_prefix("W/").unwrap_or(one);
        self.0.iter().any(|one| *one == "*" || without_mark(one) == tag)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};

    use super::ConditionOutcome::{self, NotModified, PreconditionFailed, Range, Whole};
    use super::evaluate;

    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sunday, 06-Nov-94 08:49:38 GMT";

    /// [`AT`] and a half second.
    fn modified() -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(784_111_777_500)
    }

    #[test]
    fn conditions_are_evaluated_in_order() {
        let cases: &[(&[(&str, &str)], ConditionOutcome)] = &[
            (&[], Range),
            (&[("if-match", "\"a\"")], Range),
            (&[("if-match", "*")], Range),
            (&[("if-match", "\"b\", \"a\"")], Range),
            (&[("if-match", "\"b\"")], PreconditionFailed),
            (&[("if-match", "W/\"a\"")], PreconditionFailed),
            (&[("if-match", "\"a\""), ("if-unmodified-since", BEFORE)], Range),
            (&[("if-unmodified-since", BEFORE)], PreconditionFailed),
            (&[("if-unmodified-since", AT)], Range),
            (&[("if-unmodified-since", "yesterday")], Range),
            (&[("if-none-match", "\"a\"")], NotModified),
            (&[("if-none-match", "W/\"a\"")], NotModified),
            (&[("if-none-match", "\"b\" , W/\"a\"")], NotModified),
            (&[("if-none-match", "*")], NotModified),
            (&[("if-none-match", "\"b\"")], Range),
            (&[("if-none-match", "\"b\""), ("if-modified-since", AFTER)], Range),
            (&[("if-modified-since", AFTER)], NotModified),
            (&[("if-modified-since", AT)], NotModified),
            (&[("if-modified-since", BEFORE)], Range),
            (&[("if-modified-since", "0")], Range),
            (&[("if-match", "\"b\""), ("if-none-match", "\"a\"")], PreconditionFailed),
            (&[("if-range", "\"a\"")], Range),
            (&[("if-range", "W/\"a\"")], Whole),
            (&[("if-range", "\"b\"")], Whole),
            (&[("if-range", AT)], Whole),
            (&[("if-range", AFTER)], Whole),
            (&[("if-range", BEFORE)], Whole),
            (&[("if-none-match", "\"b\""), ("if-range", "\"b\"")], Whole),
        ];
        let tag = HeaderValue::from_static("\"a\"");
        for (fields, outcome) in cases {
            let headers: HeaderMap = fields
                .iter()
                .map(|(name, value)| {
                    (HeaderName::from_static(name), HeaderValue::from_static(value))
                })
                .collect();
            assert_eq!(evaluate(&headers, &tag, Some(modified())), *outcome, "{fields:?}");
        }
    }

    #[test]
    fn a_date_says_nothing_of_content_without_one() {
        let tag = HeaderValue::from_static("\"a\"");
        for name in ["if-modified-since", "if-unmodified-since"] {
            let field = (HeaderName::from_static(name), HeaderValue::from_static(BEFORE));
            assert_eq!(evaluate(&HeaderMap::from_iter([field]), &tag, None), Range, "{name}");
        }
    }
}
