//! Addresses to listen at, as they are written.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where to listen, and over which transport.
///
/// Written `tcp://127.0.0.1:5140`, `tls://[::]:6514`, `udp://127.0.0.1:5140`,
/// `unix:/run/weir.sock` or `unixgram:/run/weir.sock`. An address without a scheme is TCP. A socket that the
/// service manager passes is `systemd:NAME` or, to speak TLS on it, `systemd+tls:NAME`.
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

/// The name of a socket that the service manager passes: `FileDescriptorName=` of systemd's socket unit,
/// or the name of that unit. `None` is the first socket that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedName(pub Option<String>);

impl fmt::Display for PassedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl Address {
    /// Whether the socket receives datagrams rather than connections. Of one that is passed,
    /// [`BindOptions::is_datagram`](super::BindOptions::is_datagram) knows it.
    pub fn is_datagram(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::UnixDatagram(_))
    }
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

/// A text that is not a valid [`Address`]. Displays as a sentence with the accepted forms.
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
