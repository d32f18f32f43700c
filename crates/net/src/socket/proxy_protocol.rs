//! Connections from proxies that say for whom they connect.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::peer::{Peer, PeerFilter};
use super::proxy_header::{ProxyHeaderError, read_proxy_header};
use super::stream::SocketStream;

/// How long the header of a connection may take. A proxy sends it at once; what is lost of it comes again
/// within 3 s (section 2 of the protocol).
const TIMEOUT: Duration = Duration::from_secs(5);

/// Makes a listener expect the header of the PROXY protocol, version 1 or 2, on each of its connections,
/// before TLS. Connections without a valid one are closed.
#[derive(Clone)]
pub struct ProxyProtocol {
    senders: PeerFilter,
    hear: Arc<dyn Fn(Peer, ProxyHeaderError) + Send + Sync>,
}

impl ProxyProtocol {
    /// Accepts headers of these peers, and of all peers of Unix sockets, whose files say who may connect.
    /// Calls a function, which must return soon, with each peer whose connection is closed.
    pub fn new(
        senders: PeerFilter,
        hear: impl Fn(Peer, ProxyHeaderError) + Send + Sync + 'static,
    ) -> Self {
        Self { senders, hear: Arc::new(hear) }
    }

    /// Reads the header of a connection, and returns its client; `None` if there is no valid header.
    pub(crate) async fn client(&self, stream: &mut SocketStream, peer: Peer) -> Option<Peer> {
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
                (self.hear)(peer, error);
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
