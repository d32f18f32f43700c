//! Why a request got no answer from a backend.

use hyper::StatusCode;

/// Why a request got no answer from a backend. The names are those in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardError {
    /// No connection to a server could be opened.
    Connect,
    /// All permitted connections are in use.
    Busy,
    /// The backend no longer accepted the session, and the new log-in failed.
    Session,
    /// The connection broke before the head of the answer, or the answer is malformed.
    Broken,
    /// The head of the answer did not arrive in time.
    Timeout,
    /// The client disconnected before the end of its request.
    ClientGone,
    /// The request cannot be represented for the backend, such as a host that is not valid in a
    /// URL.
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

    /// The status that the client receives.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Connect | Self::Broken | Self::Session => StatusCode::BAD_GATEWAY,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::ClientGone | Self::Request => StatusCode::BAD_REQUEST,
        }
    }
}
