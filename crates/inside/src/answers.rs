//! Responses with plain text or JSON.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use weir_net::{Body, text_response};
use weir_view::JsonError;

/// Makes a plain-text response with a message for a person.
pub(crate) fn sentence(status: StatusCode, message: &str) -> Response<Body> {
    text_response(status, format!("{message}\n"))
}

/// Makes a JSON response, or a 500 response if serialization failed.
pub(crate) fn json(text: Result<String, JsonError>) -> Response<Body> {
    let text = match text {
        Ok(text) => text,
        Err(error) => return sentence(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    };
    let mut response = Response::new(Body::from(text));
    let content_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
