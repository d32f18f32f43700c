//! The limits of a fetch.

use std::time::Duration;

/// The limits of one fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// The maximum size of a body in bytes. Default 512 KiB: key sets of large issuers have 20 KiB.
    pub body_bytes_max: usize,
    /// The time for the whole fetch: name resolution, connection, TLS and answer. Default 10 s.
    pub timeout: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { body_bytes_max: 512 << 10, timeout: Duration::from_secs(10) }
    }
}

/// The maximum size of the head of an answer in bytes. Hyper buffers a head as a whole.
pub(super) const HEAD_BYTES_MAX: usize = 32 << 10;

/// The maximum number of fields in the head of an answer.
pub(super) const HEADER_FIELDS_MAX: usize = 100;
