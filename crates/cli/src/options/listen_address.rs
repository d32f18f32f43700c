//! The value of `--listen`: where the page is served.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// The default port of the page. It is fixed, so that the browser keeps its settings for the page.
pub(crate) const DEFAULT_PORT: u16 = 7878;

/// An address of this machine alone: `127.0.0.1:7999`, `localhost:7999`, `[::1]:7999`, `:7999`,
/// `7999`, or a host without a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub(crate) SocketAddr);

/// Why a text is not a [`ListenAddress`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenAddressError {
    /// It is not an address.
    Invalid(String),
    /// Other machines can reach the address.
    Public(SocketAddr),
}

impl fmt::Display for ListenAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => write!(
                formatter,
                "`{text}` is not a valid address: write a port of this machine such as 7999, \
                 localhost:7999 or [::1]:7999"
            ),
            Self::Public(address) => write!(
                formatter,
                "other machines could reach {address}, and the page has neither a log-in nor \
                 encryption: listen on 127.0.0.1:{port} instead. From another machine, forward \
                 the port with `ssh -L {port}:127.0.0.1:{port} SERVER`, or put a reverse proxy \
                 with a log-in in front of it and name its address with --public-url",
                port = address.port()
            ),
        }
    }
}

impl std::error::Error for ListenAddressError {}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        let address = parse(text).ok_or_else(|| ListenAddressError::Invalid(text.to_owned()))?;
        match address.ip().is_loopback() {
            true => Ok(Self(address)),
            false => Err(ListenAddressError::Public(address)),
        }
    }
}

fn parse(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    // `u16::from_str` would also take a leading plus.
    let port = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?;
    if let Some(port) = port(text.strip_prefix(':').unwrap_or(text)) {
        return Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(SocketAddr::new(address, DEFAULT_PORT));
    }
    let (host, number) = match text.split_once(':') {
        Some((host, number)) => (host, port(number)?),
        None => (text, DEFAULT_PORT),
    };
    let is_localhost = host.eq_ignore_ascii_case("localhost");
    is_localhost.then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, number)))
}

#[cfg(test)]
mod tests {
    use super::{ListenAddress, ListenAddressError};

    #[test]
    fn a_port_or_a_host_may_be_left_out() {
        for (text, address) in [
            ("127.0.0.1:7999", "127.0.0.1:7999"),
            ("localhost:7999", "127.0.0.1:7999"),
            ("LOCALHOST:0", "127.0.0.1:0"),
            ("7999", "127.0.0.1:7999"),
            (":7999", "127.0.0.1:7999"),
            ("localhost", "127.0.0.1:7878"),
            ("127.0.0.2", "127.0.0.2:7878"),
            ("[::1]:7999", "[::1]:7999"),
            ("[::1]", "[::1]:7878"),
            ("::1", "[::1]:7878"),
        ] {
            let expected = Ok(ListenAddress(address.parse().expect("an address")));
            assert_eq!(text.parse(), expected, "{text}");
        }
    }

    #[test]
    fn addresses_that_other_machines_reach_are_refused() {
        for text in ["0.0.0.0:7999", "[::]:7999", "192.0.2.7:7999", "0.0.0.0", "192.0.2.7"] {
            let error = text.parse::<ListenAddress>().expect_err(text);
            assert!(matches!(error, ListenAddressError::Public(_)), "{text}");
            let sentence = error.to_string();
            assert!(sentence.contains("ssh -L") && sentence.contains("--public-url"), "{sentence}");
        }
        for text in ["", ":", "+7999", "70000", "localhost:", "localhost:+1", "logs.example:80"] {
            let error = text.parse::<ListenAddress>().expect_err(text);
            assert_eq!(error, ListenAddressError::Invalid(text.to_owned()));
        }
    }
}
