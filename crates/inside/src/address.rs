//! The admin address: the value of `--admin`.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use weir_net::socket::Address;

/// The address of the admin server. No other machine can reach it: it is `127.0.0.1:PORT`,
/// `[::1]:PORT` or `unix:PATH`. `PORT`, `:PORT` and `localhost:PORT` stand for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminAddress(Address);

/// The reason why a text is not a valid [`AdminAddress`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddressError {
    /// The text is not an address of a supported kind.
    Malformed(String),
    /// Other machines could reach the address.
    NotLocal(String),
}

impl AdminAddress {
    /// Returns the address as a socket address.
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
        // No other host name: it could resolve to another machine.
        let address = loopback(text).or_else(|| text.parse().ok()).ok_or_else(malformed)?;
        match address.ip().to_canonical().is_loopback() {
            true => Ok(Self(Address::Tcp(address.to_string()))),
            false => Err(AdminAddressError::NotLocal(text.to_owned())),
        }
    }
}

/// Returns the address that `PORT`, `:PORT` or `localhost:PORT` stands for.
fn loopback(text: &str) -> Option<SocketAddr> {
    let port = match text.rsplit_once(':') {
        None | Some(("", _)) => text.trim_start_matches(':'),
        Some((host, port)) if host.eq_ignore_ascii_case("localhost") => port,
        Some(_) => return None,
    };
    // `u16::from_str` also takes a leading plus.
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 = port.parse().ok().filter(|_| is_number)?;
    Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
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
        write!(
            formatter,
            "`{text}` {reason}; write a port such as 9464, localhost:PORT, 127.0.0.1:PORT, [::1]:PORT or \
             unix:PATH"
        )
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
            ("unix:weir.sock", "unix:weir.sock"),
            ("9464", "tcp://127.0.0.1:9464"),
            (":9464", "tcp://127.0.0.1:9464"),
            ("localhost:9464", "tcp://127.0.0.1:9464"),
            ("LOCALHOST:0", "tcp://127.0.0.1:0"),
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
            ("90000", malformed),
            (":", malformed),
            ("::9000", malformed),
            ("+9000", malformed),
            ("127.0.0.1", malformed),
            ("localhost", malformed),
            ("localhost:+9", malformed),
            ("logs.example:9000", malformed),
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
