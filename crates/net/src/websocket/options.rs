//! The limits of a WebSocket.

use std::time::Duration;

/// The limits of one WebSocket.
#[derive(Clone, Copy, Debug)]
pub struct SocketOptions {
    /// The size of the read buffer in bytes, which is also the maximum payload of one event; at
    /// least 4 KiB. Default 256 KiB: few system calls, and the bytes are still in the processor's
    /// second-level cache when they are unmasked and used.
    pub read_buffer_bytes: usize,
    /// The maximum size of a text message, in bytes. Texts are assembled, so this bounds the memory
    /// of a connection. Default 64 KiB.
    pub text_bytes_max: usize,
    /// The time in which a peer must end the connection after it was told to: after a violation, or
    /// by [`SocketReader::drain`](super::SocketReader::drain). Default 2 s.
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
