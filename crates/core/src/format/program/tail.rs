//! The values that a server logs after a line in a known format.
//!
//! ```text
//! ... "-" "curl/8" rt=0.012 urt="0.010, 0.002"    keyed values
//! ... "-" "curl/8" "203.0.113.9" 300 [web-80]     values by place
//! ```
//!
//! Keyed values are found by their key, in any order, and may be missing. Others are counted from
//! the left. A value that has no place, and one that has not the form of its field, is kept with
//! everything after it in one field: the rest of a line never costs the line.

use super::sink::{LineState, Sink};
use crate::record::Record;

/// The name of the field for the values that have no field of their own.
pub(in crate::format) const MORE_VALUES: &str = "extra_more";

/// Reads the values after a known line.
#[derive(Debug, Clone)]
pub(in crate::format) struct Tail {
    pub(in crate::format) keys: Vec<(Vec<u8>, Sink)>,
    /// The sinks of the values without a key, in their order.
    pub(in crate::format) places: Vec<Sink>,
    /// The index of the extra field [`MORE_VALUES`].
    pub(in crate::format) more: usize,
}

impl Tail {
    /// Reads the rest of a line, from `at` on. The error is the offset of a text that is not
    /// separated from the line before it.
    pub(in crate::format) fn read<'a>(
        &self,
        line: &'a [u8],
        at: usize,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), usize> {
        let values = TailValues::new(line, at).ok_or(at)?;
        let (mut place, mut next_key) = (0, 0);
        for value in values {
            let sink = match value.key {
                Some(key) => self.key_index(key, next_key).map(|index| {
                    next_key = index + 1;
                    &self.keys[index].1
                }),
                None => {
                    place += 1;
                    self.places.get(place - 1)
                }
            };
            if sink.and_then(|sink| sink.store(value.text, record, state)).is_none() {
                record.set_extra(self.more, line[value.start..].trim_ascii_end());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Does what [`Self::read`] does for a record that may have values of another line.
    pub(in crate::format) fn read_again<'a>(
        &self,
        line: &'a [u8],
        at: usize,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Option<()> {
        for sink in self.keys.iter().map(|(_, sink)| sink).chain(&self.places) {
            if let Sink::Extra(index) = sink {
                record.put_extra(*index, None);
            }
            for field in sink.fields() {
                record.put_text(*field, None);
                record.set_number(*field, None);
            }
        }
        record.put_extra(self.more, None);
        self.read(line, at, record, state).ok()
    }

    /// The index of a key, which is usually the one after the last.
    fn key_index(&self, key: &[u8], expected: usize) -> Option<usize> {
        let is_key = |(known, _): &(Vec<u8>, Sink)| known == key;
        if self.keys.get(expected).is_some_and(is_key) {
            return Some(expected);
        }
        self.keys.iter().position(is_key)
    }
}

/// A value of a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct TailValue<'a> {
    pub(in crate::format) key: Option<&'a [u8]>,
    /// The value without its key and its quotes.
    pub(in crate::format) text: &'a [u8],
    /// What stands around the text.
    pub(in crate::format) quote: Quote,
    /// The offset of the value, with its key, in the line.
    pub(in crate::format) start: usize,
}

/// What stands around a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Quote {
    None,
    Double,
    Bracket,
}

/// The values of a tail in their order.
#[derive(Debug, Clone)]
pub(in crate::format) struct TailValues<'a> {
    line: &'a [u8],
    at: usize,
    /// The offset of the bracket that was found last, or of the line's end. It closes all that open
    /// before it, so that a line is searched once.
    closing_bracket: usize,
}

impl<'a> TailValues<'a> {
    /// The values from `at` on; `None` if no blank separates them from what stands before.
    pub(in crate::format) fn new(line: &'a [u8], at: usize) -> Option<Self> {
        let is_separated = at == 0
            || at == line.len()
            || line.get(at).is_some_and(|byte| is_blank(*byte))
            || at > 0 && is_blank(line[at - 1]);
        is_separated.then_some(Self { line, at, closing_bracket: 0 })
    }

    /// The text from `at` on that ends at a blank. A list, as nginx writes it, goes on after its
    /// commas and colons: `0.1, 0.2 : 0.3`.
    fn word(&self, at: usize) -> &'a [u8] {
        let rest = &self.line[at..];
        let mut end = 0;
        while end < rest.len() {
            let is_in_list = |end: usize| {
                rest[end - 1] == b',' && rest.get(end + 1).is_some_and(|byte| !is_blank(*byte))
            };
            if is_blank(rest[end]) && !(end > 0 && is_in_list(end)) {
                if rest[end..].starts_with(b" : ") {
                    end += 3;
                    continue;
                }
                break;
            }
            end += 1;
        }
        &rest[..end]
    }

    /// The offset of the first closing bracket after `at`.
    fn bracket_after(&mut self, at: usize) -> Option<usize> {
        if self.closing_bracket <= at {
            let length = memchr::memchr(b']', &self.line[at..]);
            self.closing_bracket = length.map_or(self.line.len(), |length| at + length);
        }
        (self.closing_bracket < self.line.len()).then_some(self.closing_bracket)
    }

    /// The text in quotes or brackets at `at`, or a word.
    fn text(&mut self, at: usize) -> (&'a [u8], Quote, usize) {
        let rest = &self.line[at..];
        let closing = match rest.first() {
            Some(b'"') => closing_quote(rest).map(|end| (end, Quote::Double)),
            Some(b'[') => self.bracket_after(at).map(|end| (end - at, Quote::Bracket)),
            _ => None,
        };
        match closing {
            Some((end, quote)) if rest.get(end + 1).is_none_or(|byte| is_blank(*byte)) => {
                (&rest[1..end], quote, at + end + 1)
            }
            _ => {
                let word = self.word(at);
                (word, Quote::None, at + word.len())
            }
        }
    }
}

impl<'a> Iterator for TailValues<'a> {
    type Item = TailValue<'a>;

    fn next(&mut self) -> Option<TailValue<'a>> {
        let start = self.at + self.line[self.at..].iter().position(|byte| !is_blank(*byte))?;
        let key_bytes = key_length(&self.line[start..]);
        let from = key_bytes.map_or(start, |length| start + length + 1);
        let (text, quote, end) = self.text(from);
        self.at = end;
        let key = key_bytes.map(|length| &self.line[start..start + length]);
        Some(TailValue { key, text, quote, start })
    }
}

/// The length of a key before a `=`: letters, digits, `_`, `-` and `.`, and the first is a letter
/// or `_`.
pub(in crate::format) fn key_length(text: &[u8]) -> Option<usize> {
    const KEY_BYTES_MAX: usize = 64;
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = text.iter().take(KEY_BYTES_MAX + 1).take_while(|byte| is_key(byte)).count();
    let begins = text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    (begins && length <= KEY_BYTES_MAX && text.get(length) == Some(&b'=')).then_some(length)
}

/// The offset of the quote that closes the one at the start of a text. An escaped one follows an
/// odd number of backslashes.
pub(in crate::format) fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().enumerate().skip(1).find_map(|(at, byte)| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// Whether a byte separates values.
pub(in crate::format) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::{Quote, TailValues};

    fn values(text: &str) -> Vec<(&str, &str, Quote)> {
        let text_of = |bytes| std::str::from_utf8(bytes).unwrap();
        let values = TailValues::new(text.as_bytes(), 0).unwrap();
        values.map(|one| (text_of(one.key.unwrap_or(b"")), text_of(one.text), one.quote)).collect()
    }

    #[test]
    fn splits_values() {
        use Quote::{Bracket, Double, None};
        for (text, expected) in [
            ("", vec![]),
            (" \t ", vec![]),
            (" 300 700", vec![("", "300", None), ("", "700", None)]),
            (" rt=0.1 u=\"a b\"", vec![("rt", "0.1", None), ("u", "a b", Double)]),
            (r#" "a \" b" [x y]"#, vec![("", r#"a \" b"#, Double), ("", "x y", Bracket)]),
            (" 502, 200 : 0.1 -", vec![("", "502, 200 : 0.1", None), ("", "-", None)]),
            (" u=0.1, 0.2 x", vec![("u", "0.1, 0.2", None), ("", "x", None)]),
            (" \"open a", vec![("", "\"open", None), ("", "a", None)]),
            (" \"a\"b c", vec![("", "\"a\"b", None), ("", "c", None)]),
            (" = =x k= ", vec![("", "=", None), ("", "=x", None), ("k", "", None)]),
            (" https://a/?b=c", vec![("", "https://a/?b=c", None)]),
            (" a, ", vec![("", "a,", None)]),
            (
                " [ [a]b [c] [d",
                vec![("", "[", None), ("", "[a]b", None), ("", "c", Bracket), ("", "[d", None)],
            ),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
        assert!(TailValues::new(b"ab", 1).is_none());
    }
}
