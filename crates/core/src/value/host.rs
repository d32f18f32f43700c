//! Clients: addresses and host names.
//!
//! A log names the client of a request by its address, or by its host name if the server looks names
//! up. Any other text in that place shows that the values of the line have shifted, so it is
//! refused.
//!
//! | text | is |
//! |---|---|
//! | `192.0.2.7` | an IPv4 address: digits with three dots |
//! | `2001:db8::7`, `fe80::7%eth0`, `[::1]` | an IPv6 address (RFC 4291 section 2.2, RFC 4007 section 11) |
//! | `crawl-7.example.com`, `web_1` | a host name: letters, digits, `.`, `-` and `_` |
//! | `192.0.2.7:52814`, `[::1]:52814` | one of these and a port, which is split off |
//! | `192.0.2.7, 10.0.0.1` | a list of `X-Forwarded-For`; the client is the leftmost |
//! | `unix:`, `@` | a Unix socket, as nginx and Go write it |
//!
//! A host name begins with a letter, a digit or `_`, and its last label is not a number (RFC 1123
//! section 2.1: "at least the highest-level component label will be alphabetic").
//!
//! The leftmost address of a list is the one that the first proxy has seen, if no client has sent
//! the header itself.

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
    /// Reads an address or host name with or without a port, or the leftmost of a list of them.
    /// Returns `None` for any other text.
    pub(crate) fn parse(value: &'a [u8]) -> Option<Self> {
        let first = match memchr::memchr(b',', value) {
            None => value,
            // A list that ends with a comma has been cut at a space.
            Some(_) if value.ends_with(b",") => return None,
            Some(comma) => value[..comma].trim_ascii(),
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
        (port.is_some() && is_host(host)).then_some(Self { host, port })
    }
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
/// An IPv4 address is found eight bytes at a time, which costs as much as the search for the space
/// alone.
#[inline]
pub(crate) fn usual_client_length(line: &[u8]) -> Option<usize> {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let mut dots = 0;
    for at in [0, 8] {
        let word = u64::from_le_bytes(*line.get(at..)?.first_chunk()?);
        // The high bit of each byte above nine, and of each that is not a dot (Warren, Hacker's
        // Delight, 2-18).
        let digit = word ^ each(b'0');
        let not_digit = ((digit & each(0x7F)) + each(0x7F - 9)) | digit;
        let dot = word ^ each(b'.');
        let not_dot = ((dot & each(0x7F)) + each(0x7F)) | dot;
        let others = not_digit & not_dot & each(0x80);
        let before = others.wrapping_sub(1) & !others;
        dots += (!not_dot & each(0x80) & before) >> 7;
        if others != 0 {
            let length = at + others.trailing_zeros() as usize / 8;
            let has_three = dots.wrapping_mul(each(1)) >> 56 == 3;
            if line[length] == b' ' && has_three {
                return Some(length);
            }
            break;
        }
    }
    other_client_length(line)
}

/// Does what [`usual_client_length`] does for a text that is not an IPv4 address.
fn other_client_length(line: &[u8]) -> Option<usize> {
    let mut classes = u8::MAX;
    let line = &line[..line.len().min(NAME_BYTES_MAX + 1)];
    let length = line.iter().position(|byte| {
        let class = CLASSES[usize::from(*byte)];
        classes &= if class == 0 { u8::MAX } else { class };
        class == 0
    })?;
    let text = &line[..length];
    let is_usual = match classes {
        _ if line[length] != b' ' || classes & V4 != 0 => false,
        classes if classes & V6 != 0 && text.contains(&b':') => has_groups(text),
        classes if classes & NAME != 0 => {
            text.last().is_some_and(|last| last.is_ascii_alphabetic()) && is_name(text)
        }
        _ => false,
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
            ("unknown,10.0.0.1", "unknown", None),
        ] {
            assert_eq!(client(text), Some((host, port)), "{text}");
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
            "-, 10.0.0.2",
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

    /// What the fast search accepts, the plain one accepts unchanged, and it finds the usual forms.
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
