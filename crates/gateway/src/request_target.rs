//! The host and the path by which a request is routed.
//!
//! A route decides who may pass, so it must see the path that the backend will see. Servers resolve dot
//! segments, merge slashes and decode percent signs in different ways; a request whose path could mean
//! another one is refused instead of guessed at.

use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, Version};

/// Where a request is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    /// The name of the host in lower case, without port and final dot; `None` in HTTP/1.0.
    pub(crate) host: Option<String>,
    /// The path with its percent signs decoded.
    pub(crate) path: String,
}

/// Why a request cannot be routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetError {
    /// `CONNECT` opens tunnels, and `TRACE` shows what the gateway adds to a request.
    Method,
    /// There is no valid host, or several (RFC 9112 section 3.2).
    Host,
    /// The path could mean another one.
    Path,
}

impl RequestTarget {
    /// Reads the target of a request, and makes `Host` what an absolute target says (RFC 9112 section 3.2.2).
    ///
    /// # Errors
    /// If the request cannot be routed without a guess.
    pub(crate) fn read(request: &mut Parts) -> Result<Self, TargetError> {
        if matches!(request.method, Method::CONNECT | Method::TRACE) {
            return Err(TargetError::Method);
        }
        let host = read_host(request)?;
        let path = decode_path(request.uri.path()).ok_or(TargetError::Path)?;
        Ok(Self { host, path })
    }
}

fn read_host(request: &mut Parts) -> Result<Option<String>, TargetError> {
    let mut hosts = request.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let authority = match (first, second, request.uri.authority()) {
        (_, Some(_), _) => return Err(TargetError::Host),
        (_, None, Some(target)) => Some(target.clone()),
        (Some(host), None, None) => Some(parse_authority(host).ok_or(TargetError::Host)?),
        (None, None, None) => None,
    };
    let Some(authority) = authority else {
        return match request.version {
            Version::HTTP_10 => Ok(None),
            _ => Err(TargetError::Host),
        };
    };
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return Err(TargetError::Host);
    }
    let value = HeaderValue::from_str(authority.as_str()).map_err(|_| TargetError::Host)?;
    request.headers.insert(HOST, value);
    let name = authority.host();
    Ok(Some(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()))
}

fn parse_authority(host: &HeaderValue) -> Option<Authority> {
    host.to_str().ok()?.parse().ok()
}

/// Decodes a path; `None` if it has dot segments, empty segments, or characters that some servers take for
/// slashes or for the end.
fn decode_path(path: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes().iter();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let (high, low) = (rest.next()?, rest.next()?);
                let byte = hexadecimal(*high)? << 4 | hexadecimal(*low)?;
                if matches!(byte, b'/' | b'%') {
                    return None;
                }
                byte
            }
            byte => *byte,
        };
        if matches!(byte, b'\\' | 0..b' ' | 0x7f) {
            return None;
        }
        decoded.push(byte);
    }
    let decoded = String::from_utf8(decoded).ok()?;
    let mut segments = decoded.strip_prefix('/')?.split('/').peekable();
    while let Some(segment) = segments.next() {
        // Some servers cut parameters off before they look at dots.
        let name = segment.split(';').next().unwrap_or_default();
        let is_last = segments.peek().is_none();
        if matches!(name, "." | "..") || name.is_empty() && (!is_last || !segment.is_empty()) {
            return None;
        }
    }
    Some(decoded)
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::Version;

    use super::{RequestTarget, TargetError};

    fn read(method: &str, target: &str, hosts: &[&str]) -> Result<RequestTarget, TargetError> {
        let mut request = Request::builder().method(method).uri(target);
        for host in hosts {
            request = request.header("host", *host);
        }
        RequestTarget::read(&mut request.body(()).expect("a request").into_parts().0)
    }

    #[test]
    fn paths_that_could_mean_others_are_refused() {
        for (path, expected) in [
            ("/", Some("/")),
            ("/api/x", Some("/api/x")),
            ("/api/", Some("/api/")),
            ("/%61pi/x%20y", Some("/api/x y")),
            ("/a;b=1/c", Some("/a;b=1/c")),
            ("/a..b/.c/...", Some("/a..b/.c/...")),
            ("/caf%C3%A9", Some("/café")),
            ("//api", None),
            ("/a//b", None),
            ("/a/../b", None),
            ("/a/%2e%2e/b", None),
            ("/a/.%2E", None),
            ("/./a", None),
            ("/a/..;/b", None),
            ("/;x/a", None),
            ("/a%2fb", None),
            ("/a%5cb", None),
            ("/a%00", None),
            ("/a%252e", None),
            ("/a%zz", None),
            ("/a%4", None),
            ("/a%ff", None),
        ] {
            let read = read("GET", path, &["a.example"]);
            assert_eq!(read.ok().map(|target| target.path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_request_has_one_host() {
        for (target, hosts, expected) in [
            ("/", &["Shop.example:8080"][..], Ok(Some("shop.example"))),
            ("/", &["shop.example."], Ok(Some("shop.example"))),
            ("/", &["[::1]:80"], Ok(Some("[::1]"))),
            ("/", &[], Err(TargetError::Host)),
            ("/", &["a", "a"], Err(TargetError::Host)),
            ("/", &["a b"], Err(TargetError::Host)),
            ("/", &["user@a"], Err(TargetError::Host)),
            ("/", &[""], Err(TargetError::Host)),
            ("http://b.example/", &["a.example"], Ok(Some("b.example"))),
        ] {
            let read = read("GET", target, hosts).map(|target| target.host);
            assert_eq!(read, expected.map(|host| host.map(str::to_owned)), "{target} {hosts:?}");
        }
        let request = Request::builder().version(Version::HTTP_10).uri("/").body(());
        let mut parts = request.expect("a request").into_parts().0;
        assert_eq!(RequestTarget::read(&mut parts).map(|target| target.host), Ok(None));
    }

    #[test]
    fn an_absolute_target_is_the_host_that_the_backend_sees() {
        let request = Request::builder().uri("http://b.example/").header("host", "a.example");
        let mut parts = request.body(()).expect("a request").into_parts().0;
        RequestTarget::read(&mut parts).expect("a target");
        assert_eq!(parts.headers["host"], "b.example");
    }

    #[test]
    fn methods_for_proxies_are_refused() {
        for method in ["TRACE", "CONNECT"] {
            assert_eq!(read(method, "/", &["a"]), Err(TargetError::Method));
        }
    }
}
