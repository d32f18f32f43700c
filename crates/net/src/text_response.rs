//! Responses with plain text.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use crate::body::Body;

/// Creates a response with a text for a person, in UTF-8.
///
/// ```
/// use hyper::StatusCode;
/// use weir_net::text_response;
///
/// let response = text_response(StatusCode::NOT_FOUND, "there is no such file\n");
/// assert_eq!(response.status(), StatusCode::NOT_FOUND);
/// assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
/// ```
pub fn text_response(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
