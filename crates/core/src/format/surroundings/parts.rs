//! Cuts a line in no known format into values and the texts between them.
//!
//! ```text
//! [time] client | GET /a HTTP/1.1 | rt: 0.012 msec | status=200
//! ```
//!
//! Values are words, and texts in quotes, in brackets or between vertical bars. A key before a value, a unit
//! behind a number and marks such as `->` belong to the texts between.

use crate::format::program::head::time_length;
use crate::format::program::tail::{closing_quote, is_blank, key_length};
use crate::value::{CLF_LENGTH, parse_clf_variant};

/// The most values of a line.
const PARTS_MAX: usize = 64;
/// Longer lines are not looked at.
const LINE_BYTES_MAX: usize = 8 << 10;
/// The fewest bars in a line whose values they separate.
const BARS_MIN: usize = 3;

/// A value of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinePart<'a> {
    /// The text between the value before and this one.
    pub(super) before: &'a [u8],
    pub(super) text: &'a [u8],
    pub(super) form: PartForm,
    pub(super) key: Option<&'a [u8]>,
    /// The text after the last value of a line; empty for others.
    pub(super) after: &'a [u8],
}

/// How a value is set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartForm {
    Bare,
    Quoted,
    Bracketed,
    /// Between bars, with spaces in it.
    Barred,
    /// The method of a request without quotes; its target and version follow.
    Method,
    /// A request line before a separator.
    Request,
}

/// The values of a line; `None` if it cannot be a log of requests: it has no version of HTTP or several,
/// control characters, or a quote or bracket that does not end a value.
pub(super) fn parts_of(line: &[u8]) -> Option<Vec<LinePart<'_>>> {
    let line = line.trim_ascii();
    if !is_looked_at(line) || versions(line) != 1 {
        return None;
    }
    let bars = memchr::memmem::find_iter(line, b" |").count();
    let mut cutter = Cutter { line, at: 0, next: 0, has_bars: bars >= BARS_MIN, parts: Vec::new() };
    cutter.cut()?;
    let mut parts = cutter.parts;
    let end = cutter.at;
    parts.last_mut()?.after = &line[end..];
    let are_plain = |part: &LinePart<'_>| !part.before.iter().chain(part.after).any(is_strange);
    parts.iter().all(are_plain).then_some(parts)
}

/// Whether a line is not too long, and has no control characters.
pub(super) fn is_looked_at(line: &[u8]) -> bool {
    line.len() <= LINE_BYTES_MAX && !line.iter().any(|byte| *byte < b' ' && *byte != b'\t')
}

/// How often a version of HTTP follows a blank.
pub(super) fn versions(line: &[u8]) -> usize {
    memchr::memmem::find_iter(line, b" HTTP/").count()
}

/// Whether a definition cannot have a byte between its values.
pub(super) fn is_strange(byte: &u8) -> bool {
    byte.is_ascii_control() && *byte != b'\t' || matches!(byte, b'$' | b'\'')
}

struct Cutter<'a> {
    line: &'a [u8],
    /// The end of the last value.
    at: usize,
    /// The offset after it, and after what closes it.
    next: usize,
    has_bars: bool,
    parts: Vec<LinePart<'a>>,
}

impl<'a> Cutter<'a> {
    fn cut(&mut self) -> Option<()> {
        while let Some((start, key)) = self.next_value() {
            self.value(start, key)?;
            if self.parts.len() > PARTS_MAX {
                return None;
            }
        }
        Some(())
    }

    /// Passes over marks, keys and units. Returns the start of the next value and its key.
    fn next_value(&self) -> Option<(usize, Option<&'a [u8]>)> {
        const UNITS: [&[u8]; 8] = [b"msec", b"ms", b"s", b"sec", b"seconds", b"us", b"bytes", b"B"];
        let (mut at, mut key) = (self.next, None);
        loop {
            let is_mark = |byte: &u8| matches!(byte, b' ' | b'\t' | b'|' | b',' | b';');
            at += self.line[at..].iter().position(|byte| !is_mark(byte))?;
            let rest = &self.line[at..];
            let word = &rest[..rest.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.len())];
            let is_number = |text: &[u8]| text.last().is_some_and(u8::is_ascii_digit);
            let is_unit =
                UNITS.contains(&word) && self.parts.last().is_some_and(|part| is_number(part.text));
            if matches!(word, b"->" | b"=>" | b"::") || is_unit {
                at += word.len();
            } else if let Some(name) = word.strip_suffix(b":").filter(|name| is_key(name)) {
                (at, key) = (at + word.len(), Some(name));
            } else if word.starts_with(b"[") && word.ends_with(b":]") {
                at += word.len();
            } else if let Some(length) = key_length(rest) {
                return Some((at + length + 1, Some(&rest[..length])));
            } else {
                return Some((at, key));
            }
        }
    }

    /// Adds the value at an offset.
    fn value(&mut self, start: usize, mut key: Option<&'a [u8]>) -> Option<()> {
        let rest = &self.line[start..];
        let (mut from, mut length, form, closing) = match *rest.first()? {
            b'"' => (1, closing_quote(rest)? - 1, PartForm::Quoted, 1),
            b'[' => (1, memchr::memchr(b']', rest)? - 1, PartForm::Bracketed, 1),
            b'(' if memchr::memchr(b')', rest).is_some_and(|end| !rest[..end].contains(&b' ')) => {
                (1, memchr::memchr(b')', rest)? - 1, PartForm::Bracketed, 1)
            }
            _ if let Some(length) = time_at(rest) => (0, length, PartForm::Bare, 0),
            _ if let Some(lengths) = request_at(rest) => match self.has_bars {
                true if let Some(length) = length_before_bar(rest, lengths) => {
                    (0, length, PartForm::Request, 0)
                }
                _ => return self.request(start, lengths),
            },
            _ if self.has_bars && !begins_with_address(rest) => self.barred(rest),
            _ => (0, word_length(rest), PartForm::Bare, 0),
        };
        let end = start + from + length;
        let is_ended = self
            .line
            .get(end + closing)
            .is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'|' | b','));
        if !is_ended {
            return None;
        }
        if form == PartForm::Bracketed {
            let inside = &rest[from..from + length];
            if let Some(colon) =
                memchr::memmem::find(inside, b": ").filter(|colon| is_key(&inside[..*colon]))
            {
                key = Some(&inside[..colon]);
                (from, length) = (from + colon + 2, length - colon - 2);
            }
            for unit in [&b" bytes"[..], b" seconds"] {
                if rest[from..from + length].ends_with(unit) {
                    length -= unit.len();
                }
            }
        }
        self.push(start + from, length, form, key);
        self.next = end + closing;
        Some(())
    }

    /// The length of a value that ends at a bar.
    fn barred(&self, rest: &[u8]) -> (usize, usize, PartForm, usize) {
        let end = memchr::memchr(b'|', rest).unwrap_or(rest.len());
        let mut words = memchr::memchr_iter(b' ', &rest[..end]);
        let request = words.find(|at| request_at(&rest[at + 1..]).is_some());
        let text = rest[..request.unwrap_or(end)].trim_ascii_end();
        let form = if text.contains(&b' ') { PartForm::Barred } else { PartForm::Bare };
        (0, text.len(), form, 0)
    }

    /// Adds the method, the target and the version of a request.
    fn request(&mut self, start: usize, lengths: [usize; 3]) -> Option<()> {
        let mut at = start;
        for (index, length) in lengths.into_iter().enumerate() {
            let form = if index == 0 { PartForm::Method } else { PartForm::Bare };
            self.push(at, length, form, None);
            at += length + 1;
        }
        Some(())
    }

    fn push(&mut self, start: usize, length: usize, form: PartForm, key: Option<&'a [u8]>) {
        let (before, text) = (&self.line[self.at..start], &self.line[start..start + length]);
        self.parts.push(LinePart { before, text, form, key, after: b"" });
        self.at = start + length;
        self.next = self.at;
    }
}

/// The length of a request line with these parts, if a bar follows it.
fn length_before_bar(rest: &[u8], lengths: [usize; 3]) -> Option<usize> {
    let length = lengths.iter().sum::<usize>() + 2;
    rest[length..].trim_ascii_start().starts_with(b"|").then_some(length)
}

/// Whether a text begins with an address and a blank.
fn begins_with_address(rest: &[u8]) -> bool {
    let word = &rest[..word_length(rest)];
    std::str::from_utf8(word).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok())
}

/// Whether a text may be the name of a value.
pub(super) fn is_key(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.iter().all(is_letter)
}

/// The length of a time that stands without brackets and has no date apart from its clock.
fn time_at(rest: &[u8]) -> Option<usize> {
    let usual = rest.get(..CLF_LENGTH).filter(|text| parse_clf_variant(text).is_some());
    if let Some(text) = usual {
        return Some(text.len());
    }
    let length = time_length(rest).filter(|length| !rest[..*length].contains(&b' '))?;
    parse_clf_variant(&rest[..length]).map(|_| length)
}

/// The lengths of method, target and version of a request line without quotes.
pub(super) fn request_at(rest: &[u8]) -> Option<[usize; 3]> {
    let mut words = rest.splitn(4, |byte| *byte == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_request = method.iter().all(u8::is_ascii_uppercase)
        && (target.starts_with(b"/") || target.starts_with(b"http"))
        && version.starts_with(b"HTTP/");
    (is_request && !method.is_empty()).then_some([method.len(), target.len(), version.len()])
}

/// The length of a word; a comma before a space goes on with a list.
fn word_length(rest: &[u8]) -> usize {
    let is_end = |at: usize| is_blank(rest[at]) && !(at > 0 && rest[at - 1] == b',');
    (0..rest.len()).find(|at| is_end(*at)).unwrap_or(rest.len())
}
