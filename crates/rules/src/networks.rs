//! Networks, with lookup by address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A network: the length of its prefix, and the bits of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    is_v4: bool,
    length: u8,
    bits: u128,
}

impl Network {
    /// The network of an address with a length of prefix, if that is not too long. Bits after the
    /// prefix are ignored. An IPv4 address that is written as IPv6 is IPv4.
    pub(crate) fn new(address: IpAddr, length: u8) -> Option<Self> {
        let (address, length) = match address.to_canonical() {
            v4 @ IpAddr::V4(_) if address.is_ipv6() && length >= 96 => (v4, length - 96),
            v4 @ IpAddr::V4(_) if address.is_ipv4() => (v4, length),
            _ => (address, length),
        };
        let (bits, all) = bits(address);
        let is_v4 = all == 32;
        (length <= all).then(|| Self { is_v4, length, bits: bits & mask(all, length) })
    }

    /// The network of one address.
    pub(crate) fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let (bits, all) = bits(address);
        Self { is_v4: all == 32, length: all, bits }
    }

    /// The first address of the network.
    pub(crate) fn address(&self) -> IpAddr {
        if self.is_v4 {
            IpAddr::V4(Ipv4Addr::from_bits(self.bits as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from_bits(self.bits))
        }
    }

    /// The network in CIDR notation, or the address alone if all of its bits count.
    pub(crate) fn text(&self) -> String {
        let (address, all) = (self.address(), if self.is_v4 { 32 } else { 128 });
        if self.length == all { address.to_string() } else { format!("{address}/{}", self.length) }
    }
}

/// The bits of an address, and their number.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

fn mask(all: u8, length: u8) -> u128 {
    u128::MAX.checked_shl(u32::from(all - length)).unwrap_or(0)
}

/// Networks with the numbers of their entries.
///
/// A table for each length of prefix that occurs, so that a lookup takes as many steps as there are
/// lengths, whatever the number of networks.
///
/// # Memory
///
/// About 40 bytes for each network.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    is_v4: bool,
    length: u8,
    /// The first entry of each network, by its bits.
    entries: HashMap<u128, u32, FixedState>,
}

impl Networks {
    /// Adds a network. Of equal ones, the first counts.
    pub(crate) fn add(&mut self, network: Network, entry: u32) {
        let Network { is_v4, length, bits } = network;
        let place =
            self.tables.binary_search_by_key(&(is_v4, length), |table| (table.is_v4, table.length));
        let place = place.unwrap_or_else(|place| {
            self.tables.insert(place, Table { is_v4, length, entries: HashMap::default() });
            place
        });
        self.tables[place].entries.entry(bits).or_insert(entry);
    }

    /// Adds a network in place of an equal one.
    pub(crate) fn replace(&mut self, network: Network, entry: u32) {
        self.add(network, entry);
        let Network { is_v4, length, bits } = network;
        let mut tables = self.tables.iter_mut();
        if let Some(table) = tables.find(|table| (table.is_v4, table.length) == (is_v4, length)) {
            table.entries.insert(bits, entry);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The first entry whose network contains an address; `None` for a text that is not an address.
    pub(crate) fn first(&self, address: &[u8]) -> Option<u32> {
        self.matching(address)?.min().copied()
    }

    /// The entry of the longest network that contains an address; `None` if the text is not an
    /// address.
    pub(crate) fn longest(&self, address: &[u8]) -> Option<u32> {
        // The tables of a family are in the order of their lengths.
        self.matching(address)?.last().copied()
    }

    /// The entries of the networks that contain an address, from the shortest to the longest
    /// prefix.
    fn matching(&self, address: &[u8]) -> Option<impl DoubleEndedIterator<Item = &u32>> {
        let address: IpAddr = std::str::from_utf8(address).ok()?.parse().ok()?;
        let (bits, all) = bits(address.to_canonical());
        let tables = self.tables.iter().filter(move |table| table.is_v4 == (all == 32));
        Some(tables.filter_map(move |table| table.entries.get(&(bits & mask(all, table.length)))))
    }

    /// The networks with the numbers of their entries.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (u32, String)> {
        self.tables.iter().flat_map(|table| {
            table.entries.iter().map(|(bits, entry)| {
                let network = Network { is_v4: table.is_v4, length: table.length, bits: *bits };
                (*entry, network.text())
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::AddressBlock;

    use super::{Network, Networks};

    fn network(text: &str) -> Option<Network> {
        let (address, length) = text.split_once('/')?;
        Network::new(address.parse().ok()?, length.parse().ok()?)
    }

    #[test]
    fn networks_are_written_in_their_shortest_form() {
        for (text, expected) in [
            ("192.0.2.77/24", Some("192.0.2.0/24")),
            ("192.0.2.77/32", Some("192.0.2.77")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("192.0.2.77/33", None),
            ("2001:db8::7/64", Some("2001:db8::/64")),
            ("::ffff:192.0.2.7/120", Some("192.0.2.0/24")),
            ("::ffff:0:0/64", Some("::/64")),
            ("::/129", None),
        ] {
            assert_eq!(network(text).map(|it| it.text()).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_first_network_is_that_of_a_search_through_all(
            networks in prop::collection::vec((any::<bool>(), 0..8u32, 0..129u8), 0..40),
            addresses in prop::collection::vec((any::<bool>(), 0..8u32), 1..20),
        ) {
            let address = |is_v4: bool, number: u32| if is_v4 { format!("10.{}.0.{}", number / 2, number) } else { format!("2001:db8:{}::{number}", number / 2) };
            let text = |(is_v4, number, length): &(bool, u32, u8)| {
                format!("{}/{}", address(*is_v4, *number), if *is_v4 { length / 4 } else { *length })
            };
            let texts: Vec<String> = networks.iter().map(text).collect();
            let mut table = Networks::default();
            for (number, text) in texts.iter().enumerate() {
                table.add(network(text).expect(text), number as u32);
            }
            for (is_v4, number) in addresses {
                let address = address(is_v4, number);
                let found = texts.iter().position(|text| {
                    AddressBlock::parse(text).is_some_and(|block| block.contains(address.as_bytes()))
                });
                prop_assert_eq!(table.first(address.as_bytes()), found.map(|it| it as u32));
                let length = |text: &&String| text.split_once('/').map(|(_, length)| length.parse::<u8>());
                let all = texts.iter().filter(|text| {
                    AddressBlock::parse(text).is_some_and(|block| block.contains(address.as_bytes()))
                });
                let longest = all.filter_map(|text| length(&text)?.ok()).max();
                let found = table.longest(address.as_bytes()).map(|it| &texts[it as usize]);
                prop_assert_eq!(found.and_then(|text| length(&text)?.ok()), longest);
            }
        }
    }
}
