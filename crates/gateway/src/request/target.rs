//! The host and the path by which a request is routed.
//!
//! Routes control access, so they must match the path that the backend will use. Servers differ in
//! how they resolve dot segments, merge slashes and decode percent encoding. A request with an
//! ambiguous path is therefore refused.

use std::borrow::Cow;
use std::fmt::Write;

use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method, Version};
use weir_net::hex_digit;

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget<'a> {
    /// The host name as sent, without port and final dot; `None` only in HTTP/1.0.
    pub(crate) host: Option<&'a str>,
    /// The percent-decoded path, but for encoded slashes: `%2F`.
    pub(crate) path: Cow<'a, str>,
    /// Whether servers differ in its segments.
    pub(crate) has_doubtful_slashes: bool,
    /// The path as sent.
    pub(crate) raw_path: &'a str,
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
}

/// Why a request cannot be routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetError {
    /// The method is `CONNECT`, which opens tunnels, or `TRACE`, which reveals the fields that the
    /// gateway adds.
    Method,
    /// There is no valid host, or more than one (RFC 9112 section 3.2).
    Host,
    /// The path is ambiguous.
    Path,
}

impl<'a> RequestTarget<'a> {
    /// Reads the target of a request. The host of an absolute target replaces `Host` (RFC 9112
    /// section 3.2.2).
    ///
    /// # Errors
    /// If the method is refused, or the host or path is invalid or ambiguous.
    pub(crate) fn read(request: &'a mut Parts) -> Result<Self, TargetError> {
        if matches!(request.method, Method::CONNECT | Method::TRACE) {
            return Err(TargetError::Method);
        }
        normalize_host(request)?;
        let request: &'a Parts = request;
        let host = request.headers.get(HOST).map(host_name).transpose()?;
        let raw_path = request.uri.path();
        let DecodedPath { text: path, has_doubtful_slashes } =
            DecodedPath::decode(raw_path).ok_or(TargetError::Path)?;
        let Parts { method, headers, .. } = request;
        Ok(Self { host, path, has_doubtful_slashes, raw_path, method, headers })
    }
}

/// Sets `Host` to the only valid host of a request; HTTP/1.0 needs none.
fn normalize_host(request: &mut Parts) -> Result<(), TargetError> {
    let mut hosts = request.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let authority = match (first, second, request.uri.authority()) {
        (_, Some(_), _) => return Err(TargetError::Host),
        (_, None, Some(target)) => Some(target.clone()),
        (Some(host), None, None) if is_plain_host(host.as_bytes()) => return Ok(()),
        (Some(host), None, None) => Some(parse_authority(host).ok_or(TargetError::Host)?),
        (None, None, None) => None,
    };
    let Some(authority) = authority else {
        return match request.version {
            Version::HTTP_10 => Ok(()),
            _ => Err(TargetError::Host),
        };
    };
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return Err(TargetError::Host);
    }
    let value = HeaderValue::from_str(authority.as_str()).map_err(|_| TargetError::Host)?;
    request.headers.insert(HOST, value);
    Ok(())
}

/// Whether a host is a name or an IPv4 address, with or without a port. Most are, and need no full
/// parse.
fn is_plain_host(host: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let end = host.iter().position(|byte| !is_plain(byte)).unwrap_or(host.len());
    let (name, port) = host.split_at(end);
    let is_port = match port {
        [] => true,
        [b':', digits @ ..] => digits.len() < 6 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_port && !name.is_empty()
}

/// Returns a host as `$host` of nginx has it: in lower case, without port and final dot. Returns
/// what was sent if that is not a host.
pub(crate) fn normal_host(host: &HeaderValue) -> Cow<'_, [u8]> {
    match host_name(host) {
        Ok(name) if name.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Cow::Owned(name.to_ascii_lowercase().into_bytes())
        }
        Ok(name) => Cow::Borrowed(name.as_bytes()),
        Err(_) => Cow::Borrowed(host.as_bytes()),
    }
}

/// Returns the name in a valid host, without port and final dot. nginx refuses empty labels too,
/// because servers would differ in how many final dots they ignore.
fn host_name(host: &HeaderValue) -> Result<&str, TargetError> {
    let host = host.to_str().map_err(|_| TargetError::Host)?;
    let end = match host.find(']') {
        // Colons before the bracket belong to an IPv6 address.
        Some(bracket) => bracket + 1,
        None => host.find(':').unwrap_or(host.len()),
    };
    let name = host.get(..end).unwrap_or(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.split('.').any(str::is_empty) {
        true => Err(TargetError::Host),
        false => Ok(name),
    }
}

fn parse_authority(host: &HeaderValue) -> Option<Authority> {
    host.to_str().ok()?.parse().ok()
}

/// A percent-decoded path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DecodedPath<'a> {
    /// The path. An encoded slash is a part of its segment and stays encoded, as `%2F`; there is no
    /// other `%`.
    text: Cow<'a, str>,
    /// Whether servers differ in its segments: it has empty ones, which some drop, or encoded
    /// slashes, which some decode.
    has_doubtful_slashes: bool,
}

impl<'a> DecodedPath<'a> {
    /// Returns `None` if the path has dot segments, or characters that some servers treat as slashes
    /// or as its end.
    fn decode(path: &'a str) -> Option<Self> {
        if is_plain_path(path.as_bytes()) {
            return Some(Self { text: Cow::Borrowed(path), has_doubtful_slashes: false });
        }
        let text = decode_bytes(path.as_bytes())?;
        let segments = text.strip_prefix('/')?.split('/');
        if segments.clone().flat_map(|segment| segment.split("%2F")).any(is_dropped) {
            return None;
        }
        let inner = segments.rev().skip(1);
        let has_doubtful_slashes = text.contains('%') || inner.into_iter().any(str::is_empty);
        Some(Self { text: Cow::Owned(text), has_doubtful_slashes })
    }
}

/// Percent-decodes the bytes of a path, except slashes.
fn decode_bytes(path: &[u8]) -> Option<String> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.iter();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let (high, low) = (rest.next()?, rest.next()?);
                match hex_digit(*high)? << 4 | hex_digit(*low)? {
                    b'%' => return None,
                    b'/' => {
                        decoded.extend_from_slice(b"%2F");
                        continue;
                    }
                    byte => byte,
                }
            }
            byte => *byte,
        };
        if matches!(byte, b'\\' | 0..b' ' | 0x7f) {
            return None;
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).ok()
}

/// Whether a segment is resolved or dropped by servers. Some remove parameters before that.
fn is_dropped(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    matches!(name, "." | "..") || name.is_empty() && !segment.is_empty()
}

/// Percent-decodes a path. Returns `None` if servers may read it in different ways.
pub(crate) fn decode_path(path: &str) -> Option<Cow<'_, str>> {
    let decoded = DecodedPath::decode(path)?;
    (!decoded.has_doubtful_slashes).then_some(decoded.text)
}

/// Percent-encodes a path as clients do: only what a segment must not have (RFC 3986 section 3.3).
pub(crate) fn encode_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match is_plain(byte) {
            true => encoded.push(char::from(byte)),
            // Writing to a string cannot fail.
            false => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

/// Whether a path is certainly unambiguous and has nothing to decode.
fn is_plain_path(path: &[u8]) -> bool {
    let is_doubtful = |pair: &[u8]| matches!(pair, [b'/', b'/' | b'.']);
    path.first() == Some(&b'/')
        && path.iter().all(|byte| is_plain(*byte))
        && !path.windows(2).any(is_doubtful)
}

/// Whether a byte of a path stands for itself and nothing else.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,=:@/".contains(&byte)
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use hyper::Version;

    use super::{RequestTarget, TargetError};

    /// The host and the path of a request.
    fn read(
        method: &str,
        target: &str,
        hosts: &[&str],
    ) -> Result<(Option<String>, String, bool), TargetError> {
        let mut request = Request::builder().method(method).uri(target);
        for host in hosts {
            request = request.header("host", *host);
        }
        let mut parts = request.body(()).expect("a request").into_parts().0;
        let target = RequestTarget::read(&mut parts)?;
        let host = target.host.map(str::to_owned);
        Ok((host, target.path.into_owned(), target.has_doubtful_slashes))
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
            ("/a/../b", None),
            ("/a/%2e%2e/b", None),
            ("/a/.%2E", None),
            ("/./a", None),
            ("/a/..;/b", None),
            ("/;x/a", None),
            ("//../b", None),
            ("/a%2f..%2Fb", None),
            ("/a%2f%2e", None),
            ("/a%2f..;x/b", None),
            ("/a%2F;x", None),
            ("/a;x%2f../b", None),
            ("/a//;x", None),
            ("/a%2f%5cb", None),
            ("/a%252fb", None),
            ("/a%5cb", None),
            ("/a%00", None),
            ("/a%252e", None),
            ("/a%zz", None),
            ("/a%4", None),
            ("/a%ff", None),
        ] {
            let read = read("GET", path, &["a.example"]);
            let plain = read.ok().map(|(_, path, is_doubtful)| {
                assert!(!is_doubtful, "{path}");
                path
            });
            assert_eq!(plain.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn encoded_and_repeated_slashes_are_doubtful() {
        for (path, expected) in [
            ("//", "//"),
            ("//api", "//api"),
            ("/a//b", "/a//b"),
            ("/a//", "/a//"),
            ("/a%2fb", "/a%2Fb"),
            ("/%2F", "/%2F"),
            ("/a;x=%2f/%62", "/a;x=%2F/b"),
        ] {
            let read = read("GET", path, &["a.example"]).expect(path);
            assert_eq!((&*read.1, read.2), (expected, true), "{path}");
            assert_eq!(super::decode_path(path), None, "{path}");
        }
    }

    #[test]
    fn a_request_has_one_host() {
        for (target, hosts, expected) in [
            ("/", &["Shop.example:8080"][..], Ok(Some("Shop.example"))),
            ("/", &["shop.example.:80"], Ok(Some("shop.example"))),
            ("/", &["shop.example:"], Ok(Some("shop.example"))),
            ("/", &[":80"], Err(TargetError::Host)),
            ("/", &["a]b"], Err(TargetError::Host)),
            ("/", &["shop.example."], Ok(Some("shop.example"))),
            ("/", &["shop.example.."], Err(TargetError::Host)),
            ("/", &["shop..example"], Err(TargetError::Host)),
            ("/", &["."], Err(TargetError::Host)),
            ("/", &["[::1]:80"], Ok(Some("[::1]"))),
            ("/", &[], Err(TargetError::Host)),
            ("/", &["a", "a"], Err(TargetError::Host)),
            ("/", &["a b"], Err(TargetError::Host)),
            ("/", &["user@a"], Err(TargetError::Host)),
            ("/", &[""], Err(TargetError::Host)),
            ("http://b.example/", &["a.example"], Ok(Some("b.example"))),
        ] {
            let read = read("GET", target, hosts).map(|(host, ..)| host);
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
