//! Protection against requests that a browser was tricked into sending.
//!
//! Any page in a browser can send requests to a server on the same machine: to its address
//! (WebSocket handshakes are not even subject to the same-origin policy), or to a domain of its
//! own that resolves to 127.0.0.1 (DNS rebinding). The browser reveals the page in `Origin` and the
//! domain in `Host`, so both are compared with the addresses of the server.

mod error;

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Request};

pub use self::error::{GuardError, InvalidAuthority};
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
mod tests;
