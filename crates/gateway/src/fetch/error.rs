//! Errors of a fetch.

use std::fmt;
use std::io;

use hyper::StatusCode;

use weir_net::redaction::shown_target;

use super::url::FetchUrl;
use crate::tls_error::ConnectionFault;

/// The error of a fetch: its URL and the problem.
#[derive(Debug)]
pub struct FetchError {
    url: FetchUrl,
    problem: FetchProblem,
}

/// Why a fetch failed.
#[derive(Debug)]
pub enum FetchProblem {
    /// The server could not be reached: name resolution, connecting or TLS failed.
    Connect(io::Error),
    /// The answer was not complete within the timeout.
    Timeout,
    /// The server's answer is not valid HTTP, or ended early.
    Protocol(hyper::Error),
    /// The answer is a redirect.
    Redirect(StatusCode),
    /// The body is larger than this limit in bytes.
    TooLarge(usize),
    /// A header field of the request has invalid bytes.
    InvalidRequest,
}

impl FetchError {
    pub(super) fn new(url: &FetchUrl, problem: FetchProblem) -> Self {
        Self { url: url.clone(), problem }
    }

    /// The reason for the failure.
    pub fn problem(&self) -> &FetchProblem {
        &self.problem
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", shown_target(&self.url.to_string()), self.problem)
    }
}

impl fmt::Display for FetchProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(formatter, "no connection: {}", ConnectionFault(error)),
            Self::Timeout => formatter.write_str("no complete answer in time"),
            Self::Protocol(error) => write!(formatter, "no valid answer: {error}"),
            Self::Redirect(status) => write!(
                formatter,
                "the answer is a redirect ({status}), which is not followed; name the final address"
            ),
            Self::TooLarge(bytes_max) => {
                write!(formatter, "the answer is larger than {bytes_max} bytes")
            }
            Self::InvalidRequest => {
                formatter.write_str("a header field of the request has invalid characters")
            }
        }
    }
}

impl std::error::Error for FetchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            FetchProblem::Connect(error) => Some(error),
            FetchProblem::Protocol(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FetchError, FetchProblem};

    /// The query of a URL may contain a key, and the message goes to the log.
    #[test]
    fn a_sentence_has_no_query() {
        let url = "https://login.example/keys?api_key=secret".parse().expect("an address");
        let sentence = FetchError::new(&url, FetchProblem::Timeout).to_string();
        assert!(sentence.starts_with("https://login.example/keys?"), "{sentence}");
        assert!(!sentence.contains("secret"), "{sentence}");
    }
}
