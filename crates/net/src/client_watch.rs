//! Noticing that a client has gone while its request is answered.

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Notices that the client of a request has closed its sending side.
///
/// It is an extension of each request. A client that has gone has closed both sides, but one that
/// waits for the answer may have closed its sending side too, as `nc -N` does, and TCP does not
/// tell the two apart until something is written. So the handler should go on for a while.
///
/// Only clients over TCP without TLS are watched, and only if they have sent no further request.
#[derive(Debug, Clone, Default)]
pub struct ClientWatch(Arc<watch::Sender<bool>>);

impl ClientWatch {
    /// Waits until the client has closed its sending side.
    pub async fn sending_closed(&self) {
        // This cannot fail, because the sender lives in `self`.
        let _ = self.0.subscribe().wait_for(|is_closed| *is_closed).await;
    }

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
