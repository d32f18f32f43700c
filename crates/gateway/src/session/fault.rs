//! Why a log-in failed.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;

use crate::backend::ConnectError;
use crate::fetch::FetchError;

/// Larger answers to a log-in are refused.
pub(super) const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Why a log-in failed.
#[derive(Debug)]
pub(super) enum LoginFault {
    /// The backend has no server.
    NoServer,
    Connect(ConnectError),
    /// The path or the credential is not valid in a request.
    InvalidRequest,
    InvalidCredential,
    /// The certificate authorities of the token service cannot be read.
    NoAuthorities,
    NoAnswer(hyper::Error),
    Timeout(Duration),
    BrokenOff(hyper::Error),
    AnswerTooLarge,
    Fetch(FetchError),
    Status(StatusCode),
    /// The answer of a log-in has neither a token nor a cookie.
    NoGrant,
    /// The answer of an exchange has no token.
    NoToken,
}

impl fmt::Display for LoginFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoServer => "the backend has no server",
            Self::Connect(error) => return error.fmt(formatter),
            Self::InvalidRequest => "the path or the credential is not valid in a request",
            Self::InvalidCredential => "the credential is not valid in a request",
            Self::NoAuthorities => "the certificate authorities cannot be read",
            Self::NoAnswer(error) => return write!(formatter, "there is no answer: {error}"),
            Self::Timeout(timeout) => {
                return write!(formatter, "there was no complete answer within {timeout:?}");
            }
            Self::BrokenOff(error) => return write!(formatter, "its answer breaks off: {error}"),
            Self::AnswerTooLarge => {
                return write!(formatter, "its answer is larger than {ANSWER_BYTES_MAX} bytes");
            }
            Self::Fetch(error) => return error.problem().fmt(formatter),
            Self::Status(status) => return write!(formatter, "its status is {status}"),
            Self::NoGrant => "its answer has neither `access_token` in JSON nor a cookie",
            Self::NoToken => "its answer has no `access_token` in JSON",
        })
    }
}
