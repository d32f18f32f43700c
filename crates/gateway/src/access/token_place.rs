//! Where the token of a request is.
//!
//! Pages of browsers cannot set `Authorization` on a WebSocket, an `EventSource` or an image. A route
//! can therefore accept the token in another place. The token is moved to `Authorization`, where all
//! else looks for it, so the other place is neither logged nor forwarded.

use std::borrow::Cow;

use hyper::Method;
use hyper::header::{
    AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderValue, ORIGIN, REFERER, SEC_WEBSOCKET_PROTOCOL,
};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use weir_net::percent_decode;

use crate::access::cors::{AllowedOrigins, CorsConfig};
use crate::header_fields::is_websocket_upgrade;

/// The subprotocol before the token in `Sec-WebSocket-Protocol: bearer, TOKEN`.
const BEARER: &str = "bearer";

/// The query parameter of RFC 6750 section 2.3.
const PARAMETER: &str = "access_token";

/// The places besides `Authorization` in which a route accepts a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenPlaces {
    /// `Sec-WebSocket-Protocol: bearer, TOKEN`.
    pub websocket_protocol: bool,
    /// A cookie of this name. Browsers send it with requests of any page, so the origin is checked.
    pub cookie: Option<String>,
    /// The query parameter `access_token`.
    pub query: bool,
}

/// A token that was moved.
#[derive(Debug)]
pub(crate) struct MovedToken {
    /// The subprotocol that the answer has to choose, if the token was beside one.
    pub(crate) subprotocol: Option<HeaderValue>,
}

/// Why a token in another place is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenPlaceError {
    /// There are tokens in several places.
    Several,
    /// The token is no text of a header field.
    Malformed,
    /// A page of another origin may have made the browser send the cookie.
    OtherOrigin,
}

/// Moves the token of a request to `Authorization`, if it is in another place. `cors` says which
/// other origins may send a cookie.
///
/// # Errors
/// If there are tokens in several places, or a page of another origin may have sent the cookie.
pub(crate) fn move_token(
    places: &TokenPlaces,
    cors: Option<&CorsConfig>,
    request: &mut Parts,
    is_tls: bool,
) -> Result<Option<MovedToken>, TokenPlaceError> {
    if *places == TokenPlaces::default() {
        return Ok(None);
    }
    let of_protocol = match places.websocket_protocol && is_websocket_upgrade(&request.headers) {
        true => take_from_protocols(&mut request.headers),
        false => None,
    };
    let of_cookie =
        places.cookie.as_ref().and_then(|name| take_from_cookies(&mut request.headers, name));
    let of_query = if places.query { take_from_query(request) } else { None };
    let is_in_field = request.headers.contains_key(AUTHORIZATION);
    let subprotocol = of_protocol.is_some().then(|| HeaderValue::from_static(BEARER));
    let token = match (of_protocol, of_query) {
        (Some(_), Some(_)) => return Err(TokenPlaceError::Several),
        (Some(_), None) | (None, Some(_)) if is_in_field => return Err(TokenPlaceError::Several),
        (Some(token), None) | (None, Some(token)) => token,
        // The browser adds the cookie by itself, so a token that the page has sent is meant.
        (None, None) if is_in_field => return Ok(None),
        (None, None) => {
            let Some(token) = of_cookie else { return Ok(None) };
            if !is_own_origin(cors, request, is_tls) {
                return Err(TokenPlaceError::OtherOrigin);
            }
            token
        }
    };
    let field = HeaderValue::from_str(&format!("Bearer {token}"));
    request.headers.insert(AUTHORIZATION, field.map_err(|_| TokenPlaceError::Malformed)?);
    Ok(Some(MovedToken { subprotocol }))
}

/// Takes the pair `bearer, TOKEN` out of the subprotocols of a WebSocket.
fn take_from_protocols(headers: &mut HeaderMap) -> Option<String> {
    let values: Vec<&str> = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .map(|it| it.to_str().ok())
        .collect::<Option<_>>()?;
    let names: Vec<&str> =
        values.iter().flat_map(|value| value.split(',')).map(str::trim).collect();
    let at = names.iter().position(|name| *name == BEARER)?;
    let token = (*names.get(at + 1)?).to_owned();
    let rest = [names.get(..at)?, names.get(at + 2..)?].concat().join(", ");
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    if !rest.is_empty() {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(&rest).ok()?);
    }
    Some(token)
}

/// Takes the cookies of a name out of a request. Several of them are one value that is no token.
fn take_from_cookies(headers: &mut HeaderMap, name: &str) -> Option<String> {
    let mut tokens = Vec::new();
    let mut rest = Vec::new();
    for field in headers.get_all(COOKIE) {
        for pair in field.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii) {
            let value = pair.strip_prefix(name.as_bytes()).and_then(|it| it.strip_prefix(b"="));
            match value {
                Some(value) => tokens.push(String::from_utf8_lossy(value).into_owned()),
                None => rest.push(pair),
            }
        }
    }
    if tokens.is_empty() {
        return None;
    }
    let rest = HeaderValue::from_bytes(&rest.join(&b"; "[..]));
    headers.remove(COOKIE);
    if let Some(rest) = rest.ok().filter(|rest| !rest.is_empty()) {
        headers.insert(COOKIE, rest);
    }
    Some(tokens.join(","))
}

/// Takes the parameter out of the query of a request.
fn take_from_query(request: &mut Parts) -> Option<String> {
    let query = request.uri.query()?;
    let mut tokens = Vec::new();
    let mut rest = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if *percent_decode(name.as_bytes()) == *PARAMETER.as_bytes() {
            let value = percent_decode(value.as_bytes());
            tokens.push(String::from_utf8_lossy(&value).into_owned());
        } else {
            rest.push(pair);
        }
    }
    if tokens.is_empty() {
        return None;
    }
    let path = request.uri.path();
    let target = match rest.is_empty() {
        true => Cow::Borrowed(path),
        false => Cow::Owned(format!("{path}?{}", rest.join("&"))),
    };
    let target: PathAndQuery = target.parse().ok()?;
    // A page that was opened with the token names its own address.
    let names_token = |referer: &HeaderValue| {
        let text = String::from_utf8_lossy(referer.as_bytes());
        percent_decode(text.as_bytes())
            .windows(PARAMETER.len())
            .any(|it| it == PARAMETER.as_bytes())
    };
    if request.headers.get(REFERER).is_some_and(names_token) {
        request.headers.remove(REFERER);
    }
    let mut uri = std::mem::take(&mut request.uri).into_parts();
    uri.path_and_query = Some(target);
    request.uri = uri.try_into().ok()?;
    Some(tokens.join(","))
}

/// Whether a request with a cookie comes from a page of its own origin or of one that the route
/// allows. Browsers name the origin in each request of another method than GET and HEAD, and in each
/// WebSocket; without it, only methods that change nothing are accepted.
fn is_own_origin(cors: Option<&CorsConfig>, request: &Parts, is_tls: bool) -> bool {
    let Some(origin) = request.headers.get(ORIGIN) else {
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        return is_read && !is_websocket_upgrade(&request.headers);
    };
    let is_allowed = cors.is_some_and(|cors| match &cors.origins {
        AllowedOrigins::Listed(_) => cors.origins.contain(origin),
        // Not every page of the web may act for the user.
        AllowedOrigins::Any => false,
    });
    let host = request.headers.get(HOST).map(HeaderValue::as_bytes);
    // Over TLS, a page without it may come from anyone on the network.
    let schemes: &[&[u8]] = if is_tls { &[b"https://"] } else { &[b"https://", b"http://"] };
    let own = schemes.iter().find_map(|scheme| origin.as_bytes().strip_prefix(*scheme));
    let is_own = own.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host));
    is_allowed || is_own
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn parts(method: &str, target: &str, fields: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn a_token_is_taken_out_of_the_subprotocols() {
        for (value, token, rest) in [
            ("bearer, a.b.c", Some("a.b.c"), None),
            ("chat,bearer,a.b.c , v2", Some("a.b.c"), Some("chat, v2")),
            ("bearer", None, Some("bearer")),
            ("chat", None, Some("chat")),
            ("Bearer, x", None, Some("Bearer, x")),
        ] {
            let mut request = parts("GET", "/", &[("sec-websocket-protocol", value)]);
            assert_eq!(take_from_protocols(&mut request.headers).as_deref(), token, "{value}");
            let left = request.headers.get("sec-websocket-protocol");
            assert_eq!(left.map(|it| it.to_str().expect("text")), rest, "{value}");
        }
    }

    #[test]
    fn a_token_is_taken_out_of_the_cookies() {
        for (value, token, rest) in [
            ("sid=a.b.c", Some("a.b.c"), None),
            ("x=1; sid=a.b.c;y=2", Some("a.b.c"), Some("x=1; y=2")),
            ("sid=a; sid=b", Some("a,b"), None),
            ("xsid=a", None, Some("xsid=a")),
            ("sid", None, Some("sid")),
        ] {
            let mut request = parts("GET", "/", &[("cookie", value)]);
            assert_eq!(take_from_cookies(&mut request.headers, "sid").as_deref(), token, "{value}");
            let left = request.headers.get("cookie");
            assert_eq!(left.map(|it| it.to_str().expect("text")), rest, "{value}");
        }
    }

    #[test]
    fn a_token_is_taken_out_of_the_query() {
        for (target, token, rest) in [
            ("/x?access_token=a.b.c", Some("a.b.c"), "/x"),
            ("/x?a=1&%61ccess_token=a%2Eb&b", Some("a.b"), "/x?a=1&b"),
            ("/x?access_token=a&access_token=b", Some("a,b"), "/x"),
            ("/x?access_token", Some(""), "/x"),
            ("/x?access_tokens=a", None, "/x?access_tokens=a"),
            ("http://h/x?access_token=a", Some("a"), "http://h/x"),
        ] {
            let mut request = parts("GET", target, &[]);
            assert_eq!(take_from_query(&mut request).as_deref(), token, "{target}");
            assert_eq!(request.uri.to_string(), rest, "{target}");
        }
    }
}
