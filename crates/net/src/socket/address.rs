//! Addresses to listen at, and their syntax.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// An address to listen at, with its transport.
///
/// Its syntax is `tcp://127.0.0.1:5140`, `tls://[::]:6514`, `udp://127.0.0.1:5140`,
/// `unix:/run/weir.sock` or `unixgram:/run/weir.sock`. An address without a scheme is TCP. A socket
/// that the service manager passes is `systemd:NAME`, or `systemd+tls:NAME` to speak TLS on it.
///
/// ```
/// use weir_net::socket::Address;
///
/// let address: Address = "127.0.0.1:5140".parse()?;
/// assert_eq!(address.to_string(), "tcp://127.0.0.1:5140");
/// assert!(!address.is_datagram());
/// assert!("127.0.0.1".parse::<Address>().is_err(), "the port is missing");
/// # Ok::<(), weir_net::socket::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP, at a host and a port.
    Tcp(String),
    /// TLS over TCP, at a host and a port.
    Tls(String),
    /// UDP, at a host and a port.
    Udp(String),
    /// A Unix stream socket at this path.
    Unix(PathBuf),
    /// A Unix datagram socket at this path.
    UnixDatagram(PathBuf),
    /// A socket of any kind that the service manager passes.
    Passed(PassedName),
    /// A TCP socket that the service manager passes, with TLS.
    PassedTls(PassedName),
}

/// The name of a socket that the service manager passes: `FileDescriptorName=` of systemd's socket
/// unit, or the name of that unit. `None` means the first socket that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedName(pub Option<String>);

impl fmt::Display for PassedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl Address {
    /// Whether the socket receives datagrams rather than connections. Returns false for a passed
    /// socket; use [`BindOptions::is_datagram`](super::BindOptions::is_datagram) for those.
    pub fn is_datagram(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::UnixDatagram(_))
    }

    /// Whether only one of the two addresses can be bound at a time: they are the same, or one of
    /// them stands for all addresses of the machine. Returns false for port 0, which is a free port
    /// each time, and for sockets that the service manager passes. Resolves no host name except
    /// `localhost`.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tcp(one) | Self::Tls(one), Self::Tcp(other) | Self::Tls(other))
            | (Self::Udp(one), Self::Udp(other)) => hosts_overlap(one, other),
            (
                Self::Unix(one) | Self::UnixDatagram(one),
                Self::Unix(other) | Self::UnixDatagram(other),
            ) => one == other,
            _ => false,
        }
    }
}

/// Whether a host and a port stand for a socket of another host and port.
fn hosts_overlap(one: &str, other: &str) -> bool {
    let parts = |text: &'_ str| {
        let (host, port) = text.rsplit_once(':')?;
        Some((host.to_ascii_lowercase(), port.parse::<u16>().ok()?))
    };
    let (Some((one, one_port)), Some((other, other_port))) = (parts(one), parts(other)) else {
        return false;
    };
    if one_port != other_port || one_port == 0 {
        return false;
    }
    one == other
        || matches!((ip_of(&one), ip_of(&other)), (Some(one), Some(other)) if ips_overlap(one, other))
}

/// The IP address of a host; `None` if the host is a name other than `localhost`.
fn ip_of(host: &str) -> Option<IpAddr> {
    match host {
        "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        _ => host.trim_start_matches('[').trim_end_matches(']').parse().ok(),
    }
}

/// Whether one socket would take connections for both addresses. A socket of `[::]` takes those of
/// IPv4 too, unless the system separates the two.
fn ips_overlap(one: IpAddr, other: IpAddr) -> bool {
    let shares_socket = |all: IpAddr, one: IpAddr| {
        all.is_ipv4() == one.is_ipv4() || (all.is_ipv6() && ipv6_takes_ipv4())
    };
    let covers = |all: IpAddr, one: IpAddr| all.is_unspecified() && shares_socket(all, one);
    one == other || covers(one, other) || covers(other, one)
}

/// Whether a socket of `[::]` takes connections of IPv4: not if `net.ipv6.bindv6only` of Linux is 1
/// (ipv6(7)). Other systems let both be bound, or are not known here, so nothing is refused there.
fn ipv6_takes_ipv4() -> bool {
    let value = || std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only");
    cfg!(target_os = "linux") && value().map_or(true, |value| value.trim() == "0")
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(formatter, "tcp://{host}"),
            Self::Tls(host) => write!(formatter, "tls://{host}"),
            Self::Udp(host) => write!(formatter, "udp://{host}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::UnixDatagram(path) => write!(formatter, "unixgram:{}", path.display()),
            Self::Passed(name) => write!(formatter, "systemd:{name}"),
            Self::PassedTls(name) => write!(formatter, "systemd+tls:{name}"),
        }
    }
}

/// The error of a text that is not a valid [`Address`]. It displays as a sentence with the accepted
/// forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The text has no port, an unknown scheme, or another fault.
    Malformed(String),
    /// A Unix address without a path.
    NoPath(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text) => write!(
                formatter,
                "`{text}` is not a valid address to listen at; write tcp://127.0.0.1:5140, \
                 tls://HOST:PORT, udp://HOST:PORT, unix:/PATH, unixgram:/PATH or systemd:NAME"
            ),
            Self::NoPath(text) => write!(
                formatter,
                "`{text}` is not a valid address to listen at: the path is missing; write \
                 unix:/run/weir.sock"
            ),
        }
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some((scheme @ ("unix" | "unixgram"), path)) => parse_unix(text, scheme, path),
            Some(("systemd", name)) => Ok(Self::Passed(parse_name(name))),
            Some(("systemd+tls", name)) => Ok(Self::PassedTls(parse_name(name))),
            Some((scheme @ ("tcp" | "tls" | "udp"), rest)) => {
                let malformed = || AddressError::Malformed(text.to_owned());
                let host = rest.strip_prefix("//").ok_or_else(malformed)?;
                parse_host(text, scheme, host.trim_end_matches('/'))
            }
            _ => parse_host(text, "tcp", text),
        }
    }
}

fn parse_host(text: &str, scheme: &str, host_and_port: &str) -> Result<Address, AddressError> {
    let malformed = || AddressError::Malformed(text.to_owned());
    let (host, port) = host_and_port.rsplit_once(':').ok_or_else(malformed)?;
    if host.is_empty() || host.contains('/') || port.parse::<u16>().is_err() {
        return Err(malformed());
    }
    let host_and_port = host_and_port.to_owned();
    Ok(match scheme {
        "tls" => Address::Tls(host_and_port),
        "udp" => Address::Udp(host_and_port),
        _ => Address::Tcp(host_and_port),
    })
}

fn parse_unix(text: &str, scheme: &str, path: &str) -> Result<Address, AddressError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(AddressError::NoPath(text.to_owned()));
    }
    let path = PathBuf::from(path);
    Ok(if scheme == "unix" { Address::Unix(path) } else { Address::UnixDatagram(path) })
}

fn parse_name(name: &str) -> PassedName {
    PassedName((!name.is_empty()).then(|| name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Address, PassedName};

    #[test]
    fn addresses_are_parsed() {
        let tcp = |host: &str| Address::Tcp(host.to_owned());
        for (text, expected) in [
            ("127.0.0.1:5140", tcp("127.0.0.1:5140")),
            ("localhost:0", tcp("localhost:0")),
            ("tcp://[::1]:514/", tcp("[::1]:514")),
            ("tls://0.0.0.0:6514", Address::Tls("0.0.0.0:6514".to_owned())),
            ("udp://127.0.0.1:514", Address::Udp("127.0.0.1:514".to_owned())),
            ("unix:/run/w.sock", Address::Unix("/run/w.sock".into())),
            ("unix:///run/w.sock", Address::Unix("/run/w.sock".into())),
            ("unixgram:w.sock", Address::UnixDatagram("w.sock".into())),
            ("systemd:", Address::Passed(PassedName(None))),
            ("systemd:weir.socket", Address::Passed(PassedName(Some("weir.socket".to_owned())))),
            ("systemd+tls:", Address::PassedTls(PassedName(None))),
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!(address, expected, "{text}");
            assert_eq!(address.to_string().parse(), Ok(address), "{text}");
        }
    }

    #[test]
    fn one_socket_at_a_time_can_have_an_address() {
        let overlap = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| text.parse::<Address>().expect(text));
            assert_eq!(one.overlaps(&other), other.overlaps(&one), "{one} and {other}");
            one.overlaps(&other)
        };
        for (one, other) in [
            ("127.0.0.1:80", "tcp://127.0.0.1:80"),
            ("127.0.0.1:80", "tls://LOCALHOST:80"),
            ("127.0.0.1:80", "0.0.0.0:80"),
            ("[::1]:80", "[::]:80"),
            ("a.example:80", "A.example:80"),
            ("udp://127.0.0.1:80", "udp://0.0.0.0:80"),
            ("unix:/run/a.sock", "unixgram:/run/a.sock"),
        ] {
            assert!(overlap(one, other), "{one} and {other}");
        }
        for (one, other) in [
            ("127.0.0.1:80", "127.0.0.1:81"),
            ("127.0.0.1:80", "127.0.0.2:80"),
            ("127.0.0.1:80", "udp://127.0.0.1:80"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:80", "0.0.0.0:80"),
            ("[::1]:80", "127.0.0.1:80"),
            ("a.example:80", "b.example:80"),
            ("unix:/run/a.sock", "unix:/run/b.sock"),
            ("systemd:", "systemd:"),
        ] {
            assert!(!overlap(one, other), "{one} and {other}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_socket_of_both_families_is_told_from_one_of_ipv6() {
        // Without IPv6 there is nothing to compare with.
        let Ok(all) = std::net::TcpListener::bind("[::]:0") else { return };
        let port = all.local_addr().expect("bound").port();
        let address = |host: &str| -> Address { format!("{host}:{port}").parse().expect(host) };
        for host in ["127.0.0.1", "0.0.0.0"] {
            let taken = std::net::TcpListener::bind((host, port));
            let is_taken = taken.is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse);
            assert_eq!(address(host).overlaps(&address("[::]")), is_taken, "{host}");
        }
    }

    #[test]
    fn errors_quote_the_text() {
        for text in [
            "",
            "5140",
            "127.0.0.1",
            ":5140",
            "tcp:127.0.0.1:1",
            "tcp://h:99999",
            "unix:",
            "unixgram://",
            "http://h:80/",
        ] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
