//! Accepts connections, serves each to its end, and reports how it ended.

use std::sync::Arc;

use tokio::task::JoinSet;
use weir_net::socket::{
    Connection, ConnectionPermit, Listener as SocketListener, Peer, SocketStream, TlsHandshakeError,
};
use weir_observe::task::TaskKind;

use super::Listener;
use crate::connection::{self, ConnectionEnd, Socket};
use crate::notice::Event;
use crate::sink::Sink;

/// The tasks that serve the connection of a sender.
static CONNECTION: TaskKind = TaskKind::new("feed connection");

/// The line that is sent to a refused sender.
const REFUSAL: &str = "weir: too many connections; try again later\n";

impl<S: Sink> Listener<S> {
    /// Accepts connections; never returns.
    pub(crate) async fn accept_all(
        self: &Arc<Self>,
        mut socket: SocketListener,
        connections: &mut JoinSet<()>,
    ) {
        loop {
            let accepted = socket.accept().await;
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok(connection) => self.admit(connection, connections),
                Err(error) => self.report(Event::AcceptFailed(error)),
            }
        }
    }

    /// Serves a connection in its own task, or refuses it if the limit is reached.
    fn admit(self: &Arc<Self>, connection: Connection, connections: &mut JoinSet<()>) {
        if let Some(permit) = self.admission.limit.try_acquire() {
            let peer = connection.peer().address();
            let served = self.clone().serve(connection, permit);
            connections.spawn(CONNECTION.observe(peer, served));
            return;
        }
        self.context.counters.connections_refused.add(1);
        self.report(Event::ConnectionRefused {
            peer: connection.peer(),
            connections_max: self.admission.limit.connections_max(),
            origin: self.admission.origin,
        });
        connection.refuse(REFUSAL);
    }

    /// Serves one connection to its end.
    async fn serve(self: Arc<Self>, connection: Connection, _permit: ConnectionPermit) {
        let peer = connection.peer();
        tracing::debug!(%peer, "a sender has connected");
        self.context.counters.connections.add(1);
        self.context.counters.connections_open.add(1);
        match connection.open(self.admission.handshake).await {
            Ok(stream) => {
                let (end, received_bytes) = self.run_connection(stream, peer).await;
                tracing::debug!(%peer, received_bytes, ?end, "the connection of a sender has ended");
                self.close(peer, end, received_bytes);
            }
            Err(error) => {
                let counters = &self.context.counters;
                let counter = match error {
                    TlsHandshakeError::TimedOut => &counters.connections_timed_out,
                    TlsHandshakeError::Failed(_) => &counters.connections_dropped,
                };
                counter.add(1);
                self.report(Event::HandshakeFailed(peer, error));
            }
        }
        self.context.counters.connections_open.subtract(1);
    }

    async fn run_connection(&self, stream: SocketStream, peer: Peer) -> (ConnectionEnd, u64) {
        let sender = format!("{peer} at {}", self.name());
        connection::run(self.context.clone(), Socket::Stream(stream), sender).await
    }

    /// Counts and reports how a connection ended.
    fn close(&self, peer: Peer, end: ConnectionEnd, received_bytes: u64) {
        let counters = &self.context.counters;
        let (counter, event) = match end {
            ConnectionEnd::Closed | ConnectionEnd::NoCloseNotify => return,
            ConnectionEnd::SinkStopped(why) => return self.stop(why),
            ConnectionEnd::ReadFailed(error) => {
                return self.report_end(Event::ReadFailed(Some(peer), error), received_bytes);
            }
            ConnectionEnd::IdleTimeout => (
                &counters.connections_timed_out,
                Event::IdleTimeout(peer, self.context.options.idle),
            ),
            ConnectionEnd::MalformedFrame(error) => {
                (&counters.connections_dropped, Event::MalformedFrame(peer, error))
            }
            ConnectionEnd::LineMemoryFull => {
                (&counters.connections_dropped, Event::LineMemoryFull(peer))
            }
            ConnectionEnd::CapReached => (
                &counters.connections_dropped,
                Event::CapReached(peer, self.context.options.cap_bytes),
            ),
        };
        counter.add(1);
        self.report_end(event, received_bytes);
    }
}
