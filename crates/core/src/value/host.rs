//! Clients: addresses and host names.
//!
//! A log names the client of a request by its address, or by its host name if the server looks
//! names up. Any other text in that place shows that the values of the line have shifted, so it is
//! refused.
//!
//! | text | is |
//! |---|---|
//! | `192.0.2.7` | an IPv4 address: digits with three dots |
//! | `2001:db8::7`, `fe80::7%eth0`, `[::1]` | an IPv6 address (RFC 4291 section 2.2, RFC 4007 section 11) |
//! | `crawl-7.example.com`, `web_1` | a host name: letters, digits, `.`, `-` and `_` |
//! | `192.0.2.7:52814`, `[::1]:52814` | one of these and a port, which is split off |
//! | `192.0.2.7, 10.0.0.1` | a list of `X-Forwarded-For`; the client is the leftmost |
//! | ` 192.0.2.7` | the same with blanks around it, as the header may have them |
//! | `unix:`, `@` | a Unix socket, as nginx and Go write it |
//!
//! A host name begins with a letter, a digit or `_`, and its last label is not a number (RFC 1123
//! section 2.1: "at least the highest-level component label will be alphabetic").
//!
//! The leftmost address of a list is the one that the first proxy has seen, if no client has sent
//! the header itself. A proxy that hides the address of its client writes `unknown` (RFC 7239
//! section 6.2) or `-`, and some write names of their own, so that the next address is the nearest
//! to the client.

use crate::value::split_port;

/// The longest host name (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 255;
/// The longest IPv4 address.
const V4_BYTES_MAX: usize = 15;

/// A byte of a host name.
const NAME: u8 = 1;
/// A byte of an IPv6 address without a zone.
const V6: u8 = 2;
/// A byte of an IPv4 address.
const V4: u8 = 4;

/// The texts that each byte may be a part of.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        if letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'-' | b'_') {
            classes[byte] |= NAME;
        }
        if letter.is_ascii_hexdigit() || matches!(letter, b':' | b'.') {
            classes[byte] |= V6;
        }
        if letter.is_ascii_digit() || letter == b'.' {
            classes[byte] |= V4;
        }
        byte += 1;
    }
    classes
};

/// The client of a line, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client<'a> {
    /// An address without brackets, or a host name.
    pub(crate) host: &'a [u8],
    pub(crate) port: Option<&'a [u8]>,
}

impl<'a> Client<'a> {
    /// Reads an address or host name with or without a port, or the leftmost of a list of them that
    /// is not hidden. Returns `None` for any other text.
    pub(crate) fn parse(value: &'a [u8]) -> Option<Self> {
        let first = match memchr::memchr(b',', value) {
            None => value,
            // A list that ends with a comma has been cut at a space.
            Some(_) if value.ends_with(b",") => return None,
            Some(comma) => match value[..comma].trim_ascii() {
                first if first.is_empty() || is_place(first) => first,
                _ => first_place(value),
            },
        };
        if is_host(first) || first == b"@" {
            return Some(Self { host: first, port: None });
        }
        match first {
            [b'[', inside @ .., b']'] if is_v6(inside) => {
                return Some(Self { host: inside, port: None });
            }
            [b'u', b'n', b'i', b'x', b':', path @ ..] if !path.contains(&b' ') => {
                return Some(Self { host: first, port: None });
            }
            _ => {}
        }
        let (host, port) = split_port(first);
        if port.is_some() && is_host(host) {
            return Some(Self { host, port });
        }
        let trimmed = first.trim_ascii();
        (trimmed.len() < first.len()).then(|| Self::parse(trimmed))?
    }

    /// The client that the header `X-Forwarded-For` names; `None` if a proxy hides it.
    pub(crate) fn of_header(value: &'a [u8]) -> Option<Self> {
        Self::parse(value).filter(|client| client.host != HIDDEN)
    }

    /// Reads an address with or without a port; `None` for lists, names and any other text.
    pub(crate) fn of_address(value: &'a [u8]) -> Option<Self> {
        let is_v4 = |host: &[u8]| host.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
        let is_one = memchr::memchr(b',', value).is_none();
        Self::parse(value)
            .filter(|client| is_one && (is_v4(client.host) || self::is_v6(client.host)))
    }
}

/// What a proxy writes for an address that it hides.
const HIDDEN: &[u8] = b"unknown";

/// Whether a part of a list may be an address or the whole name of a host, and not `unknown` or
/// another word that a proxy or a client has written there.
fn is_place(part: &[u8]) -> bool {
    memchr::memchr2(b'.', b':', part).is_some() || part == b"@"
}

/// The first part of a list that may be an address. If there is none, the first that is not hidden,
/// or else the last.
#[cold]
fn first_place(list: &[u8]) -> &[u8] {
    let parts = || list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let known = || parts().find(|part| !matches!(*part, HIDDEN | b"-"));
    let last = list.rsplit(|byte| *byte == b',').next().unwrap_or(list).trim_ascii();
    parts().find(|part| is_place(part)).or_else(known).unwrap_or(last)
}

/// Whether the text is an address or a host name.
pub(crate) fn is_host(text: &[u8]) -> bool {
    let classes = text.iter().fold(u8::MAX, |classes, byte| classes & CLASSES[usize::from(*byte)]);
    if classes & V4 != 0 {
        return is_v4(text);
    }
    classes & NAME != 0 && is_name(text) || is_v6(text)
}

/// Whether digits and dots are an IPv4 address.
fn is_v4(text: &[u8]) -> bool {
    text.len() <= V4_BYTES_MAX && text.iter().filter(|byte| **byte == b'.').count() == 3
}

/// Whether bytes of the class [`NAME`] are a host name.
fn is_name(text: &[u8]) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let label = text.rsplit(|byte| *byte == b'.').find(|label| !label.is_empty());
    text.len() <= NAME_BYTES_MAX
        && text.first().is_some_and(is_first)
        && label.is_some_and(|label| !label.iter().all(u8::is_ascii_digit))
}

/// Whether the text is an IPv6 address: groups with seven colons, or fewer with one `::`. The end
/// may be an IPv4 address. A zone may follow.
fn is_v6(text: &[u8]) -> bool {
    let (address, zone) = match memchr::memchr(b'%', text) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let is_part = |byte: &u8| CLASSES[usize::from(*byte)] & V6 != 0;
    let is_zone = |zone: &[u8]| {
        !zone.is_empty() && zone.iter().all(|byte| CLASSES[usize::from(*byte)] & NAME != 0)
    };
    address.iter().all(is_part) && has_groups(address) && zone.is_none_or(is_zone)
}

/// Whether bytes of the class [`V6`] have the colons and dots of an IPv6 address.
fn has_groups(text: &[u8]) -> bool {
    let (mut colons, mut dots, mut is_short) = (0, 0, false);
    let mut last = 0;
    for byte in text {
        colons += usize::from(*byte == b':');
        dots += usize::from(*byte == b'.');
        is_short |= *byte == b':' && last == b':';
        last = *byte;
    }
    let full = if dots == 0 { 7 } else { 6 };
    matches!(dots, 0 | 3) && (is_short && colons <= full || colons == full)
}

/// The length of the client at the start of a line, up to the space after it, if it has one of the
/// usual forms: an address without a zone, or a host name that does not end with a digit. Then
/// [`Client::parse`] accepts the text as it is. Returns `None` for any other text.
///
/// An IPv4 address is found eight bytes at a time, which costs little more than the search for the
/// space alone.
#[inline]
pub(crate) fn usual_client_length(line: &[u8]) -> Option<usize> {
    let (low, rest) = line.split_first_chunk()?;
    let (low, high) = (u64::from_le_bytes(*low), u64::from_le_bytes(*rest.first_chunk()?));
    let is_in_low = outside_v4(low) != 0;
    let (start, word, before) = if is_in_low { (0, low, 0) } else { (8, high, not_digits(low)) };
    let outside = outside_v4(word);
    // The bytes of the word before the first that is not of an address.
    let bits = outside.trailing_zeros() & 56;
    let inside = (1 << bits) - 1;
    let others = not_digits(word) & inside;
    let slashes = others & word | before & low;
    let has_three_dots = (before + others).wrapping_mul(each(1)) >> 56 == 3;
    let length = start + bits as usize / 8;
    if outside != 0 && has_three_dots && slashes == 0 && line.get(length) == Some(&b' ') {
        return Some(length);
    }
    other_client_length(line)
}

/// A word of eight times this byte.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The high bit of each byte of the word that is not a digit, a dot or a slash, which are the bytes
/// from 0x2E to 0x39. Bytes above the lowest such byte may be wrong.
#[inline]
fn outside_v4(word: u64) -> u64 {
    let above = word.wrapping_add(each(0x80 - 0x3A));
    let below = !word.wrapping_add(each(0x80 - 0x2E));
    (above | below | word) & each(0x80)
}

/// The low bit of each byte that is a dot or a slash, among those and digits: only digits have the
/// bit 0x10.
#[inline]
fn not_digits(word: u64) -> u64 {
    (!word >> 4) & each(1)
}

/// Does what [`usual_client_length`] does for a text that is not an IPv4 address. The loops have no
/// exits, so that the compiler reads many bytes at a time.
#[inline(never)]
fn other_client_length(line: &[u8]) -> Option<usize> {
    let length = memchr::memchr(b' ', &line[..line.len().min(NAME_BYTES_MAX + 1)])?;
    let text = &line[..length];
    let colons = text.iter().fold(0u8, |count, byte| count.wrapping_add(u8::from(*byte == b':')));
    let is_usual = if colons > 0 {
        let is_part = |byte: u8| byte.is_ascii_hexdigit() | (byte == b':');
        let is_v6 = text.iter().fold(true, |all, byte| all & is_part(*byte));
        let pairs = text.iter().zip(text.iter().skip(1));
        let is_short = pairs.fold(false, |any, (a, b)| any | (*a == b':') & (*b == b':'));
        is_v6 && (colons == 7 || colons < 7 && is_short)
    } else {
        text.last().is_some_and(u8::is_ascii_alphabetic) && is_host(text)
    };
    is_usual.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::{Client, usual_client_length};

    fn client(text: &str) -> Option<(&str, Option<&str>)> {
        let text_of = |bytes| std::str::from_utf8(bytes).unwrap();
        let client = Client::parse(text.as_bytes())?;
        Some((text_of(client.host), client.port.map(text_of)))
    }

    #[test]
    fn reads_addresses_and_host_names() {
        for text in [
            "192.0.2.7",
            "255.255.255.255",
            "2001:db8::7",
            "2001:db8:1:2:3:4:5:6",
            "::",
            "::1",
            "::ffff:192.0.2.7",
            "fe80::7%eth0",
            "example.com",
            "example.com.",
            "crawl-66-249-66-1.googlebot.com",
            "localhost",
            "web_1",
            "_gateway",
            "4chan.example",
            "unix:",
            "unix:/run/app.sock",
            "@",
        ] {
            assert_eq!(client(text), Some((text, None)), "{text}");
        }
        for (text, host, port) in [
            ("192.0.2.7:52814", "192.0.2.7", Some("52814")),
            ("[2001:db8::7]:52814", "2001:db8::7", Some("52814")),
            ("[2001:db8::7]", "2001:db8::7", None),
            ("example.com:443", "example.com", Some("443")),
            ("203.0.113.9, 10.0.0.1, 127.0.0.1", "203.0.113.9", None),
            ("203.0.113.9:5281, 10.0.0.1", "203.0.113.9", Some("5281")),
            ("unknown,10.0.0.1", "10.0.0.1", None),
            ("unknown, -, 203.0.113.9:5281, 10.0.0.1", "203.0.113.9", Some("5281")),
            ("Unknown, 203.0.113.9", "203.0.113.9", None),
            ("_hidden, secret, 203.0.113.9, 10.0.0.1", "203.0.113.9", None),
            ("web_1, web_2", "web_1", None),
            ("example.com, 10.0.0.1", "example.com", None),
            ("unknown", "unknown", None),
            ("-, unknown", "unknown", None),
            (" 203.0.113.9", "203.0.113.9", None),
            ("\t203.0.113.9:5281 ", "203.0.113.9", Some("5281")),
            (" [2001:db8::7]", "2001:db8::7", None),
            ("203.0.113.9,  10.0.0.1", "203.0.113.9", None),
        ] {
            assert_eq!(client(text), Some((host, port)), "{text}");
        }
    }

    #[test]
    fn an_address_is_no_name_and_no_list() {
        for (text, host) in [
            ("192.0.2.7", Some("192.0.2.7")),
            ("192.0.2.7:52814", Some("192.0.2.7")),
            ("[2001:db8::7]:52814", Some("2001:db8::7")),
            ("fe80::7%eth0", Some("fe80::7%eth0")),
            ("192.0.2.7, 10.0.0.1", None),
            ("unknown", None),
            ("garbage", None),
            ("example.com", None),
            ("_hidden", None),
            ("unix:/run/app.sock", None),
            ("@", None),
            ("-", None),
            ("", None),
        ] {
            let found = Client::of_address(text.as_bytes()).map(|client| client.host);
            assert_eq!(found, host.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn refuses_other_texts() {
        for text in [
            "",
            "-",
            "400",
            "1.2",
            "1.2.3.4.5",
            "a.1",
            "10.0.0.2,",
            ",10.0.0.2",
            "-, -",
            "unknown, ",
            "09:03:01",
            "dead:beef",
            "17/Dec/2025:09:03:01",
            "a b",
            "-a",
            ".a",
            "\"a\"",
            "GET",
            "caf\u{e9}",
            "1.2.3.4%eth0",
            "::1%",
            "a:b",
        ] {
            let is_name = text == "GET";
            assert_eq!(client(text).is_some(), is_name, "{text}");
        }
        assert_eq!(client(&"a".repeat(256)), None);
    }

    /// Every text of up to three bytes, and of words with one odd byte, at every place.
    #[test]
    fn the_fast_search_finds_the_same_addresses() {
        let naive = |line: &[u8]| {
            let length = line.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
            let dots = line[..length].iter().filter(|byte| **byte == b'.').count();
            (line[length] == b' ' && dots == 3 && length <= 15).then_some(length)
        };
        for text in ["1.2.3.4", "10.20.30.40", "192.168.100.200", "1.22.333.4444", "...", "1.2.3"] {
            let line = format!("{text} - - [17/Dec/2025");
            for at in 0..text.len() + 2 {
                for byte in 0..=255 {
                    let mut line = line.clone().into_bytes();
                    line[at] = byte;
                    let found = usual_client_length(&line);
                    let v4 = |length: &usize| {
                        line[..*length].iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
                    };
                    assert_eq!(found.filter(v4), naive(&line), "{text} {at} {byte}");
                }
            }
        }
    }

    /// The plain search accepts unchanged whatever the fast one accepts, and the fast one finds the
    /// usual forms.
    #[test]
    fn the_usual_length_is_that_of_a_client() {
        let parts =
            ["192.0.2.7", "1", ".", "::1", "2001:db8::f", ":", "a", "web.example", "-", "_"];
        let ends = [" - - [", "  ", "\" ", ", 1.2.3.4 - - [", "", "\u{0} ", "\u{e9} "];
        for first in parts {
            for second in parts.iter().chain(&[""]) {
                for end in ends {
                    let line = format!("{first}{second}{end}");
                    let Some(length) = usual_client_length(line.as_bytes()) else { continue };
                    let text = &line[..length];
                    assert!(line[length..].starts_with(' '), "{line}");
                    assert_eq!(client(text), Some((text, None)), "{line}");
                }
            }
        }
        for text in
            ["192.0.2.7", "255.255.255.255", "1.1.1.1", "2001:db8::7", "crawl-66.example.com", "a"]
        {
            let line = format!("{text} - - [17/Dec/2025:09:03:01 +0000]");
            assert_eq!(usual_client_length(line.as_bytes()), Some(text.len()), "{line}");
        }
    }
}
