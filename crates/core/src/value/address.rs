//! Blocks of addresses in CIDR notation (RFC 4632, RFC 4291 section 2.3).
//!
//! An address is a number of 32 or 128 bits. A block is the numbers that agree with the block's in
//! the highest bits, so a test is a mask and a comparison. IPv4 and IPv6 are kept apart, since
//! `0.0.0.0/0` should not contain IPv6 addresses. An IPv4 address that is written as IPv6, as a
//! server on a socket for both logs it, is IPv4.

use std::borrow::Cow;
use std::net::IpAddr;

/// A block of IPv4 or IPv6 addresses that share a prefix.
///
/// ```
/// use weir_core::AddressBlock;
///
/// let block = AddressBlock::parse("192.0.2.0/24").unwrap();
/// assert!(block.contains(b"192.0.2.77") && block.contains(b"::ffff:192.0.2.77"));
/// assert!(!block.contains(b"192.0.3.1") && !block.contains(b"example.com"));
/// ```
///
/// The type is 48 bytes and can be copied. Two blocks are equal if they contain the same addresses,
/// whatever text they came from.
///
/// ```
/// use weir_core::AddressBlock;
///
/// assert_eq!(AddressBlock::parse("10.1.2.3/8"), AddressBlock::parse("10.0.0.0/8"));
/// let everything = AddressBlock::parse("0.0.0.0/0").unwrap();
/// assert!(everything.contains(b"203.0.113.9") && !everything.contains(b"2001:db8::1"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    /// The bits after the prefix are zero. An IPv4 address is in the lowest 32 bits.
    network: u128,
    mask: u128,
    is_v4: bool,
}

impl AddressBlock {
    /// Parses CIDR notation, `192.0.2.0/24` or `2001:db8::/32`. Address bits after the prefix are
    /// ignored. A block of IPv4-mapped addresses, `::ffff:192.0.2.0/120`, is the IPv4 block.
    /// Returns `None` if the text has no `/`, its address is not valid, or its prefix is not
    /// a decimal number up to the length of the address (32 or 128 bits).
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        // A number also parses with a plus sign, which a prefix never has.
        let prefix: u32 = prefix.parse().ok().filter(|_| !prefix.starts_with('+'))?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= bits).then(|| Self::with_host_bits(address, bits - prefix))
    }

    /// Parses an address, or a block as [`Self::parse`] does.
    pub fn parse_or_address(text: &str) -> Option<Self> {
        Self::parse(text).or_else(|| Some(Self::of(text.parse().ok()?)))
    }

    /// Returns the block of a single address.
    pub fn of(address: IpAddr) -> Self {
        Self::with_host_bits(address, 0)
    }

    fn with_host_bits(address: IpAddr, host_bits: u32) -> Self {
        // The prefix of an IPv4-mapped address has 96 bits, so more host bits make it IPv6.
        let address = if host_bits <= 32 { address.to_canonical() } else { address };
        let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
        Self { network: number(address) & mask, mask, is_v4: address.is_ipv4() }
    }

    /// Whether an address is in both blocks: then one of them contains the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let mask = self.mask & other.mask;
        self.is_v4 == other.is_v4 && self.network & mask == other.network & mask
    }

    /// Whether `text` is an address in this block. An IPv4-mapped IPv6 address
    /// (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2) counts as IPv4. A text that is not an
    /// address is in no block.
    ///
    /// Parses the text in each call. A filter calls it once for each distinct client, not for each
    /// record.
    pub fn contains(&self, text: &[u8]) -> bool {
        Self::any_contains(std::slice::from_ref(self), text)
    }

    /// Whether `text` is an address in one of the blocks. The address is parsed once.
    ///
    /// False if there are no blocks.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::AddressBlock;
    ///
    /// let private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
    /// let private: Vec<_> = private.iter().filter_map(|text| AddressBlock::parse(text)).collect();
    /// assert!(AddressBlock::any_contains(&private, b"172.20.1.1"));
    /// assert!(!AddressBlock::any_contains(&private, b"172.32.1.1"));
    /// ```
    pub fn any_contains(blocks: &[Self], text: &[u8]) -> bool {
        let address = std::str::from_utf8(text).ok().and_then(|text| text.parse::<IpAddr>().ok());
        address.is_some_and(|address| blocks.iter().any(|block| block.contains_address(address)))
    }

    /// Whether an address is in this block. An IPv4-mapped IPv6 address counts as IPv4.
    ///
    /// ```
    /// use weir_core::AddressBlock;
    ///
    /// let block = AddressBlock::parse("192.0.2.0/24").unwrap();
    /// assert!(block.contains_address("::ffff:192.0.2.9".parse().unwrap()));
    /// assert!(!block.contains_address("192.0.3.1".parse().unwrap()));
    /// ```
    pub fn contains_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.is_v4 == address.is_ipv4() && number(address) & self.mask == self.network
    }
}

/// The address as a number; that of IPv4 has 32 bits.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Returns an address in the spelling that all of its spellings have in common: IPv6 as RFC 5952
/// recommends it, and IPv4 that is written as IPv6 as IPv4. Other texts are unchanged.
pub fn common_spelling(client: &[u8]) -> Cow<'_, [u8]> {
    // All spellings of IPv4 are equal. Servers write IPv6 as recommended, so almost no text is
    // parsed.
    if memchr::memchr(b':', client).is_none() || is_usual_v6(client) {
        return Cow::Borrowed(client);
    }
    let parsed = std::str::from_utf8(client).ok().and_then(|text| text.parse::<IpAddr>().ok());
    let Some(address) = parsed else { return Cow::Borrowed(client) };
    let common = address.to_canonical().to_string().into_bytes();
    if common == client { Cow::Borrowed(client) } else { Cow::Owned(common) }
}

/// Whether a text is as RFC 5952 recommends if it is an IPv6 address at all. May return false for
/// such a text.
///
/// Its groups have no leading zeros and no capitals, it begins with a group and so is no IPv4, and
/// `::` stands for all zeros of the only run of zeros, two at least.
fn is_usual_v6(text: &[u8]) -> bool {
    let (mut groups, mut has_gap, mut is_after_zero) = (0, false, true);
    for group in text.split(|byte| *byte == b':') {
        let is_zero = matches!(group, b"" | b"0");
        if is_zero && is_after_zero {
            return false;
        }
        match group {
            b"" => has_gap = true,
            b"0" => groups += 1,
            [b'0', ..] => return false,
            _ if group.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) => groups += 1,
            _ => return false,
        }
        is_after_zero = is_zero;
    }
    !has_gap || groups <= 6
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv6Addr};

    use super::{AddressBlock, common_spelling, is_usual_v6};

    /// The common spelling without a shortcut.
    fn parsed_spelling(text: &str) -> String {
        let address = text.parse::<IpAddr>().map(|address| address.to_canonical().to_string());
        address.unwrap_or_else(|_| text.to_owned())
    }

    /// Spellings of an address: with zeros and capitals, and with each run of groups replaced.
    fn spellings(address: Ipv6Addr) -> Vec<String> {
        let groups = address.segments();
        let plain: Vec<String> = groups.iter().map(|group| format!("{group:x}")).collect();
        let padded: Vec<String> = groups.iter().map(|group| format!("{group:04X}")).collect();
        let mut all = vec![address.to_string(), plain.join(":"), padded.join(":")];
        for start in 0..8 {
            for end in start + 1..=8 {
                all.push(format!("{}::{}", plain[..start].join(":"), plain[end..].join(":")));
            }
        }
        all
    }

    #[test]
    fn a_usual_address_is_left_as_it_is() {
        for zeros in 0..=255 {
            for other in [1, 0x10, 0xabcd, 0xffff] {
                let group = |at: usize| if zeros >> at & 1 == 1 { 0 } else { other };
                let address = Ipv6Addr::from(std::array::from_fn::<u16, 8, _>(group));
                for text in spellings(address) {
                    let expected = parsed_spelling(&text);
                    assert_eq!(common_spelling(text.as_bytes()), expected.as_bytes(), "{text}");
                }
            }
        }
        for usual in ["2001:db8::1", "2001:db8:0:1:1:1:1:1", "2001:db8:1:2:3:4:5:6"] {
            assert!(is_usual_v6(usual.as_bytes()), "{usual} need not be parsed");
        }
    }

    #[test]
    fn an_address_has_one_spelling() {
        for (client, common) in [
            ("2001:DB8::1", "2001:db8::1"),
            ("2001:0db8:0:0:0:0:0:1", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("::FFFF:c000:207", "192.0.2.7"),
            ("192.0.2.7", "192.0.2.7"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("unix:", "unix:"),
            ("", ""),
        ] {
            assert_eq!(common_spelling(client.as_bytes()), common.as_bytes(), "{client}");
        }
        assert_eq!(common_spelling(b"a:\xff"), &b"a:\xff"[..]);
    }

    #[test]
    fn contains_the_addresses_of_the_block() {
        let block = AddressBlock::parse("192.0.2.77/24").unwrap();
        assert!(block.contains(b"192.0.2.0") && block.contains(b"192.0.2.255"));
        assert!(block.contains(b"::ffff:192.0.2.5"));
        assert!(!block.contains(b"192.0.3.0") && !block.contains(b"example.com"));
        assert!(!block.contains(b"::1"));
        let all = AddressBlock::parse("0.0.0.0/0").unwrap();
        assert!(all.contains(b"255.1.2.3") && !all.contains(b"::"));
        let six = AddressBlock::parse("2001:db8::/32").unwrap();
        assert!(six.contains(b"2001:db8:1::2") && !six.contains(b"2001:db9::"));
        assert!(AddressBlock::parse("::/0").unwrap().contains(b"ff::1"));
        assert!(AddressBlock::parse("::1/128").unwrap().contains(b"::1"));
        let mapped = AddressBlock::parse("::ffff:192.0.2.0/120").unwrap();
        assert!(mapped.contains(b"192.0.2.77") && mapped.contains(b"::ffff:c000:24d"));
        assert!(!mapped.contains(b"192.0.3.1"));
        let one = AddressBlock::parse_or_address("2001:db8:0:0::1").unwrap();
        assert_eq!(one, AddressBlock::of("2001:db8::1".parse().unwrap()));
        assert_eq!(AddressBlock::parse_or_address("192.0.2.1/33"), None);
        assert!(one.contains(b"2001:DB8::1") && !one.contains(b"2001:db8::2"));
    }

    #[test]
    fn refuses_invalid_blocks() {
        for text in
            ["", "1.2.3.4", "1.2.3.4/33", "::/129", "x/8", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/+8"]
        {
            assert!(AddressBlock::parse(text).is_none(), "{text}");
        }
    }
}
