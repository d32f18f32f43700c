//! Addresses without their last bits, so that nobody can be recognised by them.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hides the last bits of addresses, wherever they stand in a text.
///
/// The levels are those of GoAccess: they hide 8, 16 or 24 bits of an IPv4 address, and 64, 80 or 96
/// of an IPv6 address.
///
/// # Examples
///
/// ```
/// use weir_core::AddressMask;
///
/// let mask = AddressMask::of_level(1).unwrap();
/// assert_eq!(&*mask.hide(b"192.0.2.77"), b"192.0.2.0");
/// assert_eq!(&*mask.hide(b"2001:db8:1:2:3:4:5:6, 10.1.2.3:80"), b"2001:db8:1:2::, 10.1.2.0:80");
/// assert_eq!(&*mask.hide(b"/index.html"), b"/index.html");
/// assert!(AddressMask::of_level(4).is_none());
/// ```
///
/// # Limits
///
/// A version number such as `4.0.1.7` is an address too, by its form. Numbers of addresses in other
/// forms, such as `ip-192-0-2-77.example` or hexadecimal ones, are not recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressMask {
    v4_bits: u32,
    v6_bits: u32,
}

impl AddressMask {
    /// The levels.
    pub const LEVELS: std::ops::RangeInclusive<u8> = 1..=3;

    /// Returns the mask of a level from 1 to 3.
    pub fn of_level(level: u8) -> Option<Self> {
        let (v4_bits, v6_bits) = match level {
            1 => (8, 64),
            2 => (16, 80),
            3 => (24, 96),
            _ => return None,
        };
        Some(Self { v4_bits, v6_bits })
    }

    /// Returns the address without its last bits. An IPv4-mapped address is one of IPv4.
    pub fn hide_address(&self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() >> self.v4_bits << self.v4_bits).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() >> self.v6_bits << self.v6_bits).into()
            }
        }
    }

    /// Returns the text with the last bits of each address hidden. It is never longer.
    ///
    /// An address ends where a word does. A port, a zone (`%eth0`) and brackets around it stay.
    pub fn hide<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        // Every address has a dot or two colons, and hardly any other text has.
        let is_mark = |byte: &u8| matches!(byte, b'.' | b':');
        if text.iter().filter(|byte| is_mark(byte)).take(2).count() < 2 {
            return Cow::Borrowed(text);
        }
        let mut hidden: Option<Vec<u8>> = None;
        let mut done = 0;
        for word in words(text) {
            let word_start = word.as_ptr().addr() - text.as_ptr().addr();
            for (start, end) in addresses(word) {
                let Some(address) = parsed(&word[start..end]) else { continue };
                let hidden = hidden.get_or_insert_default();
                hidden.extend_from_slice(&text[done..word_start + start]);
                hidden.extend_from_slice(self.hide_address(address).to_string().as_bytes());
                done = word_start + end;
            }
        }
        match hidden {
            None => Cow::Borrowed(text),
            Some(mut hidden) => {
                hidden.extend_from_slice(&text[done..]);
                Cow::Owned(hidden)
            }
        }
    }
}

/// The longest pieces of a text that have only the characters of addresses, ports and zones.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':');
    text.split(move |byte| !is_inside(byte)).filter(|word| word.len() >= 2)
}

/// The places in a word where an address may be: the whole word without the points and colons of a
/// sentence, or else the parts between its colons.
fn addresses(word: &[u8]) -> Vec<(usize, usize)> {
    let mut end = word.len();
    while end > 0 && word[end - 1] == b'.'
        || end > 1 && word[end - 1] == b':' && word[end - 2] != b':'
    {
        end -= 1;
    }
    if parsed(&word[..end]).is_some() {
        return vec![(0, end)];
    }
    let mut start = 0;
    let parts = word.split(|byte| *byte == b':').map(|part| {
        let from = start;
        start += part.len() + 1;
        let end = part.iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
        (from, from + end)
    });
    parts.filter(|(from, end)| parsed(&word[*from..*end]).is_some()).collect()
}

fn parsed(text: &[u8]) -> Option<IpAddr> {
    /// The length of `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`.
    const LENGTH_MAX: usize = 45;
    let text = Some(text).filter(|text| text.len() <= LENGTH_MAX)?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
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
            "192.0.2.256",
            "Mozilla/5.0 (X11; rv:128.0)",
            "a.b.c.d",
            "::",
            "www.example.com:80",
            "v1.2.3.4",
        ] {
            assert!(
                matches!(mask(1).hide(text.as_bytes()), Cow::Borrowed(_)) || text == "::",
                "{text}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_text_without_addresses_is_the_same_and_no_text_grows(
            text in "[ 0-9a-f.:,/]{0,60}", level in 1u8..=3,
        ) {
            let hidden = mask(level).hide(text.as_bytes()).into_owned();
            prop_assert!(hidden.len() <= text.len());
            // What is hidden stays hidden.
            prop_assert_eq!(&*mask(level).hide(&hidden), &hidden[..]);
        }

        #[test]
        fn every_address_between_other_words_is_hidden(
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
}
