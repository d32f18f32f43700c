//! Content at rest: files and bytes whose length, date and tag are known before a request.
//!
//! The source is RFC 9110, sections 8.8 (validators), 12.5.3 (content codings), 13 (conditional
//! requests) and 14 (range requests).

mod coding;
mod condition;
mod content;
mod range;
mod requested_content;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue,
    LAST_MODIFIED, VARY,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};

pub use self::coding::ContentCoding;
use self::content::Content;
pub use self::content::entity_tag;
pub use self::range::{ByteRange, set_content_range, set_unsatisfied_range};
pub use self::requested_content::RequestedContent;
use crate::body::Body;
use crate::text_response::text_response;

/// The first second that an HTTP date cannot express: the year 10000, in seconds since 1970.
const YEAR_10000_S: u64 = 253_402_300_800;

/// Bytes or a file that a server offers, with precompressed copies.
///
/// ```
/// use hyper::{Request, StatusCode};
/// use weir_net::Resource;
///
/// let resource = Resource::from_bytes("text/plain", "hello, world");
/// let request = Request::get("/").header("range", "bytes=7-").body(()).unwrap();
/// let response = resource.respond(&request);
/// assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
/// assert_eq!(response.headers()["content-range"], "bytes 7-11/12");
/// ```
#[derive(Clone, Debug)]
pub struct Resource {
    content_type: HeaderValue,
    modified: Option<SystemTime>,
    /// The content without a coding.
    plain: Content,
    compressed: Vec<(ContentCoding, Content)>,
}

/// Whether an HTTP date can express the time (RFC 9110 section 5.6.7).
fn has_http_date(time: SystemTime) -> bool {
    let since_1970 = time.duration_since(UNIX_EPOCH);
    since_1970.is_ok_and(|time| time.as_secs() < YEAR_10000_S)
}

impl Resource {
    /// Creates a resource from bytes in memory.
    pub fn from_bytes(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self {
            content_type: HeaderValue::from_static(content_type),
            modified: None,
            plain: Content::from_bytes(bytes.into()),
            compressed: Vec::new(),
        }
    }

    /// Opens a file, and its compressed copies in the same folder: `NAME.br`, `NAME.zst` and
    /// `NAME.gz`. A compressed copy that is older than the file is ignored.
    ///
    /// Call this for each request, so that the response has the current content of the file.
    ///
    /// # Errors
    /// If the file cannot be opened, or is not a regular file.
    pub fn open(content_type: &'static str, path: &Path) -> io::Result<Self> {
        let (plain, modified) = Content::open(path, "")?;
        let compressed = ContentCoding::ALL.into_iter().filter_map(|coding| {
            let (content, date) =
                Content::open(&coding.compressed_path(path), coding.name()).ok()?;
            (date >= modified).then_some((coding, content))
        });
        Ok(Self {
            content_type: HeaderValue::from_static(content_type),
            modified: Some(modified).filter(|time| has_http_date(*time)),
            plain,
            compressed: compressed.collect(),
        })
    }

    /// Adds a compressed copy of the content.
    #[must_use]
    pub fn with_compressed(mut self, coding: ContentCoding, bytes: impl Into<Bytes>) -> Self {
        self.compressed.push((coding, Content::from_bytes(bytes.into())));
        self
    }

    /// Returns the response to a request for the resource: the whole, a range, or `304` if the
    /// client has it already.
    ///
    /// A request for several ranges is answered with the whole, which RFC 9110 section 14.2 allows.
    /// A response of many small parts costs a server more than a client.
    pub fn respond<B>(&self, request: &Request<B>) -> Response<Body> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let headers = request.headers();
        let Some((coding, content)) = self.choose(headers) else {
            let mut response = text_response(StatusCode::NOT_ACCEPTABLE, NOT_ACCEPTABLE);
            response.headers_mut().insert(VARY, VARIES);
            return response;
        };
        let mut response = match RequestedContent::of(request, content.tag(), self.modified) {
            RequestedContent::PreconditionFailed => return empty(StatusCode::PRECONDITION_FAILED),
            RequestedContent::NotModified => empty(StatusCode::NOT_MODIFIED),
            RequestedContent::Whole => self.whole(coding, content),
            RequestedContent::Range(range) => self.part(range, coding, content),
        };
        let fields = response.headers_mut();
        fields.insert(ETAG, content.tag().clone());
        if let Some(date) = self.modified {
            insert(fields, LAST_MODIFIED, &httpdate::fmt_http_date(date));
        }
        if !self.compressed.is_empty() {
            fields.insert(VARY, VARIES);
        }
        response
    }

    /// Chooses the representation that the client prefers. Returns `None` if it accepts none.
    fn choose(&self, headers: &HeaderMap) -> Option<(Option<ContentCoding>, &Content)> {
        if self.compressed.is_empty() && !headers.contains_key(ACCEPT_ENCODING) {
            return Some((None, &self.plain));
        }
        let codings: Vec<_> = self.compressed.iter().map(|(coding, _)| *coding).collect();
        let coding = coding::choose(headers, &codings)?;
        let compressed = self.compressed.iter().find(|(one, _)| Some(*one) == coding);
        Some((coding, compressed.map_or(&self.plain, |(_, content)| content)))
    }

    fn whole(&self, coding: Option<ContentCoding>, content: &Content) -> Response<Body> {
        self.range(StatusCode::OK, coding, content, 0..content.bytes())
    }

    /// Returns the requested range, as far as the content has such bytes.
    fn part(
        &self,
        range: ByteRange,
        coding: Option<ContentCoding>,
        content: &Content,
    ) -> Response<Body> {
        let total = content.bytes();
        let Some(range) = range.within(total) else {
            let text = format!("the range begins after the end of the content, {total} bytes\n");
            let mut response = text_response(StatusCode::RANGE_NOT_SATISFIABLE, text);
            set_unsatisfied_range(response.headers_mut(), total);
            return response;
        };
        let status = StatusCode::PARTIAL_CONTENT;
        let mut response = self.range(status, coding, content, range.clone());
        set_content_range(response.headers_mut(), &range, total);
        response
    }

    fn range(
        &self,
        status: StatusCode,
        coding: Option<ContentCoding>,
        content: &Content,
        range: Range<u64>,
    ) -> Response<Body> {
        let mut response = Response::new(content.body(range));
        *response.status_mut() = status;
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, self.content_type.clone());
        fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Some(coding) = coding {
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        response
    }
}

/// The value of `Vary`: the response depends on `Accept-Encoding`.
const VARIES: HeaderValue = HeaderValue::from_static("accept-encoding");

/// The bodies of refusals.
const NOT_ACCEPTABLE: &str =
    "the Accept-Encoding field of the request excludes every form of the content\n";
const METHOD_NOT_ALLOWED: &str = "this address supports GET and HEAD only\n";

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Adds a field whose value has only characters that are valid in fields.
fn insert(fields: &mut HeaderMap, name: hyper::header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        fields.insert(name, value);
    }
}
