//! The address at which other machines reach this one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Returns the address from which this machine sends to others, for a server that listens on all
/// addresses. Returns `None` if the machine has no route of that address family. Sends nothing.
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
///
/// let address = weir_net::socket::outward_address(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
/// assert!(address.is_none_or(|address| address.is_ipv4() && !address.is_unspecified()));
/// ```
pub fn outward_address(unspecified: IpAddr) -> Option<IpAddr> {
    // Documentation addresses (RFC 5737, RFC 3849). Connecting a UDP socket only looks up the
    // route.
    let other: IpAddr = match unspecified {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(unspecified, 0)).ok()?;
    socket.connect(SocketAddr::new(other, 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}
