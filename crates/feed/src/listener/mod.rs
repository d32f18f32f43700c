//! A listener: it accepts connections, flushes lines and reports events.

mod accept;
mod flush;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::field::display;
use weir_ingest::StopReason;
use weir_net::socket::{
    Address, BindError, BindOptions, ConnectionLimit, DatagramSocket, DropCounter, Peer,
};

use crate::connection::{self, ConnectionContext, ConnectionEnd, Socket};
use crate::options::Remedies;
use crate::sink::Sink;

/// A listener. Its connections share its context.
#[derive(Debug)]
pub(crate) struct Listener<S> {
    pub(crate) address: Address,
    pub(crate) context: Arc<ConnectionContext<S>>,
    pub(crate) admission: Admission,
    pub(crate) remedies: Remedies,
    /// `None` for streams, and if the system does not count dropped datagrams.
    pub(crate) drop_counter: Option<DropCounter>,
    /// Set after the sink has stopped.
    pub(crate) stopped: watch::Sender<Option<StopReason>>,
}

/// The limits of new connections, which all listeners share.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    /// The time limit of a TLS handshake.
    pub(crate) handshake: Duration,
    pub(crate) limit: ConnectionLimit,
    /// Whether the process may open fewer files than the options allow connections.
    pub(crate) is_limited_by_files: bool,
}

/// A bound socket of a feed.
#[derive(Debug)]
pub(crate) enum BoundSocket {
    Stream(weir_net::socket::Listener),
    Datagrams(DatagramSocket),
}

impl BoundSocket {
    pub(crate) async fn bind(address: &Address, options: &BindOptions) -> Result<Self, BindError> {
        Ok(if options.is_datagram(address) {
            Self::Datagrams(DatagramSocket::bind(address, options).await?)
        } else {
            Self::Stream(weir_net::socket::Listener::bind(address, options).await?)
        })
    }

    /// Returns the bound address. Port 0 is replaced by the assigned port.
    pub(crate) fn address(&self) -> &Address {
        match self {
            Self::Stream(listener) => listener.address(),
            Self::Datagrams(socket) => socket.address(),
        }
    }

    pub(crate) fn drop_counter(&self) -> Option<DropCounter> {
        match self {
            Self::Stream(_) => None,
            Self::Datagrams(socket) => socket.drop_counter(),
        }
    }
}

impl<S: Sink> Listener<S> {
    /// Serves the socket until the sink stops.
    pub(crate) async fn run(self: Arc<Self>, socket: BoundSocket) {
        let mut connections = JoinSet::new();
        tokio::select! {
            () = self.receive(socket, &mut connections) => {}
            () = self.flush_all() => {}
            () = self.wait_stopped() => {}
            () = self.context.sink.closed() => self.stop(StopReason::Cancelled),
        }
    }

    async fn receive(self: &Arc<Self>, socket: BoundSocket, connections: &mut JoinSet<()>) {
        match socket {
            BoundSocket::Stream(listener) => self.accept_all(listener, connections).await,
            BoundSocket::Datagrams(socket) => {
                let sender = format!("all datagrams at {}", self.name());
                let socket = Socket::Datagrams(socket);
                match connection::run(self.context.clone(), socket, sender).await.0 {
                    ConnectionEnd::ReadFailed(error) => {
                        self.warn(None, None, &format_args!("reading datagrams failed: {error}"));
                    }
                    ConnectionEnd::SinkStopped(why) => self.stop(why),
                    // A datagram socket has no end, frames, partial lines or idle limit.
                    _ => {}
                }
                self.stop(StopReason::Cancelled);
            }
        }
    }

    /// Ends the sink and every task of the listener, unless they have been stopped already.
    pub(crate) fn stop(&self, why: StopReason) {
        let is_first = self.stopped.send_if_modified(|stopped| {
            let is_first = stopped.is_none();
            stopped.get_or_insert(why);
            is_first
        });
        if is_first {
            self.context.sink.end(why);
        }
    }

    /// Waits until the sink has stopped.
    async fn wait_stopped(&self) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.stopped.subscribe().wait_for(Option::is_some).await;
    }

    pub(crate) fn name(&self) -> String {
        self.address.to_string()
    }

    /// Warns the operator, with the sender and the bytes that its connection has received, if there
    /// is a single one.
    pub(crate) fn warn(&self, peer: Option<Peer>, received_bytes: Option<u64>, what: &dyn Display) {
        let listener = &*self.name();
        let peer = peer.map(display);
        tracing::warn!(
            target: "weir_feed",
            listener,
            peer,
            received_bytes,
            "{listener}: {what}"
        );
    }
}
