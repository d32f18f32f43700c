//! The address of a server: scheme, host and port.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;
use hyper::http::uri::{Authority, Scheme};

/// The origin of a URL (RFC 6454): scheme, host and port, without a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    authority: Authority,
    is_tls: bool,
    port: u16,
}

impl Origin {
    /// Whether the server is reached over TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The host name or IP address of the server, an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        let host = self.authority.host();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, by default the port of the scheme.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host and port as in a `Host` field.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether both are the same host and port. Names that differ may still have the same address.
    pub(super) fn is_same_server(&self, other: &Self) -> bool {
        self.host().eq_ignore_ascii_case(other.host()) && self.port == other.port
    }

    /// The scheme of the server's URLs.
    pub fn scheme(&self) -> Scheme {
        if self.is_tls { Scheme::HTTPS } else { Scheme::HTTP }
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        // Messages must not contain a password.
        let invalid = || InvalidOrigin(text.rsplit('@').next().unwrap_or_default().to_owned());
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(invalid()),
        };
        let authority = uri.authority().ok_or_else(invalid)?.clone();
        let has_path = !matches!(uri.path_and_query().map(|path| path.as_str()), None | Some("/"));
        if has_path || authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(invalid());
        }
        let has_port = authority.as_str().rsplit_once(']').map_or(authority.as_str(), |it| it.1);
        let port = match (has_port.contains(':'), authority.port_u16()) {
            (_, Some(port)) if port > 0 => port,
            (false, None) => {
                if is_tls {
                    443
                } else {
                    80
                }
            }
            _ => return Err(invalid()),
        };
        Ok(Self { authority, is_tls, port })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme(), self.authority)
    }
}

/// The error for a text that is not an [`Origin`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOrigin(String);

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            formatter,
            "`{text}` is not the address of a server; write http://HOST:PORT or https://HOST:PORT \
             without a path"
        )
    }
}

impl std::error::Error for InvalidOrigin {}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn origins_have_scheme_host_and_port() {
        for (text, expected) in [
            ("http://127.0.0.1:9001", Some(("127.0.0.1", 9001, false))),
            ("http://127.0.0.1:9001/", Some(("127.0.0.1", 9001, false))),
            ("http://localhost", Some(("localhost", 80, false))),
            ("https://api.example", Some(("api.example", 443, true))),
            ("https://[::1]:8443", Some(("::1", 8443, true))),
            ("http://[::1]", Some(("::1", 80, false))),
            ("127.0.0.1:9001", None),
            ("ftp://127.0.0.1", None),
            ("http://", None),
            ("http://user@host", None),
            ("http://host/path", None),
            ("http://host/?query", None),
            ("http://host:0", None),
            ("http://host:99999", None),
            ("http://host:", None),
            ("", None),
        ] {
            let origin = text.parse::<Origin>().ok();
            let parts = origin.as_ref().map(|it| (it.host(), it.port(), it.is_tls()));
            assert_eq!(parts, expected, "{text:?}");
        }
    }
}
