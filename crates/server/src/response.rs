//! Responses, and the header fields that all of them have.

use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
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

/// Converts a result to a response, for other servers of this program. It has the header fields of
/// every response. The body of a refusal is `{"error":"NAME","message":"SENTENCE"}`.
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

/// Creates a response with a body.
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

/// Creates a JSON response.
pub(crate) fn json(status: StatusCode, text: impl Into<bytes::Bytes>) -> Response<Body> {
    content(status, "application/json", text)
}

/// Turns a response into a file that a browser saves under a name, which has to be harmless.
pub(crate) fn attached(
    mut response: Response<Body>,
    media_type: &'static str,
    name: &str,
) -> Result<Response<Body>, Refusal> {
    let disposition = format!("attachment; filename=\"{name}\"");
    let disposition = HeaderValue::from_str(&disposition).map_err(Refusal::internal)?;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    fields.insert(CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// Creates a response without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Creates the response to a refused request: `{"error":"NAME","message":"SENTENCE"}`.
pub(crate) fn refusal(refusal: &Refusal) -> Response<Body> {
    refusal_of(refusal, refusal.to_string())
}

/// Creates the response to a refused request for a person: a page with the sentence.
pub(crate) fn refusal_page(refusal: &Refusal) -> Response<Body> {
    let mut response = self::refusal(refusal);
    let mut page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Weir</title>\n<h1>{}</h1>\n<p>{}</p>\n",
        refusal.status().canonical_reason().unwrap_or("Refused"),
        html_escaped(&refusal.to_string()),
    );
    if refusal.status() == StatusCode::NOT_FOUND {
        page += "<p><a href=\"/\">The page of this Weir</a></p>\n";
    }
    *response.body_mut() = Body::from(page);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

/// Escapes a text for HTML, including values in double quotes.
pub(crate) fn html_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// As [`refusal`], with `more` appended to the message.
pub(crate) fn refusal_with(refusal: &Refusal, more: &str) -> Response<Body> {
    refusal_of(refusal, format!("{refusal}. {more}"))
}

fn refusal_of(refusal: &Refusal, message: String) -> Response<Body> {
    let body = RefusalBody { error: refusal.name().to_owned(), message };
    // Serialising two strings cannot fail.
    let text = weir_view::to_json(&body).unwrap_or_default();
    let mut response = json(refusal.status(), text + "\n");
    match refusal {
        Refusal::Handshake(error) => error.set_on(&mut response),
        Refusal::MethodNotAllowed(methods) => {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
        }
        Refusal::NoToken(_) => {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        _ => {}
    }
    response
}
