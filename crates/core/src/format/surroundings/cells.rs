//! Cuts a line whose values stand between separators, mostly without blanks, into these values.
//!
//! ```text
//! web1|192.0.2.7|2025-12-17T09:03:01Z|GET /a HTTP/1.1|200|Mozilla/5.0 (X11; Linux)
//! ```
//!
//! As opposed to `parts.rs`, blanks are parts of values.

use super::parts::{LinePart, PartForm, is_key, is_looked_at, is_strange, request_at, versions};
use crate::format::program::tail::{closing_quote, key_length};

/// What may separate values. Of several, the first one counts: values hold it the least often.
const SEPARATORS: [u8; 6] = [b'\t', b'|', b'^', b'~', b';', b','];
/// The fewest separators of a line.
const SEPARATORS_MIN: usize = 4;

/// The separator that more than half of the lines have as often outside of quotes.
pub(in crate::format) fn separator_of(lines: &[&[u8]]) -> Option<u8> {
    SEPARATORS.into_iter().find(|separator| {
        let counts: Vec<usize> =
            lines.iter().map(|line| split(line, *separator).count() - 1).collect();
        let is_usual = |usual: &usize| counts.iter().filter(|count| *count == usual).count();
        counts.iter().any(|usual| *usual >= SEPARATORS_MIN && is_usual(usual) * 2 > lines.len())
    })
}

/// The texts between the separators of a line. Those in quotes count as text.
pub(in crate::format) fn split(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let blanks = text.len() - text.trim_ascii_start().len();
        let quoted = match text[blanks..].first() {
            Some(b'"') => closing_quote(&text[blanks..]).map_or(0, |end| blanks + end + 1),
            _ => 0,
        };
        let end = memchr::memchr(separator, &text[quoted..]).map(|end| quoted + end);
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// The values of a line; `None` if it cannot be a log of requests, as for `parts_of`.
pub(super) fn cells_of(line: &[u8], separator: u8) -> Option<Vec<LinePart<'_>>> {
    let line = line.trim_ascii();
    if !is_looked_at(line) || versions(line) > 1 {
        return None;
    }
    let mut cells = Cells { line, end: 0, parts: Vec::new() };
    let mut start = 0;
    for cell in split(line, separator) {
        cells.add(start, cell);
        start += cell.len() + 1;
    }
    let Cells { end, mut parts, .. } = cells;
    parts.last_mut()?.after = &line[end..];
    let are_plain = |part: &LinePart<'_>| !part.before.iter().chain(part.after).any(is_strange);
    parts.iter().all(are_plain).then_some(parts)
}

struct Cells<'a> {
    line: &'a [u8],
    /// The end of the last value.
    end: usize,
    parts: Vec<LinePart<'a>>,
}

impl<'a> Cells<'a> {
    /// Adds the value of a cell at an offset.
    fn add(&mut self, start: usize, cell: &'a [u8]) {
        let text = cell.trim_ascii();
        let key = key_of(text);
        let value_start = key.map_or(0, |(_, bytes)| bytes);
        let start = start + cell.len() - cell.trim_ascii_start().len() + value_start;
        let (text, key) = (&text[value_start..], key.map(|(key, _)| key));
        let is_whole = |lengths: &[usize; 3]| lengths.iter().sum::<usize>() + 2 == text.len();
        if let Some(lengths) = request_at(text).filter(is_whole) {
            let length = lengths.iter().sum::<usize>() + 2;
            return self.push(start, start + length, PartForm::Request, None);
        }
        let (form, from, to) = match text {
            [b'"', .., b'"'] => (PartForm::Quoted, 1, text.len() - 1),
            [b'[', .., b']'] => (PartForm::Bracketed, 1, text.len() - 1),
            _ => (PartForm::Barred, 0, text.len()),
        };
        self.push(start + from, start + to, form, key);
    }

    fn push(&mut self, start: usize, end: usize, form: PartForm, key: Option<&'a [u8]>) {
        let (before, text) = (&self.line[self.end..start], &self.line[start..end]);
        self.parts.push(LinePart { before, text, form, key, after: b"" });
        self.end = end;
    }
}

/// The key before a value, and its length with the sign after it: `status=` or `status: `.
fn key_of(text: &[u8]) -> Option<(&[u8], usize)> {
    if let Some(length) = key_length(text) {
        return Some((&text[..length], length + 1));
    }
    let colon = memchr::memmem::find(text, b": ").filter(|colon| is_key(&text[..*colon]))?;
    Some((&text[..colon], colon + 2))
}

#[cfg(test)]
mod tests {
    use super::{cells_of, separator_of};

    #[test]
    fn the_separator_is_as_often_in_most_lines() {
        for (lines, separator) in [
            (&["a|b|c|d|e", "f|g|h|i|j", "k"][..], Some(b'|')),
            (&["a|b|c|d", "f|g|h|i"], None),
            (&["a;b;c;d;e", "a;b;c;d;e;f", "g"], None),
            (&["a, b|c|d|e, f|g, h, i", "a|c|d|e|g"], Some(b'|')),
            (&["a,b,\"c,d\",\",\\\",\",e", "a,b,c,d,e"], Some(b',')),
            (&["a,b,\"c,d,e,f"], Some(b',')),
        ] {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(separator_of(&lines), separator, "{lines:?}");
        }
    }

    #[test]
    fn cells_are_values() {
        let line = b"a b | [x]|ip=1|GET /a HTTP/1.1|rt: 0.1|\"q \"||b";
        let parts = cells_of(line, b'|').expect("a line of a log");
        let shown: Vec<String> = parts
            .iter()
            .map(|part| {
                let [before, text] = [part.before, part.text].map(String::from_utf8_lossy);
                format!("{before}<{text}>")
            })
            .collect();
        let expected = [
            "<a b>",
            " | [<x>",
            "]|ip=<1>",
            "|<GET /a HTTP/1.1>",
            "|rt: <0.1>",
            "|\"<q >",
            "\"|<>",
            "|<b>",
        ];
        assert_eq!(shown, expected);
        assert_eq!(parts.iter().filter_map(|part| part.key).collect::<Vec<_>>(), [b"ip", b"rt"]);
    }
}
