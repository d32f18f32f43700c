use std::borrow::Cow;

use proptest::prelude::*;

use super::{AddressMask, IpAddr};

fn mask(level: u8) -> AddressMask {
    AddressMask::of_level(level).expect("a level")
}

fn hidden(text: &str) -> String {
    String::from_utf8(mask(1).hide(text.as_bytes()).into_owned()).expect("text")
}

#[test]
fn levels_are_those_of_goaccess() {
    let of_level = |level, address: &str| {
        mask(level).hide_address(address.parse().expect("an address")).to_string()
    };
    let v6 = "2a03:2880:2110:df07:face:b00c:1:2";
    for (level, v4, expected_v6) in [
        (1, "192.168.20.0", "2a03:2880:2110:df07::"),
        (2, "192.168.0.0", "2a03:2880:2110::"),
        (3, "192.0.0.0", "2a03:2880::"),
    ] {
        assert_eq!(of_level(level, "192.168.20.100"), v4);
        assert_eq!(of_level(level, "::ffff:192.168.20.100"), v4);
        assert_eq!(of_level(level, v6), expected_v6);
    }
    assert!([0, 4, 255].iter().all(|level| AddressMask::of_level(*level).is_none()));
}

#[test]
fn addresses_are_found_wherever_they_stand() {
    for (text, expected) in [
        ("192.0.2.77", "192.0.2.0"),
        ("192.0.2.77:443", "192.0.2.0:443"),
        ("[2001:db8::1:2]:443", "[2001:db8::]:443"),
        ("fe80::1:2%eth0", "fe80::%eth0"),
        (
            "client: 192.0.2.77, server: _, request: \"GET / HTTP/1.1\"",
            "client: 192.0.2.0, server: _, request: \"GET / HTTP/1.1\"",
        ),
        (
            "limiting, excess: 1.2 by zone, client: 2001:db8::1:2:",
            "limiting, excess: 1.2 by zone, client: 2001:db8:::",
        ),
        ("from 192.0.2.77.", "from 192.0.2.0."),
        ("http://192.0.2.77/a?ip=192.0.2.78&x=1", "http://192.0.2.0/a?ip=192.0.2.0&x=1"),
        ("ip:192.0.2.77", "ip:192.0.2.0"),
        ("192.0.2.7,192.0.2.8,  ::ffff:192.0.2.9", "192.0.2.0,192.0.2.0,  192.0.2.0"),
        ("192.0.2.77-192.0.2.99", "192.0.2.0-192.0.2.0"),
        ("192.0.2.77_192.0.2.99", "192.0.2.0_192.0.2.0"),
        ("v1.2.3.4", "v1.2.3.0"),
        ("ip192.0.2.77x", "ip192.0.2.0x"),
        ("dead192.0.2.77beef", "dead192.0.2.0beef"),
        ("192.0.2.77..192.0.2.99", "192.0.2.0..192.0.2.0"),
        ("host.192.0.2.77.example", "host.192.0.2.0.example"),
        ("192.000.002.077", "192.0.2.0"),
        ("q=%20192.0.2.77%22", "q=%20192.0.2.0%22"),
        (r"\x22192.0.2.77\u0022192.0.2.77", r"\x22192.0.2.0\u0022192.0.2.0"),
        ("q=192%2E0%2e2.77", "q=192.0.2.0"),
        ("ip:2001:db8::7", "ip:2001:db8::"),
        ("client2001:db8::7x", "client2001:db8::x"),
        ("face2001:db8::7", "face2001:db8::"),
        ("2001:db8::7:443", "2001:db8::"),
        ("2001:db8:1:2:3:4:5:6:443", "2001:db8:1:2::"),
        ("2001:db8::7::2001:db8::8", "2001:db8::"),
        ("x::ffff:192.0.2.77:80", "x::ffff:192.0.2.0:80"),
        ("ip=%5B2001%3Adb8%3A%3A7%5D", "ip=%5B2001%3Adb8%3A%3A%5D"),
        ("ip=2001%3adb8::7", "ip=2001:db8::"),
        ("%10.0.0.1 %20.10.0.0.1", "%10.0.0.0 %20.10.0.0.0"),
        ("%10%2E0.0.1", "%10.0.0.0"),
        ("[2001:db8::7%25eth0]", "[2001:db8::%25eth0]"),
        ("x2001:db8:1:2:3:4:192.0.2.77", "x2001:db8:1:2:::192.0.2.0"),
        ("0192.0.2.77 192.0.2.0077", "192.0.2.0 192.0.2.0"),
        ("at 10:00:00.192.0.2.77", "at 10:00:00.192.0.2.0"),
        ("zaa:bb:cc:dd:ee:0f:192.0.2.77", "zaa:bb:cc:dd:ee:0f:192.0.2.0"),
    ] {
        assert_eq!(hidden(text), expected, "{text}");
    }
    for text in [
        "",
        "-",
        "/index.html",
        "09:03:01",
        "1.2.3",
        "1.2.3.4.5",
        "1192.0.2.77",
        "192.0.2.1234",
        "Chrome/120.0.6099.109",
        "Cache::Base",
        "Crypt::Beef::Dead",
        "MIME::Base64::decode",
        "Digest::SHA1::base64",
        "Foo::Bar2::baz",
        "at 10:00:00::x",
        "snmp:1.3.6.1.2",
        "10:00:00.1.2.3.4.5",
        "a::b::c",
        "aa:bb:cc:dd:ee:ff",
        "2025:09:03:01",
        "a1:b2:c3:d4:e5:f6:a7:b8:c9:d0:e1:f2:a3:b4:c5:d6",
        "192.0.2.256",
        "Mozilla/5.0 (X11; rv:128.0)",
        "a.b.c.d",
        "::",
        "www.example.com:80",
    ] {
        assert!(
            matches!(mask(1).hide(text.as_bytes()), Cow::Borrowed(_)) || text == "::",
            "{text}"
        );
    }
}

/// Whether a text has a part that is this address, in any spelling. It shares no code with the mask.
fn has(text: &str, address: IpAddr) -> bool {
    let decoded = text.replace("%3A", ":").replace("%2E", ".");
    let starts = (0..decoded.len()).filter(|start| decoded.is_char_boundary(*start));
    let is_address = |part: &str| part.parse() == Ok(address);
    starts.into_iter().any(|start| {
        let ends = start + 2..=decoded.len().min(start + 45);
        ends.filter_map(|end| decoded.get(start..end)).any(is_address)
    })
}

/// Texts that may touch an address.
const BESIDE: &str = "[g-z_%/=,\"\\[ -]{0,3}(%20|%3A|:|\\\\x22|[.]|::|[a-f]|)";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_grows_and_what_is_hidden_stays_hidden(
        text in "[ 0-9a-fx.:,/%]{0,60}", level in 1u8..=3,
    ) {
        let hidden = mask(level).hide(text.as_bytes()).into_owned();
        prop_assert!(hidden.len() <= text.len());
        prop_assert_eq!(&*mask(level).hide(&hidden), &hidden[..]);
    }

    #[test]
    fn no_address_is_left_whatever_touches_it(
        v4 in any::<u32>(), v6 in any::<u128>(), zeros in 0u32..8, level in 1u8..=3,
        before in BESIDE, after in BESIDE, is_encoded in any::<bool>(),
    ) {
        // Addresses that the mask leaves as they are could not be told from hidden ones, and the
        // networks of clients begin with a digit.
        let v6 = (v6 >> (16 * zeros) | 1) & (u128::MAX >> 4) | 0x2 << 124;
        for address in [IpAddr::V4((v4 | 1).into()), IpAddr::V6(v6.into())] {
            let mut written = address.to_string();
            if is_encoded {
                written = written.replace(':', "%3A").replace('.', "%2E");
            }
            let text = format!("{before}{written}{after}");
            let hidden = mask(level).hide(text.as_bytes()).into_owned();
            let hidden = String::from_utf8(hidden).expect("text");
            prop_assert!(has(&text, address) && !has(&hidden, address), "{} {}", text, hidden);
            prop_assert!(hidden.len() <= text.len());
        }
    }

    #[test]
    fn between_other_words_only_the_address_changes(
        v4 in any::<u32>(), v6 in any::<u128>(), level in 1u8..=3,
        ends in "[ ,;=\"'()<>/|-]{1}",
    ) {
        for address in [IpAddr::V4(v4.into()), IpAddr::V6(v6.into())] {
            let text = format!("a{ends}{address}{ends}b");
            let expected = format!("a{ends}{}{ends}b", mask(level).hide_address(address));
            prop_assert_eq!(&*mask(level).hide(text.as_bytes()), expected.as_bytes());
        }
    }
}
