//! Where connections come from, and how to go on when accepting one fails.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::peer::Address;
use crate::transport::Accepted;

/// A source of connections. TCP today; a Unix socket or TLS over either is one more
/// implementation and one more variant of [`Accepted`].
pub(crate) trait Listener: Send {
    /// The next connection. Dropping the future loses none.
    fn accept(&mut self) -> impl Future<Output = io::Result<(Accepted, Address)>> + Send;
}

impl Listener for TcpListener {
    async fn accept(&mut self) -> io::Result<(Accepted, Address)> {
        let (stream, address) = TcpListener::accept(self).await?;
        // A chunked response is many small writes. With Nagle's algorithm each waits for the
        // client's delayed acknowledgement of the one before: 40 ms of nothing. A socket that
        // refuses the option still works, only slower, so that is no reason to drop it.
        let _ = stream.set_nodelay(true);
        Ok((Accepted::Tcp(stream), Address::Tcp(address)))
    }
}

const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long to wait before accepting again after `error`, given the wait before.
///
/// A connection that died in the queue concerns no other. Anything else (no file descriptors,
/// no memory) will fail again at once, and the listener stays readable: without a pause the
/// loop would spin at full speed until somebody else closes a file.
pub(crate) fn pause_after(error: &io::Error, previous: Duration) -> Duration {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    match error.kind() {
        ConnectionAborted | ConnectionReset | Interrupted => Duration::ZERO,
        _ => (previous * 2).clamp(PAUSE_MIN, PAUSE_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_for_lasting_errors_only() {
        let no_files = io::Error::other("too many open files");
        let aborted = io::Error::from(io::ErrorKind::ConnectionAborted);
        let mut pause = Duration::ZERO;
        for expected_ms in [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000] {
            pause = pause_after(&no_files, pause);
            assert_eq!(pause, Duration::from_millis(expected_ms));
        }
        assert_eq!(pause_after(&aborted, pause), Duration::ZERO);
    }
}
