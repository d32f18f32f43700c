//! The header of the PROXY protocol, versions 1 and 2, in which a proxy names its client.
//!
//! The source is `proxy-protocol.txt` of HAProxy's documentation, of 2020/03/05; section numbers
//! refer to it. Exactly the bytes of the header are read, because TLS or HTTP follows. So a header
//! of version 1 that is longer than the shortest one is read in small pieces.

mod error;
mod parsing;

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt};

pub use self::error::ProxyHeaderError;
use self::parsing::{HEADER_BYTES_MAX, Progress, parse};

/// The number of bytes of a header of version 2 that are skipped by one read.
const SKIP_BYTES: usize = 4_096;

/// Reads the PROXY header at the start of a connection, and no byte after it. Returns the address
/// of the client. Returns `None` if the client is the peer: the proxy connects for itself
/// (`LOCAL`), or cannot name the client (`UNKNOWN`, `UNSPEC`, or any protocol but TCP). There is no
/// time limit.
///
/// # Errors
/// If there is no valid header, or if the connection ends or fails within it.
pub async fn read_proxy_header<S: AsyncRead + Unpin>(
    stream: &mut S,
) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let mut header = Header { bytes: [0; HEADER_BYTES_MAX], length: 0 };
    loop {
        match parse(header.read())? {
            Progress::Needs(bytes) => header.fill(stream, bytes).await?,
            Progress::Complete { client, skipped } => {
                skip(stream, skipped).await?;
                return Ok(client);
            }
        }
    }
}

/// The part of a header that was read.
struct Header {
    bytes: [u8; HEADER_BYTES_MAX],
    length: usize,
}

impl Header {
    fn read(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Reads up to `bytes` bytes.
    async fn fill<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        bytes: usize,
    ) -> Result<(), ProxyHeaderError> {
        let end = (self.length + bytes).min(HEADER_BYTES_MAX);
        let room = self.bytes.get_mut(self.length..end).unwrap_or_default();
        match stream.read(room).await.map_err(ProxyHeaderError::Io)? {
            0 => Err(ProxyHeaderError::Closed { is_empty: self.length == 0 }),
            read => {
                self.length += read;
                Ok(())
            }
        }
    }
}

/// Reads and discards bytes.
async fn skip<S: AsyncRead + Unpin>(
    stream: &mut S,
    mut bytes: usize,
) -> Result<(), ProxyHeaderError> {
    let mut buffer = [0; SKIP_BYTES];
    while bytes > 0 {
        let room = buffer.get_mut(..bytes.min(SKIP_BYTES)).unwrap_or_default();
        match stream.read(room).await.map_err(ProxyHeaderError::Io)? {
            0 => return Err(ProxyHeaderError::Closed { is_empty: false }),
            read => bytes -= read,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
