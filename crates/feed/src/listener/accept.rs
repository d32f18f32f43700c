//! Accepts connections, serves each to its end, and reports how it ended.

use std::sync::Arc;

use tokio::task::JoinSet;
use weir_net::socket::{
    Connection, ConnectionPermit, Listener as SocketListener, Peer, SocketStream, TlsHandshakeError,
};
use weir_observe::task::TaskKind;

use super::Listener;
use crate::connection::{self, ConnectionEnd, Socket};
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
                Err(error) => {
                    self.warn(None, None, &format_args!("connections cannot be accepted: {error}"));
                }
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
        let (peer, connections_max) = (connection.peer(), self.admission.limit.connections_max());
        let (origin, remedy) = match self.admission.is_limited_by_files {
            true => ("the limit of open files", "`ulimit -n` raises it"),
            false => ("this feed", self.remedies.connections),
        };
        let refused = format!(
            "{peer} is refused: {connections_max} connections are open, the maximum that {origin} \
             allows"
        );
        self.warn(Some(peer), None, &with_remedy(refused, remedy));
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
                self.warn(Some(peer), None, &format_args!("{peer} is dropped: {error}"));
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
        let (counters, options) = (&self.context.counters, &self.context.options);
        let (counter, what) = match end {
            ConnectionEnd::Closed | ConnectionEnd::NoCloseNotify => return,
            ConnectionEnd::SinkStopped(why) => return self.stop(why),
            ConnectionEnd::ReadFailed(error) => (None, format!("{peer}: reading failed: {error}")),
            ConnectionEnd::IdleTimeout => {
                let idle_s = options.idle.as_secs();
                let what = format!("{peer} is closed: it has completed no line for {idle_s} s");
                (Some(&counters.connections_timed_out), with_remedy(what, self.remedies.idle))
            }
            ConnectionEnd::MalformedFrame(error) => {
                (Some(&counters.connections_dropped), format!("{peer} is dropped: {error}"))
            }
            ConnectionEnd::LineMemoryFull => (
                Some(&counters.connections_dropped),
                format!(
                    "{peer} is dropped: the unfinished lines of all senders take too much memory"
                ),
            ),
            ConnectionEnd::CapReached => {
                let what = format!(
                    "{peer} is dropped: {} MiB wait to be parsed, which is the cap; the lines read \
                     before are kept",
                    options.cap_bytes >> 20
                );
                (Some(&counters.connections_dropped), with_remedy(what, self.remedies.cap))
            }
        };
        if let Some(counter) = counter {
            counter.add(1);
        }
        self.warn(Some(peer), Some(received_bytes), &what);
    }
}

/// Appends how to raise a limit, if that is known.
fn with_remedy(sentence: String, remedy: &str) -> String {
    if remedy.is_empty() { sentence } else { format!("{sentence}; {remedy}") }
}
