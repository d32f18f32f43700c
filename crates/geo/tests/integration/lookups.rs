//! Answers, compared with a search through all networks.

use std::net::IpAddr;

use proptest::prelude::*;
use weir_geo::GeoField;
use weir_testkit::mmdb::{MmdbData, MmdbFile};

use crate::{Folder, open, value};

/// The data of an address: that of the longest prefix.
fn naive(networks: &[(IpAddr, u8, MmdbData)], address: IpAddr) -> Option<&MmdbData> {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => format!("{:032b}", address.to_bits()),
        IpAddr::V6(address) => format!("{:0128b}", address.to_bits()),
    };
    let contains = |network: &IpAddr, prefix: &u8| {
        let prefix = usize::from(*prefix);
        network.is_ipv4() == address.is_ipv4()
            && bits(*network)[..prefix] == bits(address)[..prefix]
    };
    let around = networks.iter().filter(|(network, prefix, _)| contains(network, prefix));
    around.max_by_key(|(_, prefix, _)| *prefix).map(|(_, _, data)| data)
}

/// Networks in a small part of the addresses, so that many are inside others.
fn networks() -> impl Strategy<Value = Vec<(IpAddr, u8)>> {
    let v4 = (any::<u8>(), 20_u8..=32)
        .prop_map(|(byte, prefix)| (IpAddr::from([198, 51, byte, byte.rotate_left(3)]), prefix));
    let v6 = (any::<u8>(), 36_u8..=128).prop_map(|(byte, prefix)| {
        let address = [0x2001, 0xdb8, u16::from(byte) << 8, 0, 0, 0, 0, u16::from(byte)];
        (IpAddr::from(address), prefix)
    });
    proptest::collection::vec(prop_oneof![v4, v6], 1..30)
}

/// The same network twice would have two answers.
fn without_repeats(networks: Vec<(IpAddr, u8)>) -> Vec<(IpAddr, u8, MmdbData)> {
    let mut distinct: Vec<(IpAddr, u8, MmdbData)> = Vec::new();
    for (address, prefix) in networks {
        let (width, bits) = match address {
            IpAddr::V4(address) => (32, u128::from(address.to_bits())),
            IpAddr::V6(address) => (128, address.to_bits()),
        };
        let shift = u32::from(width - prefix);
        let first = bits.checked_shr(shift).unwrap_or(0).checked_shl(shift).unwrap_or(0);
        let first: IpAddr = match address {
            IpAddr::V4(_) => std::net::Ipv4Addr::from_bits(first as u32).into(),
            IpAddr::V6(_) => std::net::Ipv6Addr::from_bits(first).into(),
        };
        if distinct.iter().all(|(it, length, _)| (*it, *length) != (first, prefix)) {
            let letters = [b'A' + distinct.len() as u8 / 26, b'A' + distinct.len() as u8 % 26];
            let code = String::from_utf8(letters.to_vec()).expect("ASCII");
            let data = MmdbData::at(&["country", "iso_code"], MmdbData::Text(code));
            distinct.push((first, prefix, data));
        }
    }
    distinct
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_lookup_finds_the_longest_prefix(
        networks in networks().prop_map(without_repeats),
        record_bits in prop_oneof![Just(24), Just(28), Just(32)],
        others in proptest::collection::vec((any::<u8>(), any::<u8>()), 20),
    ) {
        let folder = Folder::new();
        let file = MmdbFile { networks: networks.clone(), record_bits, ..MmdbFile::default() };
        let geography = open(&[&folder.file("a.mmdb", file.bytes())]);
        let of_networks = networks.iter().map(|(address, _, _)| *address);
        let near = others.iter().flat_map(|(high, low)| {
            let v6 = [0x2001, 0xdb8, u16::from(*high) << 8, 0, 0, 0, 0, u16::from(*low)];
            [IpAddr::from([198, 51, *high, *low]), IpAddr::from(v6)]
        });
        for address in of_networks.chain(near) {
            let expected = naive(&networks, address).map(|data| match data {
                MmdbData::Map(members) => match &members[0].1 {
                    MmdbData::Map(members) => members[0].1.clone(),
                    _ => unreachable!("the data of a country"),
                },
                _ => unreachable!("the data of a country"),
            });
            let found = value(&geography, GeoField::Country, &address.to_string());
            prop_assert_eq!(found.map(MmdbData::Text), expected, "{}", address);
        }
    }
}

/// The data of a publisher, and what it says as country, city, number and name of a system.
fn publishers() -> Vec<(MmdbData, [Option<&'static str>; 4])> {
    let text = MmdbData::text;
    let at = MmdbData::at;
    vec![
        (
            MmdbData::merged([
                at(&["city", "names", "en"], text("Amsterdam")),
                at(&["country", "iso_code"], text("NL")),
            ]),
            [Some("NL"), Some("Amsterdam"), None, None],
        ),
        (
            MmdbData::merged([
                at(&["autonomous_system_number"], MmdbData::Number(64_500)),
                at(&["autonomous_system_organization"], text("Example, Inc.")),
            ]),
            [None, None, Some("AS64500"), Some("Example, Inc.")],
        ),
        (at(&["country_code"], text("DE")), [Some("DE"), None, None, None]),
        (
            MmdbData::merged([
                at(&["country"], text("FR")),
                at(&["asn"], text("AS64501")),
                at(&["as_name"], text("Exemple")),
                at(&["city"], text("Orléans")),
            ]),
            [Some("FR"), Some("Orléans"), Some("AS64501"), Some("Exemple")],
        ),
    ]
}

#[test]
fn the_data_of_each_publisher_is_read() {
    let folder = Folder::new();
    for (data, expected) in publishers() {
        let file = MmdbFile::default().with([("192.0.2.0/24", data.clone())]);
        let geography = open(&[&folder.file("a.mmdb", file.bytes())]);
        let found = GeoField::ALL.map(|field| value(&geography, field, "192.0.2.7"));
        assert_eq!(found.each_ref().map(Option::as_deref), expected, "{data:?}");
        assert_eq!(
            GeoField::ALL.map(|field| geography.has(field)),
            expected.map(|it| it.is_some())
        );
    }
}

#[test]
fn addresses_of_ipv4_may_be_written_as_ipv6() {
    let folder = Folder::new();
    let country = MmdbData::at(&["country_code"], MmdbData::text("NL"));
    for has_v6 in [true, false] {
        let file = MmdbFile { has_v6, ..MmdbFile::default() };
        let file = file.with([("192.0.2.0/24", country.clone())]);
        let geography = open(&[&folder.file("a.mmdb", file.bytes())]);
        let country = |address| value(&geography, GeoField::Country, address);
        assert_eq!(country("::ffff:192.0.2.7").as_deref(), Some("NL"), "{has_v6}");
        assert_eq!(country("2001:db8::1"), None);
        for private in ["10.0.0.1", "192.168.0.1", "127.0.0.1", "::1", "fe80::1", "0.0.0.0"] {
            assert_eq!(country(private), None, "{private}");
        }
        assert_eq!(geography.databases()[0].damaged_lookups(), 0);
    }
}

#[test]
fn empty_and_endless_values_are_none() {
    let folder = Folder::new();
    let city = |name: &str| MmdbData::at(&["city", "names", "en"], MmdbData::text(name));
    let file = MmdbFile::default().with([
        ("192.0.2.0/26", city("")),
        ("192.0.2.64/26", city(&"x".repeat(257))),
        ("192.0.2.128/26", city(&"x".repeat(256))),
        ("192.0.2.192/26", MmdbData::at(&["asn"], MmdbData::Number(0))),
    ]);
    let geography = open(&[&folder.file("a.mmdb", file.bytes())]);
    let length = |address| value(&geography, GeoField::City, address).map(|it| it.len());
    assert_eq!(length("192.0.2.1"), None);
    assert_eq!(length("192.0.2.65"), None);
    assert_eq!(length("192.0.2.129"), Some(256));
    assert!(!geography.has(GeoField::Asn));
}
