//! Addresses without their last bits, so that nobody can be recognised by them.

mod runs;

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
/// A version number such as `v4.0.1.7` is an address too, by its form.
/// Addresses in other forms, such as `ip-192-0-2-77.example` or hexadecimal ones, are not recognised.
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

    /// Returns the text with the last bits of each address hidden, also of one that letters touch. It
    /// is never longer. A port, a zone (`%eth0`) and brackets around an address stay.
    pub fn hide<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        // Every address has two of these, and hardly any short text has.
        if memchr::memchr3_iter(b'.', b':', b'%', text).nth(1).is_none() {
            return Cow::Borrowed(text);
        }
        let mut hidden: Option<Vec<u8>> = None;
        let mut done = 0;
        for (start, end) in runs::runs(text) {
            let beside = runs::Beside::of(text, (start, end));
            let Some(run) = runs::without_last_bits(&text[start..end], beside, self) else {
                continue;
            };
            let hidden = hidden.get_or_insert_default();
            hidden.extend_from_slice(&text[done..start]);
            hidden.extend_from_slice(&run);
            done = end;
        }
        match hidden {
            None => Cow::Borrowed(text),
            Some(mut hidden) => {
                hidden.extend_from_slice(&text[done..]);
                Cow::Owned(hidden)
            }
        }
    }

    /// The groups of an IPv6 address that stay.
    fn v6_groups(&self) -> usize {
        (128 - self.v6_bits as usize) / 16
    }
}

#[cfg(test)]
mod tests;
