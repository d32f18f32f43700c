//! The limits of a fetch.

use std::time::Duration;

/// What one fetch may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// The bytes of a body. Default 512 KiB: key sets of large issuers have 20 KiB.
    pub body_bytes_max: usize,
    /// The time for all of it: the name, the connection, TLS, the answer. Default 10 s.
    pub timeout: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { body_bytes_max: 512 << 10, timeout: Duration::from_secs(10) }
    }
}

/// The bytes of the head of an answer, which hyper holds at once.
pub(super) const HEAD_BYTES_MAX: usize = 32 << 10;

/// The fields of the head of an answer.
pub(super) const HEADER_FIELDS_MAX: usize = 100;
