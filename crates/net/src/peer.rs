//! Who is at the other end of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Where a connection comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// A TCP connection from this address and port.
    Tcp(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(formatter),
        }
    }
}

/// The client of one connection, as every request on it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The address that the kernel reports; never what a header claims.
    pub address: Address,
}

impl Peer {
    pub(crate) fn new(address: Address) -> Self {
        Self { address }
    }

    /// The client's IP address, where the connection has one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.address {
            Address::Tcp(address) => Some(address.ip()),
        }
    }
}
