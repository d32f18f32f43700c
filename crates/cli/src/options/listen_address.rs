//! The value of `--listen`: the address of the page.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use weir_server::{Address, outward_address, server_address};

/// The default port of the page. It is fixed, so that the browser keeps its settings for the page.
const DEFAULT_PORT: u16 = 7878;

/// The address of the page if none is given.
pub(crate) fn default_address() -> Address {
    Address::Tcp(format!("127.0.0.1:{DEFAULT_PORT}"))
}

/// The address of the page: `127.0.0.1:7999`, `localhost:7999`, `[::1]:7999`, `:7999`, `7999`, or a
/// host without a port; `tls://HOST:PORT`; `unix:PATH`; `systemd:NAME` and `systemd+tls:NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub(crate) Address);

/// A text that is not a [`ListenAddress`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListenAddressError(String);

impl fmt::Display for ListenAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a valid address: write a port of this machine such as 7999, \
             localhost:7999 or [::1]:7999, or tls://HOST:PORT, or unix:/PATH, or systemd:NAME",
            self.0
        )
    }
}

impl std::error::Error for ListenAddressError {}

impl ListenAddress {
    /// Returns the host that a certificate of this address names; `None` if the address has none.
    /// If the address stands for all addresses of the machine, this is the one by which other
    /// machines reach it.
    pub(crate) fn host(&self) -> Option<String> {
        let (Address::Tcp(host) | Address::Tls(host)) = &self.0 else { return None };
        let (host, _port) = host.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => {
                shown_for_all(address).map(|address| address.to_string())
            }
            _ => Some(host.to_owned()),
        }
    }
}

/// Returns a host and a port that work in a browser. An address that stands for all addresses of
/// the machine is replaced by one of them.
pub(crate) fn reachable(host_and_port: &str) -> String {
    let Ok(mut address) = host_and_port.parse::<SocketAddr>() else {
        return host_and_port.to_owned();
    };
    if address.ip().is_unspecified() {
        let loopback = match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(shown_for_all(address.ip()).unwrap_or(loopback));
    }
    address.to_string()
}

/// Returns the address to show for all addresses of the machine. Those of IPv6 include those of
/// IPv4.
fn shown_for_all(unspecified: IpAddr) -> Option<IpAddr> {
    outward_address(unspecified).or_else(|| outward_address(Ipv4Addr::UNSPECIFIED.into()))
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        let address = server_address(text, Some(DEFAULT_PORT));
        address.map(Self).ok_or_else(|| ListenAddressError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{ListenAddress, ListenAddressError, reachable};

    #[test]
    fn all_addresses_are_shown_as_one_that_works() {
        for text in ["0.0.0.0:7999", "[::]:7999"] {
            let shown: std::net::SocketAddr = reachable(text).parse().expect("an address");
            assert!(!shown.ip().is_unspecified() && shown.port() == 7999, "{shown}");
        }
        for text in ["127.0.0.1:7999", "[::1]:7999", "logs.example:7999"] {
            assert_eq!(reachable(text), text);
        }
    }

    #[test]
    fn certificates_name_the_host() {
        for (text, host) in [
            ("tls://logs.example:7443", Some("logs.example")),
            ("tls://[::1]:7443", Some("::1")),
            ("192.0.2.1", Some("192.0.2.1")),
            ("unix:/run/weir.sock", None),
        ] {
            let address: ListenAddress = text.parse().expect("an address");
            assert_eq!(address.host().as_deref(), host, "{text}");
        }
    }

    #[test]
    fn a_port_or_a_host_may_be_left_out() {
        for (text, address) in [
            ("127.0.0.1:7999", "tcp://127.0.0.1:7999"),
            ("localhost:7999", "tcp://127.0.0.1:7999"),
            ("LOCALHOST:0", "tcp://127.0.0.1:0"),
            ("7999", "tcp://127.0.0.1:7999"),
            (":7999", "tcp://127.0.0.1:7999"),
            ("localhost", "tcp://127.0.0.1:7878"),
            ("127.0.0.2", "tcp://127.0.0.2:7878"),
            ("[::1]:7999", "tcp://[::1]:7999"),
            ("[::1]", "tcp://[::1]:7878"),
            ("::1", "tcp://[::1]:7878"),
            ("0.0.0.0:7999", "tcp://0.0.0.0:7999"),
            ("tcp://logs.example:80", "tcp://logs.example:80"),
            ("tls://[::]:7443", "tls://[::]:7443"),
            ("unix:/run/weir.sock", "unix:/run/weir.sock"),
            ("unix:///run/weir.sock", "unix:/run/weir.sock"),
            ("systemd:", "systemd:"),
            ("systemd+tls:weir.socket", "systemd+tls:weir.socket"),
        ] {
            let expected = Ok(ListenAddress(address.parse().expect("an address")));
            assert_eq!(text.parse(), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            ":",
            "+7999",
            "70000",
            "localhost:",
            "localhost:+1",
            "logs.example:80",
            "udp://127.0.0.1:80",
            "unixgram:/run/weir.sock",
            "http://localhost:80",
            "unix:",
        ] {
            let error = text.parse::<ListenAddress>().expect_err(text);
            assert_eq!(error, ListenAddressError(text.to_owned()));
        }
    }
}
