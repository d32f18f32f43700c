//! The PROXY protocol of a listener: connections of proxies that name their client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::peer::{Peer, PeerFilter};
use super::proxy_header::{ProxyHeaderError, read_proxy_header};
use super::stream::SocketStream;

/// The time limit of reading a header. A proxy sends it at once, and lost packets are sent again
/// within 3 s (section 2 of the protocol).
const TIMEOUT: Duration = Duration::from_secs(5);

/// An option of a listener: each of its connections begins with a PROXY header, version 1 or 2,
/// before TLS. Connections without a valid header are closed.
#[derive(Clone)]
pub struct ProxyProtocol {
    senders: PeerFilter,
    on_error: Arc<dyn Fn(Peer, ProxyHeaderError) + Send + Sync>,
}

impl ProxyProtocol {
    /// Accepts headers of the peers in `senders`, and of all peers of Unix sockets, because the
    /// permissions of their files decide who may connect. `on_error` is called with each peer whose
    /// connection is closed, and must not block.
    pub fn new(
        senders: PeerFilter,
        on_error: impl Fn(Peer, ProxyHeaderError) + Send + Sync + 'static,
    ) -> Self {
        Self { senders, on_error: Arc::new(on_error) }
    }

    /// Reads the header of a connection, and returns its client. Returns `None` if there is no
    /// valid header.
    pub(crate) async fn read_client(&self, stream: &mut SocketStream, peer: Peer) -> Option<Peer> {
        let header = match peer.ip().is_none() || self.senders.contains(peer) {
            false => Err(ProxyHeaderError::Untrusted),
            true => {
                let header = tokio::time::timeout(TIMEOUT, read_proxy_header(stream)).await;
                header.unwrap_or(Err(ProxyHeaderError::TimedOut))
            }
        };
        match header {
            Ok(client) => Some(client.map_or(peer, Peer::tcp)),
            Err(error) => {
                (self.on_error)(peer, error);
                None
            }
        }
    }
}

impl fmt::Debug for ProxyProtocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ProxyProtocol").field(&self.senders).finish_non_exhaustive()
    }
}
