//! Short forms of the address of a server: a port alone is one of this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::Address;

/// Parses the address of a server of connections: a port of this machine such as `7999`, `:7999` or
/// `localhost:7999`, an IP address with its port, or an [`Address`] with its scheme. Without a port
/// the address has `default_port`, and is refused if there is none. Returns `None` for other texts,
/// and for addresses of datagrams.
pub fn server_address(text: &str, default_port: Option<u16>) -> Option<Address> {
    if let Some(address) = short_address(text, default_port) {
        return Some(Address::Tcp(address.to_string()));
    }
    let has_scheme = text.contains("://")
        || ["unix:", "systemd:", "systemd+tls:"].iter().any(|scheme| text.starts_with(scheme));
    let address: Address = text.parse().ok().filter(|_| has_scheme)?;
    (!address.is_datagram()).then_some(address)
}

fn short_address(text: &str, default_port: Option<u16>) -> Option<SocketAddr> {
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
        return Some(SocketAddr::new(address, default_port?));
    }
    let (host, number) = match text.split_once(':') {
        Some((host, number)) => (host, port(number)?),
        None => (text, default_port?),
    };
    let is_localhost = host.eq_ignore_ascii_case("localhost");
    is_localhost.then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, number)))
}

#[cfg(test)]
mod tests {
    use super::server_address;

    #[test]
    fn a_port_is_needed_unless_there_is_a_default() {
        for (text, without, with) in [
            ("7999", Some("tcp://127.0.0.1:7999"), Some("tcp://127.0.0.1:7999")),
            ("localhost", None, Some("tcp://127.0.0.1:80")),
            ("::1", None, Some("tcp://[::1]:80")),
            ("0.0.0.0:7999", Some("tcp://0.0.0.0:7999"), Some("tcp://0.0.0.0:7999")),
            ("tls://a.example:443", Some("tls://a.example:443"), Some("tls://a.example:443")),
            ("udp://127.0.0.1:514", None, None),
            ("unixgram:/run/a.sock", None, None),
            ("a.example:80", None, None),
            ("", None, None),
        ] {
            let shown = |port| server_address(text, port).map(|address| address.to_string());
            assert_eq!(shown(None).as_deref(), without, "{text}");
            assert_eq!(shown(Some(80)).as_deref(), with, "{text}");
        }
    }
}
