//! Why a request got no answer from a backend.

use hyper::StatusCode;

/// Why a request got no answer from a backend. The names are those in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardError {
    /// No server could be connected to.
    Connect,
    /// All connections that the servers may have are in use.
    Busy,
    /// No session could be begun in place of one that the backend had forgotten.
    Session,
    /// The connection broke before the head of the answer, or the answer is malformed.
    Broken,
    /// The head of the answer did not come in time.
    Timeout,
    /// The client broke off its request.
    ClientGone,
    /// The request cannot be written for the backend.
    Request,
}

impl ForwardError {
    /// The name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connect => "backend_connect",
            Self::Busy => "backend_busy",
            Self::Session => "no_session",
            Self::Broken => "backend_broken",
            Self::Timeout => "backend_timeout",
            Self::ClientGone => "client_gone",
            Self::Request => "bad_request",
        }
    }

    /// The status of the answer to the client.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Connect | Self::Broken | Self::Session => StatusCode::BAD_GATEWAY,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::ClientGone | Self::Request => StatusCode::BAD_REQUEST,
        }
    }
}
