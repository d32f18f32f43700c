//! The normal form in which fail2ban counts addresses and networks.
//!
//! Source: `server/ipdns.py` of fail2ban 1.0.2.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address or a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    /// The address, with the host bits cleared.
    address: IpAddr,
    length: u8,
}

impl Network {
    /// Reads an address, or a network as `ADDRESS/LENGTH` or `ADDRESS/MASK`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let Some((address, length)) = text.split_once('/') else {
            return Some(Self::of(text.parse().ok()?, None));
        };
        let address = address.parse().ok()?;
        let length = match length.parse::<u8>() {
            Ok(length) => length,
            Err(_) => mask_length(length.parse().ok()?)?,
        };
        (length <= bits(address)).then(|| Self::of(address, Some(length)))
    }

    fn of(address: IpAddr, length: Option<u8>) -> Self {
        let address = match (address, length) {
            // Only an address is mapped to IPv4, not a network of IPv6.
            (IpAddr::V6(v6), None) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
            _ => address,
        };
        let length = length.unwrap_or(bits(address));
        Self { address: masked(address, length), length }
    }

    /// Whether an address or network is in this one.
    pub(super) fn contains(&self, other: &Self) -> bool {
        bits(self.address) == bits(other.address)
            && masked(other.address, self.length) == self.address
    }

    fn name(&self) -> String {
        let address = match self.address {
            // As glibc writes it.
            IpAddr::V6(v6) if v6.octets()[..12] == [0; 12] && v6.octets()[12..14] != [0; 2] => {
                let [.., a, b, c, d] = v6.octets();
                format!("::{}", Ipv4Addr::new(a, b, c, d))
            }
            address => address.to_string(),
        };
        if self.length > 0 && self.length < bits(self.address) {
            format!("{address}/{}", self.length)
        } else {
            address
        }
    }
}

/// The name by which fail2ban counts an address or another text; `length` is that of a network.
pub(super) fn name(text: &str, length: Option<u8>) -> String {
    let network = match length {
        Some(length) => text
            .parse()
            .ok()
            .filter(|address| length <= bits(*address))
            .map(|address| Network::of(address, Some(length))),
        None => Network::parse(text),
    };
    network.map_or_else(|| text.to_owned(), |network| network.name())
}

/// The name by which fail2ban counts an id, which may be an address or a network. `None` if a slash
/// is followed by anything but a length, on which fail2ban fails.
pub(super) fn id_name(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let Some((before, length)) = bare.split_once('/') else { return Some(name(text, None)) };
    let mut length = length;
    // A length with dots is a mask, which may have a length itself. A mask that is not an address
    // is treated as an empty mask.
    while length.contains(['.', ':']) {
        let (mask, rest) = length.split_once('/').unwrap_or((length, "0"));
        mask.parse().map_or(Some(0), mask_length)?;
        length = rest;
    }
    length.trim().parse::<i64>().ok()?;
    match before.parse::<IpAddr>() {
        Ok(_) => Some(name(bare, None)),
        Err(_) => Some(before.to_owned()),
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

fn mask_length(mask: IpAddr) -> Option<u8> {
    let (ones, zeros) = match mask {
        IpAddr::V4(v4) => (v4.to_bits().leading_ones(), v4.to_bits().trailing_zeros()),
        IpAddr::V6(v6) => (v6.to_bits().leading_ones(), v6.to_bits().trailing_zeros()),
    };
    (ones + zeros == u32::from(bits(mask))).then_some(ones as u8)
}

#[cfg(test)]
mod tests {
    use super::{Network, id_name, name};

    #[test]
    fn addresses_have_one_name() {
        for (text, length, expected) in [
            ("192.0.2.7", None, "192.0.2.7"),
            ("192.0.2.300", None, "192.0.2.300"),
            ("2001:DB8:0:0::7", None, "2001:db8::7"),
            ("::ffff:c000:207", None, "192.0.2.7"),
            ("[2001:db8::7]", None, "2001:db8::7"),
            ("192.0.2.7", Some(24), "192.0.2.0/24"),
            ("192.0.2.7", Some(32), "192.0.2.7"),
            ("192.0.2.7/24", None, "192.0.2.0/24"),
            ("::102:304", None, "::1.2.3.4"),
            ("user name", None, "user name"),
        ] {
            assert_eq!(name(text, length), expected);
        }
    }

    #[test]
    fn ids_with_a_slash_have_a_length() {
        for (text, expected) in [
            ("192.0.2.7/24", Some("192.0.2.0/24")),
            ("user/7", Some("user")),
            ("curl/8.0", Some("curl")),
            ("a/b", None),
            ("a/192.0.2.7", None),
            ("Tiny RSS/1.11 (http://example.org/)", None),
            ("a/1.1/b.c/7", Some("a")),
            ("user name", Some("user name")),
        ] {
            assert_eq!(id_name(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn networks_contain_addresses() {
        let contains = |network: &str, address: &str| {
            let parse = |text| Network::parse(text).expect("it is valid");
            parse(network).contains(&parse(address))
        };
        assert!(contains("10.0.0.0/8", "10.1.2.3"));
        assert!(contains("10.0.0.0/255.0.0.0", "10.1.2.3"));
        assert!(contains("0.0.0.0/0", "10.1.2.3"));
        assert!(contains("::/0", "2001:db8::1"));
        assert!(!contains("10.0.0.0/8", "11.1.2.3"));
        assert!(!contains("::/0", "10.1.2.3"));
        for text in ["10.0.0.0/33", "10.0.0.0/255.0.255.0", "example.org", ""] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
