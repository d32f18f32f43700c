//! Protection against requests that a browser was tricked into sending.
//!
//! Any page in a browser can send requests to a server on the same machine: to its address
//! (WebSocket handshakes are not even subject to the same-origin policy), or to a domain of its
//! own that resolves to 127.0.0.1 (DNS rebinding). The browser reveals the page in `Origin` and the
//! domain in `Host`, so both are compared with the addresses of the server.

use std::fmt;

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Request, StatusCode};

use crate::authority::{Authority, PublicUrl};
use crate::scheme::Scheme;

/// The authorities (host and port) that a server answers to.
#[derive(Clone, Debug, Default)]
pub struct HostGuard {
    allowed: Vec<Authority>,
    public: Option<PublicUrl>,
    allows_addresses: bool,
}

impl HostGuard {
    /// Creates a guard that allows only loopback names: `localhost`, `127.0.0.0/8` and `[::1]`,
    /// each with any port. A forwarded port (`ssh -L 9000:127.0.0.1:7878`) differs from the
    /// server's. No site can have such a name as its domain, so DNS rebinding cannot produce one.
    pub fn loopback() -> Self {
        Self::default()
    }

    /// Allows one more authority in the form of a URL, such as `logs.example:8080`. A missing port
    /// means the default port of the request's scheme.
    ///
    /// # Errors
    /// If the text is not a valid host or host and port.
    pub fn allow(mut self, authority: &str) -> Result<Self, InvalidAuthority> {
        let parsed = Authority::parse(authority);
        self.allowed.push(parsed.ok_or_else(|| InvalidAuthority(authority.to_owned()))?);
        Ok(self)
    }

    /// Allows every IP address with any port, for a server on all addresses of its machine. An
    /// origin with an address must then equal the host. DNS rebinding needs a name, so it cannot
    /// produce an address.
    #[must_use]
    pub fn allow_addresses(mut self) -> Self {
        self.allows_addresses = true;
        self
    }

    /// Allows the URL of a reverse proxy, as `Host` and as `Origin`. A proxy may send either its
    /// own name or the server's as `Host`.
    #[must_use]
    pub fn allow_url(mut self, url: PublicUrl) -> Self {
        self.public = Some(url);
        self
    }

    /// Checks that a request is for this server and, if a page sent it, that the page is the
    /// server's own.
    ///
    /// - `Host` (RFC 9110 section 7.2) must be present exactly once, be valid and be allowed.
    /// - An absolute request target (RFC 9112 section 3.2.2) must have the [`Scheme`] of the
    ///   connection and be allowed as well.
    /// - `Origin` (RFC 6454 section 7) may be absent, because programs other than browsers do not
    ///   send it. Otherwise it must be one allowed origin, with the same scheme. A loopback origin
    ///   must have the port of `Host`, because other programs on this machine serve pages at other
    ///   ports. `null`, which sandboxed pages and local files send, is refused.
    ///
    /// # Errors
    /// If the request is for another server, or a page of another origin sent it.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), GuardError> {
        let scheme = Scheme::of(request);
        let host = self.own_host(request, scheme)?;
        match field_values(request.headers(), ORIGIN) {
            FieldValues::None => Ok(()),
            FieldValues::One(origin) if self.is_own_origin(origin, &host, scheme) => Ok(()),
            _ => Err(GuardError::ForeignOrigin),
        }
    }

    /// Returns the host that the request names, if it is allowed.
    fn own_host<B>(&self, request: &Request<B>, scheme: Scheme) -> Result<Authority, GuardError> {
        let FieldValues::One(host) = field_values(request.headers(), HOST) else {
            return Err(GuardError::InvalidHost);
        };
        let text = host.to_str().map_err(|_| GuardError::InvalidHost)?;
        let host = Authority::parse(text).ok_or(GuardError::InvalidHost)?;
        let target = request.uri();
        let is_own_target = target.authority().is_none_or(|a| {
            Authority::parse(a.as_str()).is_some_and(|target| self.allows(&target, scheme))
        });
        let is_own_scheme =
            target.scheme_str().is_none_or(|text| text.eq_ignore_ascii_case(scheme.name()));
        if !self.allows(&host, scheme) {
            return Err(GuardError::MisdirectedHost(text.to_owned()));
        }
        match is_own_target && is_own_scheme {
            true => Ok(host),
            false => {
                let (scheme, authority) = (target.scheme_str(), target.authority());
                let authority = authority.map(|it| it.as_str()).unwrap_or_default();
                let name = format!("{}://{authority}", scheme.unwrap_or_default());
                Err(GuardError::MisdirectedHost(name))
            }
        }
    }

    fn is_own_origin(&self, origin: &HeaderValue, host: &Authority, scheme: Scheme) -> bool {
        let Some((origin_scheme, authority)) =
            origin.to_str().ok().and_then(|o| o.split_once("://"))
        else {
            return false;
        };
        let Some(authority) = Authority::parse(authority) else { return false };
        if self.public.as_ref().is_some_and(|url| url.is_origin(origin_scheme, &authority)) {
            return true;
        }
        let is_own_page = match authority.is_loopback() {
            true => host.is_loopback() && authority.port(scheme) == host.port(scheme),
            false if self.is_listed(&authority, scheme) => true,
            false => self.allows_addresses && authority.is_same(host, scheme),
        };
        origin_scheme.eq_ignore_ascii_case(scheme.name()) && is_own_page
    }

    fn allows(&self, authority: &Authority, scheme: Scheme) -> bool {
        let is_public = self.public.as_ref().is_some_and(|url| url.has_authority(authority));
        let is_allowed_address = self.allows_addresses && authority.is_address();
        authority.is_loopback()
            || is_public
            || is_allowed_address
            || self.is_listed(authority, scheme)
    }

    fn is_listed(&self, authority: &Authority, scheme: Scheme) -> bool {
        self.allowed.iter().any(|allowed| allowed.is_same(authority, scheme))
    }
}

/// The reason for which a [`HostGuard`] refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardError {
    /// The request names no host, several, or one that is not valid.
    InvalidHost,
    /// The request names this host, which the server does not answer to.
    MisdirectedHost(String),
    /// The request was sent by a page of another origin.
    ForeignOrigin,
}

impl GuardError {
    /// Returns the status of the response: `400 Bad Request` (RFC 9112 section 3.2),
    /// `421 Misdirected Request` (RFC 9110 section 15.5.20) or `403 Forbidden`.
    pub fn status(&self) -> StatusCode {
        match self {
            GuardError::InvalidHost => StatusCode::BAD_REQUEST,
            GuardError::MisdirectedHost(_) => StatusCode::MISDIRECTED_REQUEST,
            GuardError::ForeignOrigin => StatusCode::FORBIDDEN,
        }
    }
}

impl fmt::Display for GuardError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuardError::InvalidHost => formatter.write_str(
                "the request has no valid `Host`: it must be there once, as HOST or HOST:PORT",
            ),
            GuardError::MisdirectedHost(name) => {
                write!(
                    formatter,
                    "the request names the host `{}`, which this server does not answer to; use the \
                     address that the server printed, or start the server with this name and port in \
                     --public-url; a proxy in front must pass on both (nginx: proxy_set_header Host \
                     $http_host)",
                    shortened(name)
                )
            }
            GuardError::ForeignOrigin => formatter.write_str(
                "the request was sent by a page of another site; if that address leads to this \
                 server too, start the server with it as its --public-url",
            ),
        }
    }
}

impl std::error::Error for GuardError {}

/// The beginning of a name that a client has chosen. It is ASCII.
fn shortened(name: &str) -> &str {
    /// The longest name of DNS, a port and a scheme.
    const BYTES_MAX: usize = 270;
    name.get(..BYTES_MAX).unwrap_or(name)
}

/// The error of [`HostGuard::allow`]: a text that is not a valid `host` or `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAuthority(String);

impl fmt::Display for InvalidAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is not a valid host; write HOST or HOST:PORT", self.0)
    }
}

impl std::error::Error for InvalidAuthority {}

enum FieldValues<'a> {
    None,
    One(&'a HeaderValue),
    Several,
}

fn field_values(headers: &HeaderMap, name: HeaderName) -> FieldValues<'_> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => FieldValues::None,
        (Some(value), None) => FieldValues::One(value),
        (Some(_), Some(_)) => FieldValues::Several,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Result<(), GuardError> = Ok(());
    const HOST_REFUSED: Result<(), GuardError> = Err(GuardError::MisdirectedHost(String::new()));
    const HOST_INVALID: Result<(), GuardError> = Err(GuardError::InvalidHost);
    const ORIGIN_REFUSED: Result<(), GuardError> = Err(GuardError::ForeignOrigin);

    fn check(guard: &HostGuard, target: &str, fields: &[(&str, &str)]) -> Result<(), GuardError> {
        let mut request = Request::builder().uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).unwrap()).map_err(without_name)
    }

    fn without_name(error: GuardError) -> GuardError {
        match error {
            GuardError::MisdirectedHost(_) => GuardError::MisdirectedHost(String::new()),
            other => other,
        }
    }

    #[test]
    fn the_host_that_came_is_named() {
        let said = |target: &str, host: &str| {
            let request = Request::builder().uri(target).header("Host", host).body(()).unwrap();
            HostGuard::loopback().check(&request).unwrap_err().to_string()
        };
        let text = said("/", "logs.example");
        assert!(text.contains("the host `logs.example`, which"), "{text}");
        assert!(text.contains("--public-url"), "{text}");
        let text = said("http://other.example/", "localhost");
        assert!(text.contains("the host `http://other.example`, which"), "{text}");
        let long = said("/", &format!("{}.example", "a".repeat(5_000)));
        assert!(long.len() < 700, "{}", long.len());
    }

    #[test]
    fn hosts() {
        let guard = HostGuard::loopback().allow("Logs.Example:9090").unwrap();
        for (host, expected) in [
            ("127.0.0.1:8080", OK),
            ("localhost:8080", OK),
            ("LocalHost:8080", OK),
            ("[::1]:8080", OK),
            ("[0:0:0:0:0:0:0:1]:8080", OK),
            ("localhost", OK),
            ("localhost:", OK),
            ("localhost:9000", OK),
            ("127.0.0.1:1", OK),
            ("127.0.0.2:8080", OK),
            ("logs.example:9090", OK),
            ("logs.example:8080", HOST_REFUSED),
            ("localhost:+8080", HOST_INVALID),
            ("localhost:8080:8080", HOST_INVALID),
            ("localhost:73616", HOST_INVALID),
            ("evil@localhost:8080", HOST_INVALID),
            ("localhost.:8080", HOST_REFUSED),
            ("localhost.evil.example:8080", HOST_REFUSED),
            ("127.0.0.1.evil.example", HOST_REFUSED),
            ("128.0.0.1", HOST_REFUSED),
            ("192.168.1.7:8080", HOST_REFUSED),
            ("127.1:8080", HOST_REFUSED),
            ("0x7f000001", HOST_REFUSED),
            ("::1:8080", HOST_INVALID),
            ("[::1:8080", HOST_INVALID),
            ("[::1]8080", HOST_INVALID),
            ("", HOST_INVALID),
            (":8080", HOST_INVALID),
        ] {
            assert_eq!(check(&guard, "/", &[("host", host)]), expected, "{host:?}");
        }
    }

    #[test]
    fn a_forwarded_port_serves_its_own_page_only() {
        let guard = HostGuard::loopback();
        for (origin, expected) in [
            ("http://localhost:9000", OK),
            ("http://127.0.0.1:9000", OK),
            ("http://localhost:3000", ORIGIN_REFUSED),
            ("http://localhost", ORIGIN_REFUSED),
        ] {
            let fields = [("host", "localhost:9000"), ("origin", origin)];
            assert_eq!(check(&guard, "/", &fields), expected, "{origin}");
        }
    }

    #[test]
    fn the_url_of_a_reverse_proxy_passes() {
        let guard = HostGuard::loopback().allow_url("https://logs.example".parse().unwrap());
        for (host, origin, expected) in [
            ("logs.example", "https://logs.example", OK),
            ("logs.example:443", "https://LOGS.example:443", OK),
            // A proxy that does not pass on the name.
            ("127.0.0.1:7878", "https://logs.example", OK),
            ("logs.example", "http://logs.example", ORIGIN_REFUSED),
            ("logs.example", "https://logs.example:8443", ORIGIN_REFUSED),
            ("logs.example", "http://localhost:7878", ORIGIN_REFUSED),
            ("logs.example", "https://evil.example", ORIGIN_REFUSED),
            ("logs.example:7878", "https://logs.example", HOST_REFUSED),
            ("evil.example", "https://logs.example", HOST_REFUSED),
        ] {
            let fields = [("host", host), ("origin", origin)];
            assert_eq!(check(&guard, "/", &fields), expected, "{host} {origin}");
        }
    }

    #[test]
    fn port_80_may_be_left_out() {
        let guard = HostGuard::loopback().allow("logs.example").unwrap();
        for host in ["localhost", "localhost:", "localhost:80", "127.0.0.1", "[::1]"] {
            assert_eq!(check(&guard, "/", &[("host", host)]), OK, "{host:?}");
        }
        for origin in ["http://localhost", "http://localhost:80", "http://logs.example"] {
            let fields = [("host", "localhost"), ("origin", origin)];
            assert_eq!(check(&guard, "/", &fields), OK, "{origin:?}");
        }
    }

    #[test]
    fn any_address_passes_if_the_server_listens_on_all() {
        let guard = HostGuard::loopback().allow_addresses();
        for (host, origin, expected) in [
            ("192.0.2.7:7878", "http://192.0.2.7:7878", OK),
            ("[2001:db8::1]:7878", "http://[2001:db8::1]:7878", OK),
            ("192.0.2.7:7878", "http://192.0.2.8:7878", ORIGIN_REFUSED),
            ("192.0.2.7:7878", "http://192.0.2.7:7879", ORIGIN_REFUSED),
            ("192.0.2.7:7878", "http://evil.example:7878", ORIGIN_REFUSED),
            ("evil.example:7878", "http://evil.example:7878", HOST_REFUSED),
        ] {
            let fields = [("host", host), ("origin", origin)];
            assert_eq!(check(&guard, "/", &fields), expected, "{host} {origin}");
        }
    }

    #[test]
    fn over_tls_everything_is_https() {
        let guard = HostGuard::loopback().allow("logs.example:8443").unwrap();
        for (target, host, origin, expected) in [
            ("/", "logs.example:8443", "https://logs.example:8443", OK),
            ("/", "localhost:8443", "https://localhost:8443", OK),
            ("/", "localhost", "https://localhost:443", OK),
            ("/", "localhost", "https://localhost:80", ORIGIN_REFUSED),
            ("/", "logs.example:8443", "http://logs.example:8443", ORIGIN_REFUSED),
            ("https://localhost/", "localhost", "https://localhost", OK),
            ("http://localhost/", "localhost", "https://localhost", HOST_REFUSED),
        ] {
            let request = Request::builder().uri(target).extension(Scheme::Https);
            let request = request.header(HOST, host).header(ORIGIN, origin);
            let checked = guard.check(&request.body(()).unwrap()).map_err(without_name);
            assert_eq!(checked, expected, "{host} {origin}");
        }
    }

    #[test]
    fn host_must_be_present_exactly_once() {
        let guard = HostGuard::loopback();
        let host = ("host", "localhost:8080");
        assert_eq!(check(&guard, "/", &[]), HOST_INVALID);
        assert_eq!(check(&guard, "/", &[host, host]), HOST_INVALID);
    }

    #[test]
    fn absolute_targets_count_too() {
        let guard = HostGuard::loopback();
        let host = [("host", "localhost:8080")];
        assert_eq!(check(&guard, "http://127.0.0.1:8080/x", &host), OK);
        assert_eq!(check(&guard, "http://evil.example/x", &host), HOST_REFUSED);
        assert_eq!(check(&guard, "https://127.0.0.1:8080/x", &host), HOST_REFUSED);
        let other_host = [("host", "evil.example")];
        assert_eq!(check(&guard, "http://127.0.0.1:8080/x", &other_host), HOST_REFUSED);
    }

    #[test]
    fn origins() {
        let guard = HostGuard::loopback();
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
            assert!(HostGuard::loopback().allow(text).is_err(), "{text:?}");
        }
    }
}
