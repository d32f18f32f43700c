//! The limits of a WebSocket.

use std::time::Duration;

/// The limits of one WebSocket.
#[derive(Clone, Copy, Debug)]
pub struct SocketOptions {
    /// The size of the read buffer in bytes, and so of the largest piece of payload in one
    /// event; at least 4 KiB. Default 256 KiB: few system calls, and the bytes are still in
    /// the processor's second-level cache when they are unmasked and used.
    pub read_buffer_bytes: usize,
    /// The size of the largest text message, in bytes. Default 64 KiB; texts are assembled, so
    /// this bounds the memory that a connection can take.
    pub text_bytes_max: usize,
    /// How long a peer that is told to go (for a violation, or by
    /// [`Reader::drain`](super::Reader::drain)) may take to go. Default 2 s.
    pub linger_timeout: Duration,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            read_buffer_bytes: 256 * 1024,
            text_bytes_max: 64 * 1024,
            linger_timeout: Duration::from_secs(2),
        }
    }
}
