//! Where to listen, as it is written.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::options::{Active, Framing};

/// What a listener's bytes come by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
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
}

impl Transport {
    /// True where each message is a datagram, which nobody sends again.
    pub fn is_datagram(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::UnixDatagram(_))
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(formatter, "tcp://{host}"),
            Self::Tls(host) => write!(formatter, "tls://{host}"),
            Self::Udp(host) => write!(formatter, "udp://{host}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::UnixDatagram(path) => write!(formatter, "unixgram:{}", path.display()),
        }
    }
}

/// Where to listen and what is special about it.
///
/// `tcp://127.0.0.1:5140`, `tls://[::]:6514`, `udp://127.0.0.1:5140`, `unix:/run/weir.sock` and
/// `unixgram:/run/weir.sock`; `127.0.0.1:5140` is TCP. `?active=64`, `?framing=octets`, or both
/// with `&` between, may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// What and where.
    pub transport: Transport,
    /// How it is read, where it says so.
    pub active: Option<Active>,
    /// How lines are told, where it says so.
    pub framing: Option<Framing>,
}

/// Why a text is no address: a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (place, options) = match text.rsplit_once('?') {
            Some((place, options)) => (place, options),
            None => (text, ""),
        };
        let mut address = Self { transport: transport(place)?, active: None, framing: None };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            address.set(text, option)?;
        }
        Ok(address)
    }
}

impl Address {
    fn set(&mut self, text: &str, option: &str) -> Result<(), AddressError> {
        let failed = |why: &str| AddressError(format!("`{text}`: {why}"));
        match option.split_once('=') {
            Some(("active", value)) => {
                self.active = Some(value.parse().map_err(|why: String| failed(&why))?);
            }
            Some(("framing", value)) => {
                self.framing = Some(value.parse().map_err(|why: String| failed(&why))?);
            }
            _ => return Err(failed("behind `?` may stand active=MODE and framing=MODE")),
        }
        Ok(())
    }
}

fn transport(place: &str) -> Result<Transport, AddressError> {
    let (scheme, rest) = match place.split_once(':') {
        Some((scheme @ ("tcp" | "tls" | "udp"), rest)) => {
            let rest = rest.strip_prefix("//").ok_or_else(|| no_port(place))?;
            (scheme, rest.trim_end_matches('/'))
        }
        Some((scheme @ ("unix" | "unixgram"), path)) => {
            return unix(place, scheme, path);
        }
        _ => ("tcp", place),
    };
    let port = rest.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    let Some((host, Ok(_))) = port else { return Err(no_port(place)) };
    if host.is_empty() || host.contains('/') {
        return Err(no_port(place));
    }
    let rest = rest.to_owned();
    Ok(match scheme {
        "tls" => Transport::Tls(rest),
        "udp" => Transport::Udp(rest),
        _ => Transport::Tcp(rest),
    })
}

fn unix(place: &str, scheme: &str, path: &str) -> Result<Transport, AddressError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(AddressError(format!("`{place}` has no path, as in {scheme}:/run/weir.sock")));
    }
    let path = PathBuf::from(path);
    Ok(if scheme == "unix" { Transport::Unix(path) } else { Transport::UnixDatagram(path) })
}

fn no_port(place: &str) -> AddressError {
    AddressError(format!(
        "`{place}` is no address to listen at; write it as tcp://127.0.0.1:5140, tls://HOST:PORT, \
         udp://HOST:PORT, unix:/PATH or unixgram:/PATH"
    ))
}

#[cfg(test)]
mod tests {
    use super::{Address, Transport};
    use crate::options::{Active, Framing};

    #[test]
    fn addresses_are_read() {
        let tcp = |host: &str| Transport::Tcp(host.to_owned());
        for (text, transport) in [
            ("127.0.0.1:5140", tcp("127.0.0.1:5140")),
            ("localhost:0", tcp("localhost:0")),
            ("tcp://[::1]:514/", tcp("[::1]:514")),
            ("tls://0.0.0.0:6514", Transport::Tls("0.0.0.0:6514".to_owned())),
            ("udp://127.0.0.1:514", Transport::Udp("127.0.0.1:514".to_owned())),
            ("unix:/run/w.sock", Transport::Unix("/run/w.sock".into())),
            ("unix:///run/w.sock", Transport::Unix("/run/w.sock".into())),
            ("unixgram:w.sock", Transport::UnixDatagram("w.sock".into())),
        ] {
            let address: Address = text.parse().expect(text);
            assert_eq!(address.transport, transport, "{text}");
            assert_eq!((address.active, address.framing), (None, None));
        }
    }

    #[test]
    fn options_follow_a_question_mark() {
        let address: Address = "unix:/w?active=64&framing=octets".parse().expect("an address");
        assert_eq!(address.active, Active::times(64));
        assert_eq!(address.framing, Some(Framing::Octets));
        let address: Address = "a:1?active=once".parse().expect("an address");
        assert_eq!(address.active, Some(Active::Once));
    }

    #[test]
    fn what_is_no_address_is_said() {
        for text in [
            "",
            "5140",
            "127.0.0.1",
            ":5140",
            "tcp:127.0.0.1:1",
            "tcp://h:99999",
            "unix:",
            "http://h:80/",
            "h:1?active=0",
            "h:1?active=many",
            "h:1?framing=x",
            "h:1?what",
        ] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains('`'), "{error}");
        }
    }
}
