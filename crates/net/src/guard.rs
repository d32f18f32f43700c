//! Which requests a loopback server may answer.
//!
//! Any page in a browser can send requests to a server on the same machine: to its address
//! (WebSocket handshakes are not even subject to the same-origin policy), or to a domain of its
//! own that resolves to 127.0.0.1 (DNS rebinding). The browser reveals both, in `Origin` and in
//! `Host`, so both are compared with the addresses of the server.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Request, StatusCode};

/// The port that a URL of scheme `http` means when it names none.
const HTTP_PORT: u16 = 80;

/// The authorities (host and port) that a server answers to.
#[derive(Clone, Debug)]
pub struct HostGuard {
    allowed: Vec<Authority>,
}

impl HostGuard {
    /// Allows the names of this machine itself: `127.0.0.1`, `localhost` and `[::1]`, each at
    /// `port`.
    pub fn loopback(port: u16) -> Self {
        let hosts = [
            Host::Address(Ipv4Addr::LOCALHOST.into()),
            Host::Name("localhost".to_owned()),
            Host::Address(Ipv6Addr::LOCALHOST.into()),
        ];
        Self { allowed: hosts.into_iter().map(|host| Authority { host, port }).collect() }
    }

    /// Allows one more authority, as in a URL: `logs.example:8080`; without a port, port 80.
    pub fn allow(mut self, authority: &str) -> Result<Self, InvalidAuthority> {
        let parsed = Authority::parse(authority);
        self.allowed.push(parsed.ok_or_else(|| InvalidAuthority(authority.to_owned()))?);
        Ok(self)
    }

    /// Checks that a request is for this server and, if a page sent it, that the page is the
    /// server's own.
    ///
    /// - `Host` (RFC 9110 section 7.2) must be present exactly once and be allowed.
    /// - An absolute request target (RFC 9112 section 3.2.2) must be of scheme `http` and be
    ///   allowed as well.
    /// - `Origin` (RFC 6454 section 7) may be absent, because programs other than browsers do not send it.
    ///   Otherwise it must be one allowed `http` origin; `null`, which sandboxed pages and local
    ///   files send, is refused.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), GuardError> {
        if !self.is_for_this_server(request) {
            return Err(GuardError::MisdirectedHost);
        }
        match values(request.headers(), ORIGIN) {
            Values::None => Ok(()),
            Values::One(origin) if self.is_own_origin(origin) => Ok(()),
            _ => Err(GuardError::ForeignOrigin),
        }
    }

    fn is_for_this_server<B>(&self, request: &Request<B>) -> bool {
        let Values::One(host) = values(request.headers(), HOST) else { return false };
        let target = request.uri();
        let is_own_target = target.authority().is_none_or(|a| self.allows(a.as_str()));
        let is_own_scheme = target.scheme_str().is_none_or(|s| s.eq_ignore_ascii_case("http"));
        host.to_str().is_ok_and(|host| self.allows(host)) && is_own_target && is_own_scheme
    }

    fn is_own_origin(&self, origin: &HeaderValue) -> bool {
        let Some((scheme, authority)) = origin.to_str().ok().and_then(|o| o.split_once("://"))
        else {
            return false;
        };
        scheme.eq_ignore_ascii_case("http") && self.allows(authority)
    }

    fn allows(&self, authority: &str) -> bool {
        Authority::parse(authority).is_some_and(|authority| self.allowed.contains(&authority))
    }
}

/// Why a [`HostGuard`] refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardError {
    /// The request names another host than this server's, no host, or several.
    MisdirectedHost,
    /// The request was sent by a page of another origin.
    ForeignOrigin,
}

impl GuardError {
    /// `421 Misdirected Request` (RFC 9110 section 15.5.20) or `403 Forbidden`.
    pub fn status(self) -> StatusCode {
        match self {
            GuardError::MisdirectedHost => StatusCode::MISDIRECTED_REQUEST,
            GuardError::ForeignOrigin => StatusCode::FORBIDDEN,
        }
    }
}

impl fmt::Display for GuardError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            GuardError::MisdirectedHost => {
                "the request names a host that this server does not answer to; \
                 use the address that the server printed"
            }
            GuardError::ForeignOrigin => "the request was sent by a page of another site",
        })
    }
}

impl std::error::Error for GuardError {}

/// A text that is not a valid `host` or `host:port`, from [`HostGuard::allow`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAuthority(String);

impl fmt::Display for InvalidAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is not a valid host; write HOST or HOST:PORT", self.0)
    }
}

impl std::error::Error for InvalidAuthority {}

/// A host and a port in one spelling, so that equal ones compare equal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// Lower case: host names are case-insensitive (RFC 3986 section 3.2.2).
    Name(String),
    Address(IpAddr),
}

impl Authority {
    /// Parses `host [":" port]` (RFC 3986 section 3.2), without user information.
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (Host::Address(IpAddr::V6(address.parse().ok()?)), port)
            }
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                (Host::parse(name)?, port)
            }
        };
        Some(Self { host, port: parse_port(port)? })
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if text.is_empty() || !text.bytes().all(is_name_byte) {
            return None;
        }
        let address = text.parse::<Ipv4Addr>().map(|address| Host::Address(address.into()));
        Some(address.unwrap_or_else(|_| Host::Name(text.to_ascii_lowercase())))
    }
}

/// Parses what follows the host: nothing, `:` or `:8080`.
fn parse_port(text: &str) -> Option<u16> {
    if text.is_empty() || text == ":" {
        return Some(HTTP_PORT);
    }
    let digits = text.strip_prefix(':')?;
    // `u16::from_str` would also take a leading plus.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

enum Values<'a> {
    None,
    One(&'a HeaderValue),
    Several,
}

fn values(headers: &HeaderMap, name: HeaderName) -> Values<'_> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Values::None,
        (Some(value), None) => Values::One(value),
        (Some(_), Some(_)) => Values::Several,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Result<(), GuardError> = Ok(());
    const HOST_REFUSED: Result<(), GuardError> = Err(GuardError::MisdirectedHost);
    const ORIGIN_REFUSED: Result<(), GuardError> = Err(GuardError::ForeignOrigin);

    fn check(guard: &HostGuard, target: &str, fields: &[(&str, &str)]) -> Result<(), GuardError> {
        let mut request = Request::builder().uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).unwrap())
    }

    #[test]
    fn hosts() {
        let guard = HostGuard::loopback(8080).allow("Logs.Example:9090").unwrap();
        for (host, expected) in [
            ("127.0.0.1:8080", OK),
            ("localhost:8080", OK),
            ("LocalHost:8080", OK),
            ("[::1]:8080", OK),
            ("[0:0:0:0:0:0:0:1]:8080", OK),
            ("logs.example:9090", OK),
            ("logs.example:8080", HOST_REFUSED),
            ("localhost", HOST_REFUSED),
            ("localhost:", HOST_REFUSED),
            ("localhost:80", HOST_REFUSED),
            ("localhost:+8080", HOST_REFUSED),
            ("localhost:8080:8080", HOST_REFUSED),
            ("localhost:73616", HOST_REFUSED),
            ("evil@localhost:8080", HOST_REFUSED),
            ("localhost.:8080", HOST_REFUSED),
            ("localhost.evil.example:8080", HOST_REFUSED),
            ("127.0.0.2:8080", HOST_REFUSED),
            ("127.1:8080", HOST_REFUSED),
            ("::1:8080", HOST_REFUSED),
            ("[::1:8080", HOST_REFUSED),
            ("[::1]8080", HOST_REFUSED),
            ("", HOST_REFUSED),
            (":8080", HOST_REFUSED),
        ] {
            assert_eq!(check(&guard, "/", &[("host", host)]), expected, "{host:?}");
        }
    }

    #[test]
    fn port_80_may_be_left_out() {
        let guard = HostGuard::loopback(80).allow("logs.example").unwrap();
        for host in ["localhost", "localhost:", "localhost:80", "127.0.0.1", "[::1]"] {
            assert_eq!(check(&guard, "/", &[("host", host)]), OK, "{host:?}");
        }
        for origin in ["http://localhost", "http://localhost:80", "http://logs.example"] {
            let fields = [("host", "localhost"), ("origin", origin)];
            assert_eq!(check(&guard, "/", &fields), OK, "{origin:?}");
        }
    }

    #[test]
    fn host_must_be_present_exactly_once() {
        let guard = HostGuard::loopback(8080);
        let host = ("host", "localhost:8080");
        assert_eq!(check(&guard, "/", &[]), HOST_REFUSED);
        assert_eq!(check(&guard, "/", &[host, host]), HOST_REFUSED);
    }

    #[test]
    fn absolute_targets_count_too() {
        let guard = HostGuard::loopback(8080);
        let host = [("host", "localhost:8080")];
        assert_eq!(check(&guard, "http://127.0.0.1:8080/x", &host), OK);
        assert_eq!(check(&guard, "http://evil.example/x", &host), HOST_REFUSED);
        assert_eq!(check(&guard, "https://127.0.0.1:8080/x", &host), HOST_REFUSED);
        let other_host = [("host", "evil.example")];
        assert_eq!(check(&guard, "http://127.0.0.1:8080/x", &other_host), HOST_REFUSED);
    }

    #[test]
    fn origins() {
        let guard = HostGuard::loopback(8080);
        for (origin, expected) in [
            ("http://localhost:8080", OK),
            ("http://127.0.0.1:8080", OK),
            ("HTTP://LOCALHOST:8080", OK),
            ("http://[::1]:8080", OK),
            ("null", ORIGIN_REFUSED),
            ("", ORIGIN_REFUSED),
            ("http://localhost", ORIGIN_REFUSED),
            ("http://localhost:8081", ORIGIN_REFUSED),
            ("https://localhost:8080", ORIGIN_REFUSED),
            ("http://evil.example", ORIGIN_REFUSED),
            ("http://localhost:8080/", ORIGIN_REFUSED),
            ("http://localhost:8080 http://evil.example", ORIGIN_REFUSED),
            ("localhost:8080", ORIGIN_REFUSED),
        ] {
            let fields = [("host", "localhost:8080"), ("origin", origin)];
            assert_eq!(check(&guard, "/", &fields), expected, "{origin:?}");
        }
        let own = ("origin", "http://localhost:8080");
        let twice = [("host", "localhost:8080"), own, own];
        assert_eq!(check(&guard, "/", &twice), ORIGIN_REFUSED);
    }

    #[test]
    fn invalid_authorities_cannot_be_allowed() {
        for text in ["", "a b", "http://x", "x:99999", "[::1"] {
            assert!(HostGuard::loopback(1).allow(text).is_err(), "{text:?}");
        }
    }
}
