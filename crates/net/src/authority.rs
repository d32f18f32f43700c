//! Hosts and ports of URLs and header fields, normalised so that they can be compared.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use crate::scheme::Scheme;

/// A host and an optional port, normalised so that equal authorities compare equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// Lower case: host names are case-insensitive (RFC 3986 section 3.2.2).
    Name(String),
    Address(IpAddr),
}

impl Authority {
    /// Parses `host [":" port]` (RFC 3986 section 3.2), without user information.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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

    /// Returns the port; the default port of the scheme if there is none.
    pub(crate) fn port(&self, scheme: Scheme) -> u16 {
        self.port.unwrap_or(scheme.default_port())
    }

    /// Whether both name the same host and port. A missing port means the default of the scheme.
    pub(crate) fn is_same(&self, other: &Self, scheme: Scheme) -> bool {
        self.host == other.host && self.port(scheme) == other.port(scheme)
    }

    /// Whether the host is an IP address.
    pub(crate) fn is_address(&self) -> bool {
        matches!(self.host, Host::Address(_))
    }

    /// Whether the host is a loopback name or address: `localhost`, `127.0.0.0/8` or `::1`.
    pub(crate) fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        }
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

/// Parses the part after the host: nothing, `:` or `:8080`. `Some(None)` means the default port of
/// the scheme; `None` an invalid port.
fn parse_port(text: &str) -> Option<Option<u16>> {
    if text.is_empty() || text == ":" {
        return Some(None);
    }
    let digits = text.strip_prefix(':')?;
    // `u16::from_str` would also take a leading plus.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(Some)
}

/// The URL at which browsers reach a server through a reverse proxy: a scheme, a host and a port,
/// as in `https://logs.example.com`.
///
/// ```
/// let url: weir_net::PublicUrl = "https://Logs.example.com/".parse().unwrap();
/// assert_eq!(url.to_string(), "https://Logs.example.com");
/// assert!("logs.example.com".parse::<weir_net::PublicUrl>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    text: String,
    scheme: Scheme,
    authority: Authority,
}

impl PublicUrl {
    /// Whether a `Host` field names this URL's host and port.
    pub fn has_host(&self, host: &str) -> bool {
        Authority::parse(host).is_some_and(|host| self.has_authority(&host))
    }

    /// Returns the host, without the port and the brackets of an IPv6 address.
    pub fn host(&self) -> String {
        match &self.authority.host {
            Host::Name(name) => name.clone(),
            Host::Address(address) => address.to_string(),
        }
    }

    pub(crate) fn has_authority(&self, authority: &Authority) -> bool {
        self.authority.is_same(authority, self.scheme)
    }

    /// Whether an origin (RFC 6454) is the origin of this URL.
    pub(crate) fn is_origin(&self, scheme: &str, authority: &Authority) -> bool {
        scheme.eq_ignore_ascii_case(self.scheme.name()) && self.has_authority(authority)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The error of a text that is not a valid [`PublicUrl`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicUrlError {
    /// It does not begin with `http://` or `https://`.
    Scheme(String),
    /// It has a path, a query or a fragment. The server's addresses begin at the root of a host.
    Path(String),
    /// The host or the port is not valid.
    Authority(String),
}

impl fmt::Display for PublicUrlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Scheme(text) | Self::Path(text) | Self::Authority(text)) = self;
        write!(formatter, "`{text}` is not a valid public URL: ")?;
        formatter.write_str(match self {
            Self::Scheme(_) => "it must begin with http:// or https://",
            Self::Path(_) => {
                "it must end after the host and the port, because the page is at the root of a host"
            }
            Self::Authority(_) => "after the scheme, write HOST or HOST:PORT",
        })
    }
}

impl std::error::Error for PublicUrlError {}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        let unknown = || PublicUrlError::Scheme(text.to_owned());
        let (name, rest) = text.split_once("://").ok_or_else(unknown)?;
        let scheme = match name.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(unknown()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err(PublicUrlError::Path(text.to_owned()));
        }
        let authority = Authority::parse(rest);
        let authority = authority.ok_or_else(|| PublicUrlError::Authority(text.to_owned()))?;
        let text = format!("{}://{rest}", scheme.name());
        Ok(Self { text, scheme, authority })
    }
}

#[cfg(test)]
mod tests {
    use super::PublicUrl;

    #[test]
    fn public_urls_have_a_scheme_and_a_host_and_nothing_else() {
        for text in ["https://logs.example", "http://[2001:db8::1]:80/", "HTTPS://192.0.2.7:8443"] {
            assert!(text.parse::<PublicUrl>().is_ok(), "{text}");
        }
        for (text, why) in [
            ("logs.example", "must begin with http"),
            ("ftp://logs.example", "must begin with http"),
            ("https://logs.example/weir", "root of a host"),
            ("https://logs.example/?x", "root of a host"),
            ("https://", "HOST or HOST:PORT"),
            ("https://user@logs.example", "HOST or HOST:PORT"),
            ("https://logs.example:99999", "HOST or HOST:PORT"),
        ] {
            let error = text.parse::<PublicUrl>().expect_err(text).to_string();
            assert!(error.contains(why) && error.contains(text), "{error}");
        }
    }

    #[test]
    fn the_port_of_the_scheme_may_be_left_out() {
        let url: PublicUrl = "https://logs.example".parse().expect("a URL");
        assert!(url.has_host("logs.example") && url.has_host("LOGS.example:443"));
        assert!(!url.has_host("logs.example:80") && !url.has_host("evil.example"));
        assert_eq!(url.host(), "logs.example");
        let url: PublicUrl = "https://[2001:DB8::1]:8443".parse().expect("a URL");
        assert_eq!(url.host(), "2001:db8::1");
        let url: PublicUrl = "http://logs.example:80".parse().expect("a URL");
        assert!(url.has_host("logs.example") && !url.has_host("logs.example:443"));
    }
}
