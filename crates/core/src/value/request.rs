//! The request line: method, target, protocol.
//!
//! Sources: RFC 9112, section 3 (the line), RFC 3986, section 3 (the parts of a URL). Servers log
//! the line as they received it, so more is accepted than the RFC allows: spaces in the target,
//! lower case methods, and versions other than HTTP/1.x.
//!
//! ```text
//! GET /a?b=c HTTP/1.1          method GET, path /a, query b=c, protocol HTTP/1.1
//! GET https://h:443/a HTTP/2   with `split_url` also host h, without its port
//! CONNECT h:443 HTTP/1.1       path h:443, no query
//! GET /a                       method GET, path /a, no protocol (HTTP/0.9, and some servers)
//! -                            not a request line
//! ```
//!
//! The method and the protocol are checked, the target is not: a line is worth counting under
//! whatever target a client sent. A text that fails the checks, such as the bytes of a TLS
//! handshake on a plain port, is kept as a whole in the field `request`.
//!
//! All parts are slices of the line. Nothing is decoded: `%2F` stays `%2F`, and `//a` stays `//a`.

use crate::line::short_memchr;

/// The three parts of an HTTP request line, borrowed.
///
/// Method and target are not empty, and no part begins or ends with the space that separated it from
/// the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    /// Empty if the line has none.
    pub(crate) protocol: &'a [u8],
}

impl<'a> RequestLine<'a> {
    /// Splits `METHOD target HTTP/x` or `METHOD target HTTP/x.y`. The method is a token. The
    /// target is the text between the first and the last space, so it may itself contain spaces.
    /// Returns `None` if the text is not an HTTP request line.
    ///
    /// The version has one number or two, since HTTP/2 and HTTP/3 are logged as `HTTP/2.0` by some
    /// servers and `HTTP/2` by others. In a line without a version, as in HTTP/0.9, the method is one
    /// of RFC 9110, and the target is a path or a URL without spaces.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let first = short_memchr(b' ', text)?;
        // The protocol is nearly always "HTTP/x.y", so try the place of its space first.
        let (last, is_http) = match text.last_chunk::<9>() {
            Some([b' ', b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9']) => {
                (text.len() - 9, true)
            }
            _ => {
                let last = memchr::memrchr(b' ', text)?;
                (last, is_http_version(&text[last + 1..]))
            }
        };
        if !is_http {
            return Self::without_version(text, first);
        }
        let method = &text[..first];
        let protocol = &text[last + 1..];
        if first == last || first == 0 || !is_token(method) {
            return None;
        }
        Some(Self { method, target: &text[first + 1..last], protocol })
    }

    /// Splits `METHOD target`, whose space is at `first`.
    #[cold]
    fn without_version(text: &'a [u8], first: usize) -> Option<Self> {
        // Tomcat writes the space before a version that is not there.
        let (method, target) = (&text[..first], text[first + 1..].trim_ascii_end());
        let is_target = target.first() == Some(&b'/') || split_url(target).is_some();
        let is_usual = is_standard_method(method) && method != b"CONNECT";
        let is_line = is_usual && is_target && !target.contains(&b' ');
        is_line.then_some(Self { method, target, protocol: b"" })
    }
}

/// The methods of RFC 9110 and RFC 5789, which are case-sensitive.
pub(crate) const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// Whether the text is one of [`METHODS`].
pub(crate) fn is_standard_method(text: &[u8]) -> bool {
    METHODS.iter().any(|method| method.as_bytes() == text)
}

/// Whether the text may be the method of a request line: a token of RFC 9110, section 5.6.2. A client chooses
/// it, so no such text makes the path unknown; the version at the end shows that it is a request line. One
/// without a letter, such as `-`, stands for no method.
#[inline]
fn is_token(text: &[u8]) -> bool {
    matches!(text, b"GET" | b"POST" | b"HEAD") || is_unusual_token(text)
}

fn is_unusual_token(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    text.iter().all(is_part) && text.iter().any(u8::is_ascii_alphabetic)
}

/// Whether the text is a method where nothing else shows it: letters, and in some `-` or `_`, as in `M-SEARCH`. RFC 9110, section
/// 5.6.2, allows more, but a text with digits or dots is a number, a host or an identifier. One without a
/// letter, such as `-`, stands for no method.
pub(crate) fn is_method(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    text.iter().all(is_part) && text.iter().any(u8::is_ascii_alphabetic)
}

/// Whether the text is `HTTP/` and a version of one number or two.
fn is_http_version(text: &[u8]) -> bool {
    let Some(version) = text.strip_prefix(b"HTTP/") else { return false };
    let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    match memchr::memchr(b'.', version) {
        Some(dot) => all_digits(&version[..dot]) && all_digits(&version[dot + 1..]),
        None => all_digits(version),
    }
}

/// Splits a request target at its first `?` into path and query.
///
/// A fragment (`#`) is not sent by browsers and is left in its part. A target that begins with `?`
/// has an empty path.
pub(crate) fn split_target(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Splits a URL such as `https://example.com:443/a?b` into the host without its port and the
/// request target. Returns `None` if the text is not such a URL, for instance if it is a path.
///
/// The scheme has letters and digits alone and at most 15 of them, so that a path with a colon is
/// not mistaken for a URL. User information before an `@` stays part of the host.
pub(crate) fn split_url(url: &[u8]) -> Option<(&[u8], &[u8])> {
    const SCHEME_BYTES_MAX: usize = 16;
    let head = &url[..url.len().min(SCHEME_BYTES_MAX)];
    let colon = memchr::memchr(b':', head)?;
    let rest = url[colon + 1..].strip_prefix(b"//")?;
    if colon == 0 || !url[..colon].iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let length = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    let target = if length == rest.len() { b"/" } else { &rest[length..] };
    Some((without_port(&rest[..length]), target))
}

/// Removes the port of `192.0.2.1:80`, `[::1]:80` or `host:80`. An IPv6 address without brackets
/// has no port.
fn without_port(value: &[u8]) -> &[u8] {
    split_port(value).0
}

/// Splits an address or host into the part that `without_port` returns and the digits of the
/// port.
pub(crate) fn split_port(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    let Some(colon) = memchr::memrchr(b':', value) else { return (value, None) };
    let (host, port) = (&value[..colon], &value[colon + 1..]);
    if port.is_empty() || !port.iter().all(u8::is_ascii_digit) {
        return (value, None);
    }
    match host {
        [b'[', inside @ .., b']'] => (inside, Some(port)),
        [_, ..] if !host.contains(&b':') => (host, Some(port)),
        _ => (value, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestLine, split_port, split_target, split_url};

    #[test]
    fn splits_urls() {
        let split = |url: &'static str| split_url(url.as_bytes());
        let parts =
            |host: &'static str, target: &'static str| Some((host.as_bytes(), target.as_bytes()));
        assert_eq!(split("https://www.example.com:443/a?b"), parts("www.example.com", "/a?b"));
        assert_eq!(split("http://[2001:db8::1]:80"), parts("2001:db8::1", "/"));
        assert_eq!(split("ftp://h?q"), parts("h", "?q"));
        assert_eq!(split("/a?u=http://example.com/"), None);
        assert_eq!(split("example.com:443"), None);
        assert_eq!(split("://h/"), None);
        assert_eq!(split_port(b"[fe80::1]:443"), (&b"fe80::1"[..], Some(&b"443"[..])));
        assert_eq!(split_port(b"fe80::1"), (&b"fe80::1"[..], None));
    }

    fn parts(text: &str) -> Option<(&str, &str, &str)> {
        let line = RequestLine::parse(text.as_bytes())?;
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        Some((text(line.method), text(line.target), text(line.protocol)))
    }

    #[test]
    fn reads_http() {
        assert_eq!(parts("GET / HTTP/1.1"), Some(("GET", "/", "HTTP/1.1")));
        assert_eq!(parts("get /a b c HTTP/2"), Some(("get", "/a b c", "HTTP/2")));
        assert_eq!(parts("GET /a  HTTP/2.0"), Some(("GET", "/a ", "HTTP/2.0")));
        assert_eq!(parts("GET  HTTP/1.1"), Some(("GET", "", "HTTP/1.1")));
        assert_eq!(parts("M-SEARCH * HTTP/1.1"), Some(("M-SEARCH", "*", "HTTP/1.1")));
        assert_eq!(parts("SSTP_DUPLEX_POST /sra HTTP/1.1").map(|parts| parts.1), Some("/sra"));
        assert_eq!(parts("GET /x HTTP/10.25"), Some(("GET", "/x", "HTTP/10.25")));
        assert_eq!(parts("GET /x?y"), Some(("GET", "/x?y", "")));
        assert_eq!(parts("HEAD http://h/x"), Some(("HEAD", "http://h/x", "")));
    }

    #[test]
    fn refuses_other_texts() {
        for text in [
            "",
            "-",
            "GET",
            "get /",
            "CONNECT /",
            "GET a",
            "GET /a b",
            "GET HTTP/1.1",
            " GET / HTTP/1.1",
            "GET / HTTP/1.1 ",
            "GET / HTTP/",
            "GET / HTTP/1.",
            "GET / HTTP/.1",
            "GET / http/1.1",
            "G(ET / HTTP/1.1",
            "3.14 / HTTP/1.1",
            "- - HTTP/1.1",
            "GET / HTTP/1.x",
            r"\x16\x03\x01 / HTTP/1.1",
            "GET / RTSP/1.0",
            "HTTP/1.1",
        ] {
            assert_eq!(parts(text), None, "{text:?}");
        }
    }

    #[test]
    fn splits_at_the_first_question_mark() {
        assert_eq!(split_target(b"/a?b?c"), (&b"/a"[..], Some(&b"b?c"[..])));
        assert_eq!(split_target(b"/a?"), (&b"/a"[..], Some(&b""[..])));
        assert_eq!(split_target(b"/a"), (&b"/a"[..], None));
    }
}
