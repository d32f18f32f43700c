//! The value of `--admin`: where a program can be looked into.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use weir_net::socket::Address;

/// Where a program can be looked into: an address that no other machine can reach, which is
/// `127.0.0.1:PORT`, `[::1]:PORT` or `unix:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminAddress(Address);

/// A text that is not an [`AdminAddress`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddressError {
    /// It is no address of a kind that is served.
    Malformed(String),
    /// Other machines could reach it.
    NotLocal(String),
}

impl AdminAddress {
    /// The address as the sockets know it.
    pub fn socket_address(&self) -> &Address {
        &self.0
    }
}

impl FromStr for AdminAddress {
    type Err = AdminAddressError;

    fn from_str(text: &str) -> Result<Self, AdminAddressError> {
        let malformed = || AdminAddressError::Malformed(text.to_owned());
        if text.starts_with("unix:") {
            return text.parse().map(Self).map_err(|_| malformed());
        }
        // A name could lead to another machine.
        let address: SocketAddr = text.parse().map_err(|_| malformed())?;
        match address.ip().to_canonical().is_loopback() {
            true => Ok(Self(Address::Tcp(address.to_string()))),
            false => Err(AdminAddressError::NotLocal(text.to_owned())),
        }
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for AdminAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, reason) = match self {
            Self::Malformed(text) => (text, "is not a valid address"),
            Self::NotLocal(text) => (text, "is an address that other machines could reach"),
        };
        write!(formatter, "`{text}` {reason}; write 127.0.0.1:PORT, [::1]:PORT or unix:/PATH")
    }
}

impl std::error::Error for AdminAddressError {}

#[cfg(test)]
mod tests {
    use super::{AdminAddress, AdminAddressError};

    #[test]
    fn only_addresses_of_this_machine_are_taken() {
        for (text, address) in [
            ("127.0.0.1:9000", "tcp://127.0.0.1:9000"),
            ("127.8.8.8:0", "tcp://127.8.8.8:0"),
            ("[::1]:9000", "tcp://[::1]:9000"),
            ("[::ffff:127.0.0.1]:9000", "tcp://[::ffff:127.0.0.1]:9000"),
            ("unix:///run/weir.sock", "unix:/run/weir.sock"),
            ("unix:/run/weir.sock", "unix:/run/weir.sock"),
        ] {
            let parsed: AdminAddress = text.parse().expect(text);
            assert_eq!(parsed.to_string(), address, "{text}");
        }
        let not_local = AdminAddressError::NotLocal as fn(String) -> _;
        let malformed = AdminAddressError::Malformed as fn(String) -> _;
        for (text, error) in [
            ("0.0.0.0:9000", not_local),
            ("[::]:9000", not_local),
            ("192.0.2.1:9000", not_local),
            ("[::ffff:192.0.2.1]:9000", not_local),
            ("", malformed),
            ("9000", malformed),
            (":9000", malformed),
            ("127.0.0.1", malformed),
            ("localhost:9000", malformed),
            ("tcp://127.0.0.1:9000", malformed),
            ("tls://127.0.0.1:9000", malformed),
            ("systemd:admin", malformed),
            ("unixgram:/run/weir.sock", malformed),
            ("unix:", malformed),
        ] {
            assert_eq!(text.parse::<AdminAddress>(), Err(error(text.to_owned())), "{text}");
        }
    }
}
