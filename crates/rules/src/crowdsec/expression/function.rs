//! The functions of CrowdSec's expressions that need no more than their arguments.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use weir_core::{AddressBlock, nearest_name};

use super::characters::{self, characters};
use super::evaluate::TOO_LARGE;
use super::json;
use super::syntax::Part;
use super::value::{ITEM_BYTES, Kind, Value};
use crate::error::{Reason, RuleError};

/// Functions by name, with the kinds of their arguments and of their value. If a function has two
/// names, CrowdSec's comes before that of expr-lang.
const FUNCTIONS: &[(&str, Function, &[Kind], Kind)] = {
    use Function as F;
    use Kind::{Any, Boolean, List, Number, Text};
    &[
        ("Upper", F::Upper, &[Text], Text),
        ("upper", F::Upper, &[Text], Text),
        ("Lower", F::Lower, &[Text], Text),
        ("lower", F::Lower, &[Text], Text),
        ("len", F::Length, &[Any], Number),
        ("TrimSpace", F::TrimSpace, &[Text], Text),
        ("Trim", F::Trim, &[Text, Text], Text),
        ("TrimPrefix", F::TrimPrefix, &[Text, Text], Text),
        ("TrimSuffix", F::TrimSuffix, &[Text, Text], Text),
        ("hasPrefix", F::HasPrefix, &[Text, Text], Boolean),
        ("hasSuffix", F::HasSuffix, &[Text, Text], Boolean),
        ("PathUnescape", F::PathUnescape, &[Text], Text),
        ("QueryUnescape", F::QueryUnescape, &[Text], Text),
        ("PathEscape", F::PathEscape, &[Text], Text),
        ("QueryEscape", F::QueryEscape, &[Text], Text),
        ("Replace", F::Replace, &[Text, Text, Text, Number], Text),
        ("ReplaceAll", F::ReplaceAll, &[Text, Text, Text], Text),
        ("Split", F::Split, &[Text, Text], List),
        ("Fields", F::Words, &[Text], List),
        ("Join", F::Join, &[List, Text], Text),
        ("Match", F::WildcardMatch, &[Text, Text], Boolean),
        ("Atof", F::ParseFloat, &[Text], Number),
        ("int", F::ToInteger, &[Any], Number),
        ("float", F::ToFloat, &[Any], Number),
        ("string", F::ToText, &[Any], Text),
        ("ToString", F::ToText, &[Any], Text),
        ("IpInRange", F::IpInRange, &[Text, Text], Boolean),
        ("IsIP", F::IsIp, &[Text], Boolean),
        ("IsIPV4", F::IsIpv4, &[Text], Boolean),
        ("IsIPV6", F::IsIpv6, &[Text], Boolean),
        ("Sprintf", F::Format, &[Text], Text),
        ("JsonExtract", F::JsonExtract, &[Text, Text], Text),
        ("LogInfo", F::LogInfo, &[Text], Boolean),
    ]
};

/// Functions of CrowdSec that need more than a log, and what they need.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("GetDecisionsCount", "it asks CrowdSec's own database"),
    ("GetDecisionsSinceCount", "it asks CrowdSec's own database"),
    ("GetActiveDecisionsCount", "it asks CrowdSec's own database"),
    ("GetActiveDecisionsTimeLeft", "it asks CrowdSec's own database"),
    ("LookupHost", "it asks a name server"),
    ("Hostname", "it asks the machine that CrowdSec runs on"),
    ("TimeNow", "a replay has only the times of the log"),
    ("CrowdsecCTI", "it asks a service"),
    ("Distance", "it needs the places of addresses, from a database"),
    ("MedianInterval", "functions of times are not supported"),
    ("GeoIPEnrich", "it needs a database of places"),
    ("GeoIPASNEnrich", "it needs a database of networks"),
    ("GeoIPRangeEnrich", "it needs a database of networks"),
];

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Upper,
    Lower,
    Length,
    TrimSpace,
    Trim,
    TrimPrefix,
    TrimSuffix,
    HasPrefix,
    HasSuffix,
    PathUnescape,
    QueryUnescape,
    PathEscape,
    QueryEscape,
    Replace,
    ReplaceAll,
    Split,
    Words,
    Join,
    WildcardMatch,
    ParseFloat,
    ToInteger,
    ToFloat,
    ToText,
    IpInRange,
    IsIp,
    IsIpv4,
    IsIpv6,
    Format,
    JsonExtract,
    LogInfo,
}

impl Function {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// Why a function cannot be called.
    pub(super) fn refusal(name: &str) -> String {
        if let Some((_, reason)) = UNSUPPORTED.iter().find(|(known, _)| *known == name) {
            return format!("`{name}` is not supported: {reason}");
        }
        let names: Vec<&str> = FUNCTIONS
            .iter()
            .map(|entry| entry.0)
            .chain([
                "File",
                "RegexpInFile",
                "LookupFile",
                "any",
                "all",
                "none",
                "one",
                "count",
                "filter",
                "map",
            ])
            .collect();
        match nearest_name(name, names.iter().copied()) {
            Some(nearest) => {
                format!("the function `{name}` is not supported; did you mean `{nearest}`?")
            }
            None => format!(
                "the function `{name}` is not supported; docs/rules.md lists those that are"
            ),
        }
    }

    pub(super) fn kind(self) -> Kind {
        self.entry().map_or(Kind::Any, |entry| entry.3)
    }

    fn entry(self) -> Option<&'static (&'static str, Self, &'static [Kind], Kind)> {
        FUNCTIONS.iter().find(|entry| entry.1 == self)
    }

    /// Checks the number and the kinds of the arguments.
    pub(super) fn check(self, arguments: &[Part], range: &Range<usize>) -> Result<(), RuleError> {
        let Some((name, _, kinds, _)) = self.entry() else { return Ok(()) };
        let has_more = self == Self::Format && !arguments.is_empty();
        if arguments.len() != kinds.len() && !has_more {
            let (needed, given) = (kinds.len(), arguments.len());
            let message = format!("`{name}` has {needed} arguments, and {given} are given");
            return Err(RuleError::new(range.clone(), message));
        }
        for (argument, kind) in arguments.iter().zip(*kinds) {
            super::parse::require(argument, *kind)?;
        }
        Ok(())
    }

    /// The value for arguments; `queue_length` is the number of events in the bucket.
    ///
    /// # Errors
    /// If there is no value, or a text or list longer than `bytes_max`.
    pub(super) fn value<'a>(
        self,
        arguments: &[Value<'a>],
        queue_length: usize,
        bytes_max: usize,
    ) -> Result<Value<'a>, Reason> {
        let text = |index: usize| match arguments.get(index) {
            Some(Value::Text(text)) => Ok(&text[..]),
            other => {
                let found = other.map_or("nothing", |value| value.kind().noun());
                Err(Reason::from(format!("an argument is {found} instead of a text")))
            }
        };
        let owned = |text: Vec<u8>| Ok(Value::Text(text.into()));
        let boolean = |value| Ok(Value::Boolean(value));
        match self {
            Self::Upper => owned(mapped(text(0)?, u8::to_ascii_uppercase, char::to_uppercase)),
            Self::Lower => owned(mapped(text(0)?, u8::to_ascii_lowercase, char::to_lowercase)),
            Self::Length => length(arguments.first(), queue_length).map(Value::Integer),
            Self::TrimSpace => owned(characters::trimmed(text(0)?, char::is_whitespace).to_vec()),
            Self::Trim => {
                let set: Vec<char> = characters(text(1)?).map(|(character, _)| character).collect();
                owned(characters::trimmed(text(0)?, |character| set.contains(&character)).to_vec())
            }
            Self::TrimPrefix => {
                let all = text(0)?;
                owned(all.strip_prefix(text(1)?).unwrap_or(all).to_vec())
            }
            Self::TrimSuffix => {
                let all = text(0)?;
                owned(all.strip_suffix(text(1)?).unwrap_or(all).to_vec())
            }
            Self::HasPrefix => boolean(text(0)?.starts_with(text(1)?)),
            Self::HasSuffix => boolean(text(0)?.ends_with(text(1)?)),
            Self::PathUnescape => owned(unescaped(text(0)?, false)),
            Self::QueryUnescape => owned(unescaped(text(0)?, true)),
            Self::PathEscape => owned(escaped(text(0)?, b"-_.~$&+=:@", false)),
            Self::QueryEscape => owned(escaped(text(0)?, b"-_.~", true)),
            Self::Replace => {
                let count = arguments.get(3).and_then(Value::number).unwrap_or(-1.0);
                let count = if count < 0.0 { usize::MAX } else { count as usize };
                owned(replaced(text(0)?, text(1)?, text(2)?, count, bytes_max)?)
            }
            Self::ReplaceAll => {
                owned(replaced(text(0)?, text(1)?, text(2)?, usize::MAX, bytes_max)?)
            }
            Self::Split => list(split(text(0)?, text(1)?), bytes_max),
            Self::Words => list(characters::words(text(0)?).into_iter(), bytes_max),
            Self::Join => owned(joined(arguments.first(), text(1)?, bytes_max)?),
            Self::WildcardMatch => boolean(fits_wildcard(text(0)?, text(1)?)),
            // CrowdSec takes what is not a number as 0.
            Self::ParseFloat => Ok(Value::Float(parsed(text(0)?).unwrap_or(0.0))),
            Self::ToInteger => to_number(arguments.first())
                .map(|number| Value::Integer(number as i64))
                .ok_or_else(|| "it is not a number".into()),
            Self::ToFloat => to_number(arguments.first())
                .map(Value::Float)
                .ok_or_else(|| "it is not a number".into()),
            Self::ToText => owned(shown(arguments.first())),
            Self::IpInRange => boolean(is_in_range(text(0)?, text(1)?)),
            Self::IsIp => boolean(address(text(0)?).is_some()),
            Self::IsIpv4 => boolean(address(text(0)?).is_some_and(|ip| ip.is_ipv4())),
            Self::IsIpv6 => boolean(address(text(0)?).is_some_and(|ip| ip.is_ipv6())),
            Self::Format => {
                formatted(text(0)?, &arguments[1..], bytes_max).map(|text| Value::Text(text.into()))
            }
            Self::JsonExtract => owned(json::extract(text(0)?, text(1)?)),
            Self::LogInfo => boolean(true),
        }
    }
}

/// Maps each character as Go does: a character that would become several is unchanged.
fn mapped<I: Iterator<Item = char>>(
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

fn length(value: Option<&Value<'_>>, queue_length: usize) -> Result<i64, Reason> {
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
fn unescaped(text: &[u8], is_query: bool) -> Vec<u8> {
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

fn escaped(text: &[u8], kept: &[u8], is_query: bool) -> Vec<u8> {
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
fn replaced(
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
fn places<'t>(text: &'t [u8], part: &'t [u8]) -> Box<dyn Iterator<Item = usize> + 't> {
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
fn split<'t>(text: &'t [u8], separator: &'t [u8]) -> Box<dyn Iterator<Item = &'t [u8]> + 't> {
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

fn list<'t>(
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

fn joined(
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
fn fits_wildcard(pattern: &[u8], text: &[u8]) -> bool {
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

fn parsed(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

fn to_number(value: Option<&Value<'_>>) -> Option<f64> {
    match value? {
        Value::Text(text) => parsed(text),
        other => other.number(),
    }
}

/// A value as text, as Go's `%v` shows it.
fn shown(value: Option<&Value<'_>>) -> Vec<u8> {
    match value {
        Some(Value::Text(text)) => text.to_vec(),
        Some(Value::Integer(number)) => number.to_string().into_bytes(),
        Some(Value::Float(number)) => number.to_string().into_bytes(),
        Some(Value::Boolean(value)) => value.to_string().into_bytes(),
        _ => b"<nil>".to_vec(),
    }
}

fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let v4 = text.parse::<Ipv4Addr>().map(IpAddr::from);
    v4.or_else(|_| text.parse::<Ipv6Addr>().map(IpAddr::from)).ok()
}

fn is_in_range(text: &[u8], range: &[u8]) -> bool {
    let block = std::str::from_utf8(range).ok().and_then(AddressBlock::parse);
    block.is_some_and(|block| block.contains(text))
}

/// `Sprintf` with `%s`, `%d`, `%v`, `%q` and `%%`.
fn formatted(format: &[u8], values: &[Value<'_>], bytes_max: usize) -> Result<Vec<u8>, Reason> {
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
