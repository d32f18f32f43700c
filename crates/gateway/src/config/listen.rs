//! `listen`: the addresses of the gateway.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use weir_net::socket::{Address, server_address};

use super::table::TableReader;

/// The prefix of an address whose clients are proxies that speak the PROXY protocol.
const PROXIED: &str = "proxy+";

/// The prefix of an address whose clients speak HTTP/2 without TLS.
const PRIOR_KNOWLEDGE: &str = "h2c+";

/// A listening address, and the protocols of its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// The address without the prefix.
    pub address: Address,
    /// Whether connections begin with a PROXY protocol header.
    pub is_proxied: bool,
    /// Whether connections are HTTP/2 from the first byte, without TLS.
    pub has_prior_knowledge: bool,
}

impl ListenAddress {
    /// Whether its clients use TLS.
    pub(super) fn has_tls(&self) -> bool {
        has_tls(&self.address)
    }
}

fn has_tls(address: &Address) -> bool {
    matches!(address, Address::Tls(_) | Address::PassedTls(_))
}

/// The error of a text that is not the address of a gateway. It displays as a sentence with the
/// accepted forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddressError(String);

impl fmt::Display for ListenAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a valid address to listen at: write a port of this machine such as 8080, \
             or HOST:PORT, tls://HOST:PORT, unix:/PATH or systemd:NAME, with proxy+ before its \
             scheme if proxies send the PROXY protocol, and h2c+ if clients speak HTTP/2 without TLS",
            self.0
        )
    }
}

impl std::error::Error for ListenAddressError {}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        let proxied = text.strip_prefix(PROXIED);
        let text_after_proxied = proxied.unwrap_or(text);
        let known = text_after_proxied.strip_prefix(PRIOR_KNOWLEDGE);
        let text_of_address = known.unwrap_or(text_after_proxied);
        let full = || text_of_address.parse().ok().filter(|it: &Address| !it.is_datagram());
        let address = server_address(text_of_address, None).or_else(full);
        // Over TLS, the client and the server choose HTTP/2 in the handshake.
        let address = address.filter(|it| known.is_none() || !has_tls(it));
        let address = address.ok_or_else(|| ListenAddressError(text.to_owned()))?;
        Ok(Self { address, is_proxied: proxied.is_some(), has_prior_knowledge: known.is_some() })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_proxied { PROXIED } else { "" };
        let known = if self.has_prior_knowledge { PRIOR_KNOWLEDGE } else { "" };
        write!(formatter, "{prefix}{known}{}", self.address)
    }
}

/// An address of the same process beside those of the gateway, such as that of the page.
#[derive(Debug, Clone)]
pub struct ReservedAddress {
    /// The address.
    pub address: Address,
    /// What is served there, and the option that changes it: `the page (--listen)`.
    pub purpose: &'static str,
}

/// Reads the addresses, which must not overlap the reserved ones. Notes mistakes, and may return
/// `None` then.
pub(super) fn read(
    root: &TableReader<'_>,
    reserved: &[ReservedAddress],
) -> Option<Vec<ListenAddress>> {
    let Some(list) = root.strings("listen") else {
        if !root.has("listen") {
            root.complain("`listen` is missing: listen = [\"127.0.0.1:8080\"]");
        }
        return None;
    };
    if list.value.is_empty() {
        root.complain_at(
            &list,
            "the list is empty; write at least one address, such as \"127.0.0.1:8080\"",
        );
        return None;
    }
    let is_reachable = |address: &Address| matches!(address, Address::Tcp(_) | Address::Tls(_));
    let mut addresses = Vec::new();
    for item in &list.value {
        match item.value.parse::<ListenAddress>() {
            Ok(address) => {
                let needs_trust = address.is_proxied && is_reachable(&address.address);
                if needs_trust && !root.has("trusted_networks") {
                    root.complain_at(
                        item,
                        "`proxy+` needs trusted_networks = [\"10.0.0.0/8\"], the networks of the proxies",
                    );
                }
                if is_open_to_all(&address.address) && !root.has("trusted_networks") {
                    root.warn_at(item, OPEN_TO_ALL);
                }
                if let Some(conflict) = find_conflict(&address, &addresses, reserved) {
                    root.complain_at(item, conflict);
                }
                addresses.push(address);
            }
            Err(error) => root.complain_at(item, error.to_string()),
        }
    }
    Some(addresses)
}

/// What is said about such an address.
const OPEN_TO_ALL: &str = "every machine that reaches this one can connect, and without TLS everybody \
    on the way can read tokens; write tls://..., or the address of one network, or trusted_networks \
    if a proxy in front ends TLS";

/// Whether an address is reached over all networks of the machine, without TLS.
fn is_open_to_all(address: &Address) -> bool {
    let Address::Tcp(host_and_port) = address else { return false };
    let Some((host, _port)) = host_and_port.rsplit_once(':') else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// Describes the first other address that cannot be listened at together with this one.
fn find_conflict(
    address: &ListenAddress,
    others: &[ListenAddress],
    reserved: &[ReservedAddress],
) -> Option<String> {
    let address = &address.address;
    if let Some(other) = others.iter().map(|it| &it.address).find(|it| is_same(it, address)) {
        return Some(match other == address {
            true => "this address is already in the list; leave it out".to_owned(),
            false => format!(
                "{address} cannot be listened at beside {other} of this list; leave out one of the two"
            ),
        });
    }
    let other = reserved.iter().find(|it| it.address.overlaps(address))?;
    Some(format!(
        "{address} cannot be listened at beside {}, the address of {}; change the port of one of the two",
        other.address, other.purpose
    ))
}

/// Whether two addresses cannot both be listened at. A socket without a name is another one each
/// time.
fn is_same(one: &Address, other: &Address) -> bool {
    match (one, other) {
        (
            Address::Passed(one) | Address::PassedTls(one),
            Address::Passed(other) | Address::PassedTls(other),
        ) => one.0.is_some() && one == other,
        (one, other) => one.overlaps(other),
    }
}

#[cfg(test)]
mod tests {
    use super::ListenAddress;

    #[test]
    fn addresses_of_proxies_are_marked() {
        for (text, shown, is_proxied) in [
            ("127.0.0.1:80", "tcp://127.0.0.1:80", false),
            ("8080", "tcp://127.0.0.1:8080", false),
            (":8080", "tcp://127.0.0.1:8080", false),
            ("LOCALHOST:8080", "tcp://127.0.0.1:8080", false),
            ("shop.example:80", "tcp://shop.example:80", false),
            ("proxy+8080", "proxy+tcp://127.0.0.1:8080", true),
            ("proxy+tcp://127.0.0.1:80", "proxy+tcp://127.0.0.1:80", true),
            ("proxy+tls://[::]:443", "proxy+tls://[::]:443", true),
            ("proxy+unix:/run/a.sock", "proxy+unix:/run/a.sock", true),
            ("proxy+systemd:http", "proxy+systemd:http", true),
            ("h2c+8080", "h2c+tcp://127.0.0.1:8080", false),
            ("proxy+h2c+unix:/run/a.sock", "proxy+h2c+unix:/run/a.sock", true),
        ] {
            let address: ListenAddress = text.parse().expect(text);
            assert_eq!((address.to_string().as_str(), address.is_proxied), (shown, is_proxied));
            assert_eq!(address.has_prior_knowledge, text.contains("h2c+"));
        }
        for text in [
            "proxy+",
            "proxy+proxy+tcp://127.0.0.1:80",
            "h2c+tls://127.0.0.1:80",
            "h2c+proxy+tcp://127.0.0.1:80",
            "h2c+",
            "proxy:tcp://127.0.0.1:80",
            "127.0.0.1",
            "localhost",
            "70000",
            "udp://127.0.0.1:80",
            "unixgram:/run/a.sock",
        ] {
            let error = text.parse::<ListenAddress>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("`{text}` is not")), "{error}");
            assert!(!error[text.len() + 2..].contains("udp"), "{error}");
        }
    }
}
