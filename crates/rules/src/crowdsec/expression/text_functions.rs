//! What the functions of CrowdSec's expressions do with texts and addresses.

use std::net::IpAddr;

use weir_core::AddressBlock;

use super::characters::{self, characters};
use super::evaluate::TOO_LARGE;
use super::value::{ITEM_BYTES, Value};
use crate::error::Reason;

/// Maps each character as Go does: a character that would become several is unchanged.
pub(super) fn mapped<I: Iterator<Item = char>>(
    text: &[u8],
    ascii: impl Fn(&u8) -> u8,
    character: impl Fn(char) -> I,
) -> Vec<u8> {
    if text.is_ascii() {
        return text.iter().map(ascii).collect();
    }
    let map = |c: char| {
        let mut mapped = character(c);
        match (mapped.next(), mapped.next()) {
            (Some(only), None) => only,
            _ => c,
        }
    };
    characters(text).map(|(character, _)| map(character)).collect::<String>().into_bytes()
}

pub(super) fn length(value: Option<&Value<'_>>, queue_length: usize) -> Result<i64, Reason> {
    let length = match value {
        Some(Value::Text(text)) => characters::count(text),
        Some(Value::List(values)) => values.len(),
        Some(Value::Lines(lines)) => lines.len(),
        Some(Value::Queue) => queue_length,
        other => {
            let found = other.map_or("nothing", |value| value.kind().noun());
            return Err(format!("{found} has no length").into());
        }
    };
    Ok(length as i64)
}

/// Decodes percent escapes. A text with an invalid escape is returned unchanged, as in CrowdSec.
pub(super) fn unescaped(text: &[u8], is_query: bool) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        decoded.push(match first {
            b'%' => {
                let digit = |index: usize| char::from(*after.get(index)?).to_digit(16);
                let (Some(high), Some(low)) = (digit(0), digit(1)) else { return text.to_vec() };
                rest = &after[2..];
                (high * 16 + low) as u8
            }
            b'+' if is_query => b' ',
            other => *other,
        });
    }
    decoded
}

pub(super) fn escaped(text: &[u8], kept: &[u8], is_query: bool) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b' ' if is_query => encoded.push(b'+'),
            byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => encoded.push(*byte),
            byte => encoded.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    encoded
}

/// Replaces the first `count` occurrences of a text. The empty text occurs before and after each
/// character.
pub(super) fn replaced(
    text: &[u8],
    from: &[u8],
    to: &[u8],
    count: usize,
    bytes_max: usize,
) -> Result<Vec<u8>, Reason> {
    let mut result = Vec::with_capacity(text.len());
    let mut start = 0;
    for place in places(text, from).take(count) {
        result.extend_from_slice(&text[start..place]);
        result.extend_from_slice(to);
        start = place + from.len();
        if result.len() > bytes_max {
            return Err(TOO_LARGE.into());
        }
    }
    result.extend_from_slice(&text[start..]);
    Ok(result)
}

/// The positions at which `part` occurs in a text.
pub(super) fn places<'t>(text: &'t [u8], part: &'t [u8]) -> Box<dyn Iterator<Item = usize> + 't> {
    if !part.is_empty() {
        return Box::new(memchr::memmem::find_iter(text, part));
    }
    let ends = characters(text).scan(0, |end, (_, bytes)| {
        *end += bytes.len();
        Some(*end)
    });
    Box::new(std::iter::once(0).chain(ends))
}

/// Splits a text at separators. An empty separator splits it into characters.
pub(super) fn split<'t>(
    text: &'t [u8],
    separator: &'t [u8],
) -> Box<dyn Iterator<Item = &'t [u8]> + 't> {
    if separator.is_empty() {
        return Box::new(characters(text).map(|(_, bytes)| bytes));
    }
    let ends = memchr::memmem::find_iter(text, separator).chain([text.len()]);
    let length = separator.len();
    Box::new(ends.scan(0, move |start, end| {
        let part = &text[*start..end];
        *start = end + length;
        Some(part)
    }))
}

pub(super) fn list<'t>(
    texts: impl Iterator<Item = &'t [u8]>,
    bytes_max: usize,
) -> Result<Value<'static>, Reason> {
    let mut values = Vec::new();
    let mut bytes = 0;
    for text in texts {
        bytes += ITEM_BYTES + text.len();
        if bytes > bytes_max {
            return Err(TOO_LARGE.into());
        }
        values.push(Value::Text(text.to_vec().into()));
    }
    Ok(Value::List(values))
}

pub(super) fn joined(
    values: Option<&Value<'_>>,
    separator: &[u8],
    bytes_max: usize,
) -> Result<Vec<u8>, Reason> {
    let texts: Vec<&[u8]> = match values {
        Some(Value::List(values)) => values.iter().filter_map(Value::text).collect(),
        Some(Value::Lines(lines)) => lines.iter().map(Vec::as_slice).collect(),
        _ => return Err("only a list can be joined".into()),
    };
    let bytes: usize = texts.iter().map(|text| text.len() + separator.len()).sum();
    if bytes > bytes_max.saturating_add(separator.len()) {
        return Err(TOO_LARGE.into());
    }
    Ok(texts.join(separator))
}

/// Whether a text fits a pattern in which `*` is any text and `?` any character.
pub(super) fn fits_wildcard(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while position < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, position));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[position] => {
                at += 1;
                position += 1;
            }
            _ => match star {
                Some((star_at, from)) => {
                    star = Some((star_at, from + 1));
                    at = star_at + 1;
                    position = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at.min(pattern.len())..].iter().all(|byte| *byte == b'*')
}

pub(super) fn parsed(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

pub(super) fn to_number(value: Option<&Value<'_>>) -> Option<f64> {
    match value? {
        Value::Text(text) => parsed(text),
        other => other.number(),
    }
}

/// A value as text, as Go's `%v` shows it.
pub(super) fn shown(value: Option<&Value<'_>>) -> Vec<u8> {
    match value {
        Some(Value::Text(text)) => text.to_vec(),
        Some(Value::Integer(number)) => number.to_string().into_bytes(),
        Some(Value::Float(number)) => number.to_string().into_bytes(),
        Some(Value::Boolean(value)) => value.to_string().into_bytes(),
        _ => b"<nil>".to_vec(),
    }
}

pub(super) fn address(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn is_in_range(text: &[u8], range: &[u8]) -> bool {
    let block = std::str::from_utf8(range).ok().and_then(AddressBlock::parse);
    block.is_some_and(|block| block.contains(text))
}

/// `Sprintf` with `%s`, `%d`, `%v`, `%q` and `%%`.
pub(super) fn formatted(
    format: &[u8],
    values: &[Value<'_>],
    bytes_max: usize,
) -> Result<Vec<u8>, Reason> {
    let mut text = Vec::new();
    let mut values = values.iter();
    let mut bytes = format.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => match bytes.next() {
                Some(b'%') => text.push(b'%'),
                Some(b's' | b'd' | b'v') => text.extend(shown(values.next())),
                Some(b'q') => {
                    let value = shown(values.next());
                    text.extend(format!("{:?}", String::from_utf8_lossy(&value)).into_bytes());
                }
                _ => return Err("only %s, %d, %v, %q and %% are supported".into()),
            },
            other => text.push(*other),
        }
        if text.len() > bytes_max {
            return Err(TOO_LARGE.into());
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::contains;
    use super::{
        escaped, fits_wildcard, formatted, is_in_range, joined, list, mapped, replaced, split,
        unescaped,
    };
    use crate::crowdsec::expression::value::Value;

    #[test]
    fn escapes_are_those_of_go() {
        for (text, path, query) in [
            ("a%2Fb+c", "a/b+c", "a/b c"),
            ("100%", "100%", "100%"),
            ("%zz%41", "%zz%41", "%zz%41"),
            ("%%32%65", "%%32%65", "%%32%65"),
        ] {
            assert_eq!(unescaped(text.as_bytes(), false), path.as_bytes(), "{text}");
            assert_eq!(unescaped(text.as_bytes(), true), query.as_bytes(), "{text}");
        }
        assert_eq!(escaped(b"a b/\xe9", b"-_.~", true), b"a+b%2F%E9");
    }

    #[test]
    fn letters_are_mapped_one_for_one() {
        let upper =
            |text: &str| mapped(text.as_bytes(), u8::to_ascii_uppercase, char::to_uppercase);
        assert_eq!(upper("straße/é"), "STRAßE/É".as_bytes());
        assert_eq!(upper("a%2f"), b"A%2F");
    }

    #[test]
    fn texts_are_searched_and_changed() {
        assert!(contains(b"abc", b"") && contains(b"abc", b"bc") && !contains(b"abc", b"cb"));
        let replaced = |text: &'static str, from: &'static str, count| {
            replaced(text.as_bytes(), from.as_bytes(), b"--", count, 99).expect("it is short")
        };
        assert_eq!(replaced("aXbXc", "X", 1), b"a--bXc");
        assert_eq!(replaced("aé", "", usize::MAX), "--a--é--".as_bytes());
        assert_eq!(replaced("aé", "", 2), "--a--é".as_bytes());
        let split = |text: &'static str, separator: &'static str| {
            split(text.as_bytes(), separator.as_bytes()).collect::<Vec<_>>()
        };
        assert_eq!(split("a,,b", ","), [&b"a"[..], b"", b"b"]);
        assert_eq!(split("", ","), [b""]);
        assert_eq!(split("aé", ""), [&b"a"[..], "é".as_bytes()]);
        for (pattern, text, fits) in
            [("a*c", "abbc", true), ("a?c", "abc", true), ("a*c*", "ab", false), ("*", "", true)]
        {
            assert_eq!(fits_wildcard(pattern.as_bytes(), text.as_bytes()), fits, "{pattern}");
        }
    }

    #[test]
    fn texts_and_lists_are_bounded() {
        let one = || Value::Text((&b"1234567890"[..]).into());
        let ten = Value::List(vec![one(); 10]);
        assert!(replaced(b"aaaa", b"a", b"1234567890", usize::MAX, 30).is_err());
        assert!(joined(Some(&ten), b",", 109).is_ok() && joined(Some(&ten), b",", 108).is_err());
        assert!(formatted(b"%s%s", &[one(), one()], 19).is_err());
        assert!(formatted(b"%s%s", &[one(), one()], 20).is_ok());
        assert!(list(split(b"1234567890", b""), 10 * 65).is_ok());
        assert!(list(split(b"1234567890", b""), 10 * 65 - 1).is_err());
    }

    #[test]
    fn addresses_lie_in_ranges() {
        assert!(is_in_range(b"192.0.2.7", b"192.0.2.0/24"));
        assert!(!is_in_range(b"192.0.3.7", b"192.0.2.0/24"));
        assert!(is_in_range(b"2001:db8::1", b"2001:db8::/32"));
        assert!(!is_in_range(b"name", b"192.0.2.0/24"));
    }
}
