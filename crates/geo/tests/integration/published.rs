//! A published database, beside another reader of it: MaxMind's own for Python, and a search in the
//! CSV of the same publisher.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_geo::{GeoField, Geography};
use weir_testkit::fixtures;
use weir_testkit::numbers::Numbers;

use crate::open;

/// How many addresses are looked up.
const ADDRESSES: usize = 100_000;

/// A package that `cargo xtask test` has fetched.
fn package(name: &str) -> PathBuf {
    let folder = std::env::var_os("GEO_PACKAGES").expect("GEO_PACKAGES is the folder of packages");
    PathBuf::from(folder).join("node_modules/@ip-location-db").join(name)
}

/// Addresses of IPv4 from everywhere, and of IPv6 from the part that is in use.
fn addresses() -> Vec<IpAddr> {
    let mut numbers = Numbers::new(9);
    let mut word = || numbers.below(1 << 16) as u16;
    let address = |number: usize| {
        let (high, low) = (word(), word());
        match number % 2 {
            0 => IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))),
            _ => IpAddr::V6(Ipv6Addr::from_segments([
                0x2000 | high & 0xfff,
                low,
                word(),
                0,
                0,
                0,
                0,
                1,
            ])),
        }
    };
    (0..ADDRESSES).map(address).collect()
}

fn countries(geography: &Geography, addresses: &[IpAddr]) -> Vec<String> {
    let country = |address: &IpAddr| {
        let mut value = Vec::new();
        geography.append(GeoField::Country, *address, &mut value);
        String::from_utf8(value).expect("text")
    };
    addresses.iter().map(country).collect()
}

/// What the program of the testkit finds in these files.
fn of_python(files: &[&Path], addresses: &[IpAddr]) -> Vec<String> {
    let python = std::env::var_os("GEO_PYTHON").unwrap_or_else(|| "python3".into());
    let program = fixtures::root().join("../oracle/addresses.py");
    let mut child = Command::new(python)
        .arg(program)
        .args(files)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let mut input = child.stdin.take().expect("a pipe");
    let text: String = addresses.iter().map(|address| format!("{address}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it ends").expect("it is written");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

fn assert_same(addresses: &[IpAddr], found: &[String], expected: &[String]) {
    assert_eq!(found.len(), expected.len());
    let known = expected.iter().filter(|country| !country.is_empty()).count();
    assert!(known > ADDRESSES / 3, "{known} addresses have a country");
    for ((address, found), expected) in addresses.iter().zip(found).zip(expected) {
        assert_eq!(found, expected, "{address}");
    }
}

#[test]
#[ignore = "needs a package of npm and one of PyPI; `cargo xtask test` runs it"]
fn countries_are_those_of_other_readers() {
    let addresses = addresses();
    let mmdb = package("geo-whois-asn-country-mmdb").join("geo-whois-asn-country.mmdb");
    let of_mmdb = countries(&open(&[&mmdb]), &addresses);
    assert_same(&addresses, &of_mmdb, &of_python(&[&mmdb], &addresses));
    let csv = package("geo-whois-asn-country");
    for (v4, v6) in [
        ("geo-whois-asn-country-ipv4.csv", "geo-whois-asn-country-ipv6.csv"),
        ("geo-whois-asn-country-ipv4-num.csv", "geo-whois-asn-country-ipv6-num.csv"),
    ] {
        let (v4, v6) = (csv.join(v4), csv.join(v6));
        let of_csv = countries(&open(&[&v4, &v6]), &addresses);
        assert_same(&addresses, &of_csv, &of_python(&[&v4, &v6], &addresses));
    }
}
