//! Who sent a request, and whether they are still there.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::scheme::Scheme;
use crate::socket::Peer;

/// The client of a request.
#[derive(Clone, Debug)]
pub struct Client {
    peer: Peer,
    pub(crate) scheme: Scheme,
    watch: ClientWatch,
}

impl Client {
    pub(crate) fn new(peer: Peer, scheme: Scheme, watch: ClientWatch) -> Self {
        Self { peer, scheme, watch }
    }

    /// The other end of the connection.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Whether the connection is encrypted.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Waits until the client has closed its sending side.
    ///
    /// A client that has gone has closed both sides, but one that waits for the answer may have closed
    /// its sending side too, as `nc -N` does, and TCP does not tell the two apart until something is
    /// written. So the handler should go on for a while.
    ///
    /// Only clients over TCP without TLS are watched, and only if they have sent no further request.
    pub async fn sending_closed(&self) {
        // This cannot fail, because the sender lives in `self`.
        let _ = self.watch.0.subscribe().wait_for(|is_closed| *is_closed).await;
    }
}

/// Notices that a client has closed its sending side.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientWatch(Arc<watch::Sender<bool>>);

impl ClientWatch {
    /// Looks at the socket if a handler waits, and wakes this task when there is more to see.
    pub(crate) fn look(&self, socket: Option<&TcpStream>, context: &mut Context<'_>) {
        let Some(socket) = socket.filter(|_| self.0.receiver_count() > 0) else { return };
        let mut byte = [0];
        let is_closed = match socket.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(bytes)) => bytes == 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_closed {
            self.0.send_replace(true);
        }
    }
}
