//! Responses, and the header fields of every response.

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use weir_net::Body;
use weir_view::RefusalBody;

use crate::refusal::Refusal;

/// Allows the server's own files only: no inline scripts, no frames, no other sites. The
/// exception is `data:` images, because the style sheet contains its icons as such.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; font-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SECURITY: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The response of another server of this program: with the header fields of every response, and for a
/// refusal `{"error":"NAME","message":"SENTENCE"}`.
pub fn respond(result: Result<Response<Body>, Refusal>) -> Response<Body> {
    secure(result.unwrap_or_else(|refused| refusal(&refused)))
}

/// Adds the header fields of every response. `Cache-Control` is `no-store` unless it is set.
pub(crate) fn secure(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A response with a body.
pub(crate) fn content(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<bytes::Bytes>,
) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A JSON response.
pub(crate) fn json(status: StatusCode, text: impl Into<bytes::Bytes>) -> Response<Body> {
    content(status, "application/json", text)
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The response to a request that is refused: `{"error":"NAME","message":"SENTENCE"}`.
pub(crate) fn refusal(refusal: &Refusal) -> Response<Body> {
    refusal_of(refusal, refusal.to_string())
}

/// The response to a request that is refused, for a person: the sentence on a page.
pub(crate) fn refusal_page(refusal: &Refusal) -> Response<Body> {
    let mut response = self::refusal(refusal);
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Weir</title>\n<h1>{}</h1>\n<p>{}</p>\n",
        refusal.status().canonical_reason().unwrap_or("Refused"),
        html_escaped(&refusal.to_string()),
    );
    *response.body_mut() = Body::from(page);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

/// A text that stands for itself in HTML, also in a value in double quotes.
pub(crate) fn html_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// As [`refusal`], with more that the client should know after the message.
pub(crate) fn refusal_with(refusal: &Refusal, more: &str) -> Response<Body> {
    refusal_of(refusal, format!("{refusal}. {more}"))
}

fn refusal_of(refusal: &Refusal, message: String) -> Response<Body> {
    let body = RefusalBody { error: refusal.name().to_owned(), message };
    // Two strings can always be written as JSON.
    let text = weir_view::to_json(&body).unwrap_or_default();
    let mut response = json(refusal.status(), text + "\n");
    match refusal {
        Refusal::Handshake(error) => error.set_on(&mut response),
        Refusal::NoToken => {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        _ => {}
    }
    response
}
