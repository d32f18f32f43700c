//! The part of tagged content that a request asks for.

use std::time::SystemTime;

use hyper::header::HeaderValue;
use hyper::{Method, Request};

use super::condition::{self, ConditionOutcome};
use super::range::{ByteRange, requested_range};

/// The part of content with a strong tag that a GET or HEAD request asks for (RFC 9110 sections 13
/// and 14).
///
/// [`Resource`](super::Resource) answers such requests itself. This type is for content that is
/// produced for each request and whose length is expensive to compute. Only a range needs the
/// length.
///
/// ```
/// use hyper::Request;
/// use hyper::header::HeaderValue;
/// use weir_net::{ByteRange, RequestedContent};
///
/// let tag = HeaderValue::from_static("\"a\"");
/// let request = Request::get("/").header("range", "bytes=7-").body(()).unwrap();
/// let range = RequestedContent::Range(ByteRange::From(7));
/// assert_eq!(RequestedContent::of(&request, &tag, None), range);
/// let request = Request::get("/").header("if-none-match", "\"a\"").body(()).unwrap();
/// assert_eq!(RequestedContent::of(&request, &tag, None), RequestedContent::NotModified);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedContent {
    /// The whole content (`200`).
    Whole,
    /// A range (`206`, or `416` if the content has no such bytes).
    Range(ByteRange),
    /// Nothing, because the client has the content already (`304`).
    NotModified,
    /// A precondition failed (`412`).
    PreconditionFailed,
}

impl RequestedContent {
    /// Evaluates a request for content with this tag, which must be strong, and this time of its
    /// last change, if known.
    ///
    /// Several ranges, an invalid range, and a range of a HEAD request count as the whole.
    pub fn of<B>(request: &Request<B>, tag: &HeaderValue, modified: Option<SystemTime>) -> Self {
        let headers = request.headers();
        match condition::evaluate(headers, tag, modified) {
            ConditionOutcome::PreconditionFailed => Self::PreconditionFailed,
            ConditionOutcome::NotModified => Self::NotModified,
            ConditionOutcome::Range if *request.method() == Method::GET => {
                requested_range(headers).map_or(Self::Whole, Self::Range)
            }
            ConditionOutcome::Whole | ConditionOutcome::Range => Self::Whole,
        }
    }

    /// Evaluates a request for content without a tag, whose bytes may differ with each request. It
    /// has no ranges.
    pub fn of_untagged<B>(request: &Request<B>) -> Self {
        match condition::requires_tag(request.headers()) {
            true => Self::PreconditionFailed,
            false => Self::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::header::HeaderValue;

    use super::{ByteRange, RequestedContent};

    #[test]
    fn conditions_decide_before_ranges() {
        let tag = HeaderValue::from_static("\"a\"");
        let last = RequestedContent::Range(ByteRange::Last(5));
        type Fields = &'static [(&'static str, &'static str)];
        let cases: &[(&str, Fields, RequestedContent)] = &[
            ("GET", &[], RequestedContent::Whole),
            ("GET", &[("range", "bytes=-5")], last),
            ("HEAD", &[("range", "bytes=-5")], RequestedContent::Whole),
            ("GET", &[("range", "bytes=0-1,3-4")], RequestedContent::Whole),
            ("GET", &[("range", "bytes=-5"), ("if-range", "\"a\"")], last),
            ("GET", &[("range", "bytes=-5"), ("if-range", "\"b\"")], RequestedContent::Whole),
            (
                "GET",
                &[("range", "bytes=-5"), ("if-none-match", "\"a\"")],
                RequestedContent::NotModified,
            ),
            ("HEAD", &[("if-none-match", "\"a\"")], RequestedContent::NotModified),
            (
                "GET",
                &[("range", "bytes=-5"), ("if-match", "\"b\"")],
                RequestedContent::PreconditionFailed,
            ),
        ];
        for (method, fields, requested) in cases {
            let mut request = Request::builder().method(*method);
            for (name, value) in fields.iter() {
                request = request.header(*name, *value);
            }
            let request = request.body(()).unwrap();
            assert_eq!(
                RequestedContent::of(&request, &tag, None),
                *requested,
                "{method} {fields:?}"
            );
        }
    }
}
