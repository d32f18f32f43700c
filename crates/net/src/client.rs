//! Who sent a request, and whether they are still there.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use weir_observe::glass::Journal;

use crate::history::{ConnectionHistory, Detail};
use crate::idle::Activity;
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

    /// What came before the request that arrived last on its connection.
    pub fn history(&self) -> ConnectionHistory {
        self.watch.0.history()
    }

    /// Notes in a journal when all of the answer to its request was handed to the system. Over HTTP/2 nothing is
    /// noted: the connection is that of other requests as well, and might never have nothing to write.
    pub fn observe(&self, journal: Journal) {
        self.watch.0.observe(journal, Detail::End);
    }

    /// As [`observe`](Self::observe), and notes each part of the answer that the system takes, too.
    pub fn observe_writes(&self, journal: Journal) {
        self.watch.0.observe(journal, Detail::Writes);
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
        let _ = self.watch.0.sending_closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }
}

/// Notices that a client has closed its sending side.
#[derive(Debug, Clone)]
pub(crate) struct ClientWatch(Arc<Activity>);

impl ClientWatch {
    pub(crate) fn new(activity: Arc<Activity>) -> Self {
        Self(activity)
    }

    /// Looks at the socket if a handler waits, and wakes this task when there is more to see.
    pub(crate) fn look(&self, socket: Option<&TcpStream>, context: &mut Context<'_>) {
        let Some(socket) = socket.filter(|_| self.0.sending_closed.receiver_count() > 0) else {
            return;
        };
        let mut byte = [0];
        let is_closed = match socket.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(bytes)) => bytes == 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_closed {
            self.0.sending_closed.send_replace(true);
        }
    }
}
