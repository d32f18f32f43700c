//! `listen`: where the gateway listens.

use std::fmt;
use std::str::FromStr;

use weir_net::socket::{Address, AddressError};

use super::table::TableReader;

/// What comes before an address whose clients are proxies that speak the PROXY protocol.
const PROXIED: &str = "proxy+";

/// Where to listen, and how connections begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// The address itself.
    pub address: Address,
    /// Whether connections begin with the header of the PROXY protocol.
    pub is_proxied: bool,
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let proxied = text.strip_prefix(PROXIED);
        let address = proxied.unwrap_or(text).parse()?;
        Ok(Self { address, is_proxied: proxied.is_some() })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_proxied { PROXIED } else { "" };
        write!(formatter, "{prefix}{}", self.address)
    }
}

/// Reads the addresses. Mistakes are noted, and then there may be none.
pub(super) fn read(root: &TableReader<'_>) -> Option<Vec<ListenAddress>> {
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
                addresses.push(address);
            }
            Err(error) => root.complain_at(item, error.to_string()),
        }
    }
    Some(addresses)
}

#[cfg(test)]
mod tests {
    use super::ListenAddress;

    #[test]
    fn addresses_of_proxies_are_marked() {
        for (text, shown, is_proxied) in [
            ("127.0.0.1:80", "tcp://127.0.0.1:80", false),
            ("proxy+tcp://127.0.0.1:80", "proxy+tcp://127.0.0.1:80", true),
            ("proxy+tls://[::]:443", "proxy+tls://[::]:443", true),
            ("proxy+unix:/run/a.sock", "proxy+unix:/run/a.sock", true),
            ("proxy+systemd:http", "proxy+systemd:http", true),
        ] {
            let address: ListenAddress = text.parse().expect(text);
            assert_eq!((address.to_string().as_str(), address.is_proxied), (shown, is_proxied));
        }
        for text in ["proxy+", "proxy+proxy+tcp://127.0.0.1:80", "proxy:tcp://127.0.0.1:80"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }
}
