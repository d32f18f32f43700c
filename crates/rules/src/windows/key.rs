//! The key by which a limit groups requests.

use std::fmt;
use std::net::IpAddr;

use weir_core::{FieldAccessor, Record, RecordFields, UnknownField};

use crate::networks::Network;

/// A key. Without any parts, all requests are counted together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LimitKey {
    pub(crate) parts: Vec<KeyPart>,
    pub(crate) needs: KeyNeeds,
}

/// Which parts of the key a request has to have. A request that lacks them is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum KeyNeeds {
    /// One of them.
    #[default]
    OnePart,
    /// All of them.
    EveryPart,
    /// None: requests that lack a part have a key of their own.
    Nothing,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPart {
    /// The value of a field.
    Field(String),
    /// The network of an address: the lengths of the prefix in IPv4 and in IPv6.
    Network {
        /// The field with the address.
        field: String,
        /// Bits of IPv4.
        v4: u8,
        /// Bits of IPv6.
        v6: u8,
    },
    /// A hash of the value, for values that should not be shown.
    Hash(String),
    /// What comes before the first comma of the value: the first of several addresses.
    First(String),
}

impl LimitKey {
    /// A key of which a request needs one part.
    pub(crate) fn new(parts: Vec<KeyPart>) -> Self {
        Self { parts, needs: KeyNeeds::default() }
    }

    /// The names of its fields.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(KeyPart::field)
    }
}

impl KeyPart {
    fn field(&self) -> &str {
        match self {
            Self::Field(field)
            | Self::Network { field, .. }
            | Self::Hash(field)
            | Self::First(field) => field,
        }
    }
}

impl fmt::Display for LimitKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            formatter.write_str(if index == 0 { " by " } else { ", " })?;
            match part {
                KeyPart::Field(field) => formatter.write_str(field)?,
                KeyPart::Hash(field) => write!(formatter, "hash({field})")?,
                KeyPart::First(field) => write!(formatter, "first({field})")?,
                KeyPart::Network { field, v4: 32, v6 } => write!(formatter, "{field}/{v6}")?,
                KeyPart::Network { field, v4, v6: 128 } => write!(formatter, "{field}/{v4}")?,
                KeyPart::Network { field, v4, v6 } => write!(formatter, "{field}/{v4}/{v6}")?,
            }
        }
        Ok(())
    }
}

/// A key with its fields resolved among those of some records.
#[derive(Debug, Clone)]
pub(super) struct BoundKey {
    parts: Vec<(FieldAccessor, KeyPart)>,
    needs: KeyNeeds,
}

impl BoundKey {
    /// # Errors
    /// If the records lack a field.
    pub(super) fn new(key: &LimitKey, fields: &RecordFields) -> Result<Self, UnknownField> {
        let part = |part: &KeyPart| Ok((fields.accessor(part.field())?, part.clone()));
        let parts = key.parts.iter().map(part).collect::<Result<_, _>>()?;
        Ok(Self { parts, needs: key.needs })
    }

    /// Writes the key of a record. Returns whether it has one: not if it lacks the parts that the
    /// key needs.
    ///
    /// Parts are separated by a space; one with a space or a quotation mark, and an empty one, is
    /// quoted, so that different keys differ.
    pub(super) fn write(&self, record: &Record<'_>, text: &mut Vec<u8>) -> bool {
        text.clear();
        let (mut has_one, mut has_every) = (self.parts.is_empty(), true);
        for (index, (accessor, part)) in self.parts.iter().enumerate() {
            if index > 0 {
                text.push(b' ');
            }
            let start = text.len();
            let value = accessor.value(record).filter(|value| value.as_ref() != b"-");
            let has_value = value.as_ref().is_some_and(|value| !value.is_empty());
            has_one |= has_value;
            has_every &= has_value;
            part.write(&value.unwrap_or_default(), text);
            if self.parts.len() > 1 {
                quote(text, start);
            }
        }
        match self.needs {
            KeyNeeds::OnePart => has_one,
            KeyNeeds::EveryPart => has_every,
            KeyNeeds::Nothing => true,
        }
    }
}

impl KeyPart {
    fn write(&self, value: &[u8], text: &mut Vec<u8>) {
        match self {
            Self::Field(_) => text.extend_from_slice(value),
            Self::First(_) => {
                let first = value.split(|byte| *byte == b',').next().unwrap_or_default();
                text.extend_from_slice(first.trim_ascii());
            }
            Self::Network { v4, v6, .. } => match network(value, *v4, *v6) {
                Some(network) => text.extend_from_slice(network.as_bytes()),
                None => text.extend_from_slice(value),
            },
            Self::Hash(_) if value.is_empty() => {}
            Self::Hash(_) => text.extend_from_slice(format!("{:016x}", fnv1a(value)).as_bytes()),
        }
    }
}

/// Puts what was written from `start` on into quotation marks if it needs them.
fn quote(text: &mut Vec<u8>, start: usize) {
    let part = &text[start..];
    if !part.is_empty() && !part.iter().any(|byte| matches!(byte, b' ' | b'"' | b'\\')) {
        return;
    }
    let part = text.split_off(start);
    text.push(b'"');
    for byte in part {
        if matches!(byte, b'"' | b'\\') {
            text.push(b'\\');
        }
        text.push(byte);
    }
    text.push(b'"');
}

/// The network of an address in CIDR notation; the address alone if all of its bits count.
fn network(value: &[u8], v4: u8, v6: u8) -> Option<String> {
    let address: IpAddr = std::str::from_utf8(value).ok()?.parse().ok()?;
    let address = address.to_canonical();
    Network::new(address, if address.is_ipv4() { v4 } else { v6 }).map(|network| network.text())
}

/// The hash FNV-1a of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::{fnv1a, network, quote};

    #[test]
    fn networks_have_the_bits_of_their_family() {
        for (address, v4, v6, expected) in [
            ("192.0.2.77", 24, 128, Some("192.0.2.0/24")),
            ("192.0.2.77", 32, 64, Some("192.0.2.77")),
            ("192.0.2.77", 0, 64, Some("0.0.0.0/0")),
            ("::ffff:192.0.2.77", 24, 64, Some("192.0.2.0/24")),
            ("2001:db8:1:2:3::4", 24, 64, Some("2001:db8:1:2::/64")),
            ("2001:DB8::4", 24, 128, Some("2001:db8::4")),
            ("::1", 0, 0, Some("::/0")),
            ("example.com", 24, 64, None),
        ] {
            let found = network(address.as_bytes(), v4, v6);
            assert_eq!(found.as_deref(), expected, "{address}/{v4}/{v6}");
        }
    }

    #[test]
    fn parts_with_spaces_are_quoted() {
        for (part, expected) in
            [("a", "a"), ("", r#""""#), ("a b", r#""a b""#), (r#"a"\"#, r#""a\"\\""#)]
        {
            let mut text = b"x ".to_vec();
            text.extend_from_slice(part.as_bytes());
            quote(&mut text, 2);
            assert_eq!(String::from_utf8_lossy(&text), format!("x {expected}"));
        }
    }

    #[test]
    fn hashes_are_those_of_the_published_function() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
