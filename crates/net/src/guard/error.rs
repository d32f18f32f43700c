//! The reasons for which a request or an authority is refused.

use std::fmt;

use hyper::StatusCode;

/// The reason for which a [`HostGuard`](super::HostGuard) refuses a request.
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

/// The error of [`HostGuard::allow`](super::HostGuard::allow): a text that is not a valid `host` or `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAuthority(pub(super) String);

impl fmt::Display for InvalidAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is not a valid host; write HOST or HOST:PORT", self.0)
    }
}

impl std::error::Error for InvalidAuthority {}
