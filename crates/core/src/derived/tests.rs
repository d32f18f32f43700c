//! Values as a person would write them down, and the same rules in another way.

use std::net::IpAddr;

use super::{DerivedInputs, Extract, SourceName, derived_field};
use crate::derived_name::derived_names;
use crate::value::{Timestamp, Zone};

fn value(name: &str, zone: Option<&Zone>, inputs: &DerivedInputs<'_>) -> Option<String> {
    let field = derived_field(name, zone).expect("a valid name").expect("a derived field");
    let mut value = Vec::new();
    field.derive(inputs, &mut value).then(|| String::from_utf8(value).expect("text"))
}

fn of(name: &str, text: &str) -> Option<String> {
    value(name, None, &DerivedInputs::of_texts(&[Some(text.as_bytes())]))
}

#[test]
fn each_name_of_the_list_is_a_field() {
    for name in derived_names() {
        let example =
            name.name.replace("NAME", "utm_source").replace('N', "24").replace("STEP", "5m");
        assert!(derived_field(&example, None).is_ok_and(|field| field.is_some()), "{example}");
    }
}

#[test]
fn a_part_that_is_not_valid_is_an_error() {
    for name in [
        "network/",
        "network/129",
        "network/x",
        "network/+8",
        "network/08",
        "path/01",
        "path/0",
        "path/65",
        "path/",
        "query:",
        "time/",
        "time/m",
        "time/0m",
        "time/-1m",
        "time/7m",
        "time/60m",
        "time/01h",
        "time/24h",
        "time/2d",
        "time/1w",
        "time/1",
        "time/99999999999999999999s",
        "time/1\u{e9}",
    ] {
        let error = derived_field(name, None).expect_err(name);
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn networks() {
    for (name, address, expected) in [
        ("network", "192.0.2.77", Some("192.0.2.0/24")),
        ("network", "::ffff:192.0.2.77", Some("192.0.2.0/24")),
        ("network", "2001:db8:1:2::3", Some("2001:db8:1::/48")),
        ("network", "[2001:db8:1:2::3]:443", Some("2001:db8:1::/48")),
        ("network", "192.0.2.77:8080", Some("192.0.2.0/24")),
        ("network", "host.example", None),
        ("network", "-", None),
        ("network", "", None),
        ("network/0", "192.0.2.77", Some("0.0.0.0/0")),
        ("network/0", "2001:db8::1", Some("::/0")),
        ("network/32", "192.0.2.77", Some("192.0.2.77/32")),
        ("network/64", "192.0.2.77", Some("192.0.2.77/32")),
        ("network/64", "2001:db8:1:2:3::4", Some("2001:db8:1:2::/64")),
        ("network/128", "2001:db8::1", Some("2001:db8::1/128")),
    ] {
        assert_eq!(of(name, address).as_deref(), expected, "{name} {address}");
    }
}

/// A network contains exactly the addresses whose first bits are its own.
#[test]
fn a_network_has_the_first_bits_of_its_addresses() {
    let mut state = 7u128;
    for _ in 0..2_000 {
        state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
        let bits = (state >> 100) as u32 % 33;
        let address = std::net::Ipv4Addr::from_bits((state >> 64) as u32);
        let network = of(&format!("network/{bits}"), &address.to_string()).expect("a network");
        let (base, length) = network.split_once('/').expect("a prefix");
        let Ok(IpAddr::V4(base)) = base.parse::<IpAddr>() else { panic!("{network}") };
        assert_eq!(length, bits.to_string());
        for bit in 0..32 {
            let of = |address: std::net::Ipv4Addr| address.to_bits() >> (31 - bit) & 1;
            let expected = if bit < bits { of(address) } else { 0 };
            assert_eq!(of(base), expected, "{address} {network}");
        }
    }
}

#[test]
fn parameters() {
    for (name, query, expected) in [
        ("query:a", "a=1&b=2", Some("1")),
        ("query:b", "a=1&b=2", Some("2")),
        ("query:b", "a=1&b=2&b=3", Some("2")),
        ("query:c", "a=1&b=2", None),
        ("query:a", "a", Some("")),
        ("query:a", "a=", Some("")),
        ("query:a", "aa=1&a=b=c", Some("b=c")),
        ("query:a b", "a+b=x%20y+z", Some("x y z")),
        ("query:a", "%61=%zz%2", Some("%zz%2")),
        ("query:a", "", None),
        ("query:a", "&&a=%C3%A9&", Some("é")),
        ("campaign", "utm_source=x&utm_campaign=y", Some("y")),
        ("campaign", "utm_source=x", Some("x")),
        ("campaign", "utm_medium=x", None),
    ] {
        assert_eq!(of(name, query).as_deref(), expected, "{name} {query}");
    }
}

/// A time as an input of a field.
fn at(name: &str, time: Timestamp) -> DerivedInputs<'static> {
    let field = derived_field(name, None).expect("a valid name").expect("a derived field");
    DerivedInputs::default().at(field.rounded(time))
}

#[test]
fn steps_of_times() {
    // 2026-11-28 22:59:59 UTC
    let time = |offset_s| Timestamp { unix_ns: 1_795_906_799_000_000_000, offset_s };
    let step = |name, offset_s| value(name, None, &at(name, time(offset_s))).expect("a time");
    assert_eq!(step("time/1s", 0), "2026-11-28 22:59:59");
    assert_eq!(step("time/20s", 0), "2026-11-28 22:59:40");
    assert_eq!(step("time/1m", 5_400), "2026-11-29 00:29");
    assert_eq!(step("time/16m", 0), "2026-11-28 22:56");
    assert_eq!(step("time/1h", 0), "2026-11-28 22:00");
    assert_eq!(step("time/12h", -3_600), "2026-11-28 12:00");
    assert_eq!(step("time/1d", 5_400), "2026-11-29");
    assert_eq!(value("time/1m", None, &DerivedInputs::default()), None);
}

#[test]
fn an_hour_that_occurs_twice_is_two_steps() {
    // At 01:00 UTC the clock is set from 03:00 back to 02:00, and later forward again.
    let transitions = [(86_400 + 3_600, 3_600), (10 * 86_400, 7_200)];
    let zone = Zone::from_transitions("", 7_200, transitions).expect("in order");
    let values = |name: &str, minutes: std::ops::Range<i64>| {
        let mut values: Vec<String> = minutes
            .map(|minute| {
                let time =
                    Timestamp { unix_ns: (86_400 + minute * 60) * 1_000_000_000, offset_s: 0 };
                value(name, Some(&zone), &at(name, time)).expect("a time")
            })
            .collect();
        values.dedup();
        values
    };
    let hours =
        ["01:00", "02:00", "02:00 +01:00", "03:00"].map(|hour| format!("1970-01-02 {hour}"));
    assert_eq!(values("time/1h", -60..180), hours);
    assert!(hours.is_sorted());
    assert_eq!(values("time/1m", -60..180).len(), 240);
    // Longer steps begin before the clock is set back.
    assert_eq!(values("time/6h", -60..180), ["1970-01-02 00:00"]);
    let forward = values("time/1h", 9 * 1_440 - 60..9 * 1_440 + 60);
    assert_eq!(forward, ["1970-01-11 00:00", "1970-01-11 02:00"]);
}

#[test]
fn parts_of_times() {
    // 2026-11-28 22:59:59 UTC, a Saturday
    let time = |offset_s| Timestamp { unix_ns: 1_795_906_799_000_000_000, offset_s };
    let berlin = Zone::fixed(3_600);
    let part =
        |name, zone, offset_s| value(name, zone, &at(name, time(offset_s))).expect("it has a time");
    assert_eq!(part("date", None, 0), "2026-11-28");
    assert_eq!(part("hour", None, 0), "22");
    assert_eq!(part("weekday", None, 0), "6 Saturday");
    assert_eq!(part("hour", None, 5_400), "00");
    assert_eq!(part("date", None, 5_400), "2026-11-29");
    assert_eq!(part("weekday", None, 5_400), "7 Sunday");
    assert_eq!(part("hour", Some(&berlin), -3_600), "23");
    assert_eq!(value("hour", None, &DerivedInputs::default()), None);
    let before_1970 = Timestamp { unix_ns: -1, offset_s: 0 };
    let inputs = at("date", before_1970);
    assert_eq!(value("date", None, &inputs).as_deref(), Some("1969-12-31"));
    assert_eq!(value("hour", None, &inputs).as_deref(), Some("23"));
    assert_eq!(value("weekday", None, &inputs).as_deref(), Some("3 Wednesday"));
}

#[test]
fn a_field_of_ones_own_takes_what_its_group_matches() {
    let field = Extract::parse(r#"extract user_agent "v(\d+)""#).expect("valid").into_field("v");
    let mut value = Vec::new();
    assert!(
        !field.derive(&DerivedInputs::of_texts(&[Some(b"none")]), &mut value) && value.is_empty()
    );
    assert!(field.derive(&DerivedInputs::of_texts(&[Some(b"app v12")]), &mut value));
    assert_eq!(value, b"12");
    for wrong in [
        "path '/(a)'",
        "extract",
        "extract path",
        "extractpath '(a)'",
        "extract path 'a'",
        "extract path '(a)(b)'",
        "extract path '('",
        "extract path '((a{1000}){1000})'",
    ] {
        assert!(Extract::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_name_of_a_source_or_its_part() {
    let inputs = DerivedInputs { source: "/var/log/nginx/shop.example.log", ..Default::default() };
    let name = |source: SourceName| {
        let mut value = Vec::new();
        assert!(source.into_field().derive(&inputs, &mut value));
        String::from_utf8(value).expect("text")
    };
    assert_eq!(name(SourceName::default()), "/var/log/nginx/shop.example.log");
    assert_eq!(name(SourceName::part(r"([^/]+)\.log$").expect("valid")), "shop.example");
    assert_eq!(name(SourceName::part("nothing(x)").expect("valid")), inputs.source);
    assert!(SourceName::part("x").is_err());
}
