//! The other end of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The client of a connection, as reported by the kernel or by the listener's
/// [`ProxyProtocol`](super::ProxyProtocol), and never as claimed by an HTTP header field.
///
/// ```
/// use weir_net::socket::Peer;
///
/// let peer = Peer::tcp("192.0.2.1:51234".parse().unwrap());
/// assert_eq!(peer.to_string(), "192.0.2.1:51234");
/// assert_eq!(Peer::local().ip(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// `None` for a Unix socket.
    address: Option<SocketAddr>,
}

impl Peer {
    /// Creates a peer at this address and port.
    pub fn tcp(address: SocketAddr) -> Self {
        Self { address: Some(address) }
    }

    /// Creates a peer on this machine, over a Unix socket.
    pub fn local() -> Self {
        Self { address: None }
    }

    /// Returns the address and port; `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Returns the IP address; `None` for a Unix socket.
    pub fn ip(&self) -> Option<IpAddr> {
        self.address.map(|address| address.ip())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => address.fmt(formatter),
            None => formatter.write_str("a local client"),
        }
    }
}

/// A set of peers, by default empty.
#[derive(Clone, Default)]
pub struct PeerFilter(Option<Arc<dyn Fn(Peer) -> bool + Send + Sync>>);

impl PeerFilter {
    /// Creates the set of peers for which a function returns true. It is called for each
    /// connection, so it must be fast.
    pub fn new(contains: impl Fn(Peer) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(contains)))
    }

    /// Whether a peer is in the set.
    pub(crate) fn contains(&self, peer: Peer) -> bool {
        self.0.as_ref().is_some_and(|contains| contains(peer))
    }
}

impl fmt::Debug for PeerFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("PeerFilter").field(&self.0.is_some()).finish()
    }
}
