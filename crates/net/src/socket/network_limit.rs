//! The limit on the open connections of one client.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_sync::Lock;

use super::peer::{Peer, PeerFilter};

/// Limits the open connections of each client network. Clones share the counts. There are at most
/// as many counts as open connections.
#[derive(Clone, Debug)]
pub(crate) struct NetworkLimit {
    counts: Arc<Lock<HashMap<Network, usize>>>,
    connections_max: usize,
    limits_loopback: bool,
    unlimited: PeerFilter,
}

/// The addresses that are attributed to one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Network {
    V4(Ipv4Addr),
    /// The first 64 bits of an IPv6 address. The client can choose the other bits (RFC 4291 section
    /// 2.5.1, RFC 8981).
    V6(u64),
}

impl Network {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

impl NetworkLimit {
    /// Creates a limit of `connections_max` connections for each network, at least 1. It does not
    /// hold for `unlimited` peers.
    pub(crate) fn new(
        connections_max: usize,
        limits_loopback: bool,
        unlimited: PeerFilter,
    ) -> Self {
        let connections_max = connections_max.max(1);
        Self { counts: Arc::default(), connections_max, limits_loopback, unlimited }
    }

    /// Returns a permit for one more connection of this client, or `None` if its limit is reached.
    pub(crate) fn try_acquire(&self, peer: Peer) -> Option<NetworkPermit> {
        let address = peer.ip().map(|address| address.to_canonical());
        let address = address.filter(|address| self.limits_loopback || !address.is_loopback());
        let network = address.filter(|_| !self.unlimited.contains(peer)).map(Network::of);
        let Some(network) = network else { return Some(NetworkPermit(None)) };
        let mut counts = self.counts.lock();
        let count = counts.entry(network).or_default();
        if *count >= self.connections_max {
            return None;
        }
        *count += 1;
        Some(NetworkPermit(Some((self.clone(), network))))
    }
}

/// The permit of a client to keep one connection open. The default one is not counted.
#[derive(Debug, Default)]
pub(crate) struct NetworkPermit(Option<(NetworkLimit, Network)>);

impl Drop for NetworkPermit {
    fn drop(&mut self) {
        let Some((limit, network)) = &self.0 else { return };
        let mut counts = limit.counts.lock();
        if let Some(count) = counts.get_mut(network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NetworkLimit, Peer, PeerFilter};

    fn new_limit(connections_max: usize, limits_loopback: bool) -> NetworkLimit {
        NetworkLimit::new(connections_max, limits_loopback, PeerFilter::default())
    }

    fn peer(address: &str) -> Peer {
        Peer::tcp(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_a_limit_of_its_own() {
        let limit = new_limit(2, false);
        for [first, second, third, other] in [
            ["192.0.2.1:1", "192.0.2.1:2", "[::ffff:192.0.2.1]:3", "192.0.2.2:1"],
            ["[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ff:0:0:1]:1", "[2001:db8:0:1::1]:1"],
        ] {
            let permit = limit.try_acquire(peer(first)).unwrap();
            let _second = limit.try_acquire(peer(second)).unwrap();
            assert!(limit.try_acquire(peer(third)).is_none(), "{third}");
            assert!(limit.try_acquire(peer(other)).is_some(), "{other}");
            drop(permit);
            assert!(limit.try_acquire(peer(third)).is_some(), "{third}");
        }
        assert!(limit.counts.lock().is_empty(), "nothing is kept of clients that have gone");
    }

    #[test]
    fn clients_on_this_machine_are_exempt_by_default() {
        let limit = new_limit(1, false);
        for client in
            [peer("127.0.0.1:1"), peer("[::1]:1"), peer("[::ffff:127.0.0.9]:1"), Peer::local()]
        {
            let permits: Vec<_> = (0..9).map(|_| limit.try_acquire(client)).collect();
            assert!(permits.iter().all(Option::is_some), "{client}");
        }
        let limit = new_limit(1, true);
        let _permit = limit.try_acquire(peer("127.0.0.1:1")).unwrap();
        assert!(limit.try_acquire(peer("127.0.0.1:2")).is_none());
    }

    #[test]
    fn proxies_are_exempt_by_choice() {
        let proxies = PeerFilter::new(|peer| peer == self::peer("192.0.2.1:1"));
        let limit = NetworkLimit::new(1, false, proxies);
        for (peer, expected) in [(peer("192.0.2.1:1"), 9), (peer("192.0.2.2:1"), 1)] {
            let permits: Vec<_> = (0..9).filter_map(|_| limit.try_acquire(peer)).collect();
            assert_eq!(permits.len(), expected, "{peer}");
        }
    }
}
