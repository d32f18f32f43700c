//! What a text is of which no line is in a known format, as far as its first lines tell.

use super::inference::suggest_format;
use super::program::sink::is_address;
use crate::value::{parse_rfc3339, second_of_day_at};

/// What a text is that no format reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// No text, with the kind of file if its first bytes tell: `a PNG image`.
    Binary(Option<&'static str>),
    /// Rows of as many cells each, without times or addresses.
    Table,
    /// Lines without times or addresses.
    Prose,
    /// Lines with the colour codes of a terminal.
    Coloured,
    /// Lines that may be those of a log.
    Log,
}

impl TextKind {
    /// The kind of a text with these first lines.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::TextKind;
    ///
    /// assert_eq!(TextKind::of(&[b"\x89PNG\r"]), TextKind::Binary(Some("a PNG image")));
    /// assert_eq!(TextKind::of(&[b"name,city,age", b"Ann,Rome,7"]), TextKind::Table);
    /// assert_eq!(TextKind::of(&[b"Dear reader,"]), TextKind::Prose);
    /// assert_eq!(TextKind::of(&[b"2025-12-17T09:03:01Z started"]), TextKind::Log);
    /// ```
    pub fn of(lines: &[&[u8]]) -> Self {
        if let Some(first) = lines.first()
            && let Some((_, name)) = MAGIC.iter().find(|(magic, _)| first.starts_with(magic))
        {
            return Self::Binary(Some(name));
        }
        if lines.iter().any(|line| looks_binary(line)) {
            return Self::Binary(None);
        }
        if lines.iter().filter(|line| has_colours(line)).count() * 2 > lines.len() {
            return Self::Coloured;
        }
        let with_signs = lines.iter().filter(|line| has_signs_of_a_log(line)).count();
        if with_signs * 2 > lines.len() || suggest_format(lines.iter().copied()).is_some() {
            return Self::Log;
        }
        let is_table = b",;\t".iter().any(|separator| {
            let cells = |line: &&[u8]| line.iter().filter(|byte| *byte == separator).count();
            let first = lines.first().map_or(0, cells);
            lines.len() > 1 && first > 0 && lines.iter().all(|line| cells(line) == first)
        });
        if is_table { Self::Table } else { Self::Prose }
    }
}

/// The first bytes of files that are dropped by mistake.
const MAGIC: [(&[u8], &str); 10] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a WebP image, a sound or a film"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x0a\x0d\x0d\x0a", "a capture of packets"),
];

/// Whether a line has a colour code of a terminal: `ESC [ 31 m` (ECMA-48, SGR).
fn has_colours(line: &[u8]) -> bool {
    memchr::memmem::find_iter(line, b"\x1b[").any(|at| {
        let rest = &line[at + 2..];
        let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
        end.is_some_and(|end| rest[end] == b'm')
    })
}

/// Whether a line is binary: more than a tenth of it is control characters or not UTF-8.
fn looks_binary(text: &[u8]) -> bool {
    let controls = text.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    let shown = String::from_utf8_lossy(text);
    let replaced = shown.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    controls + replaced > text.len() / 10
}

/// What may stand beside a time or an address.
const SIGNS: &[u8] = b" \"'[](){}<>,;=|^~!#*";

/// Whether a line has a time or an address, or is a JSON object.
fn has_signs_of_a_log(line: &[u8]) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_control() || SIGNS.contains(byte);
    let is_clock = |word: &[u8]| word.get(..8).is_some_and(|text| second_of_day_at(text).is_some());
    // A time in the common log format ends with a clock: `17/Dec/2025:09:03:01`.
    let ends_with_clock = |word: &[u8]| word.len() > 8 && is_clock(&word[word.len() - 8..]);
    let is_told = |word: &[u8]| {
        is_address(word) || parse_rfc3339(word).is_some() || is_clock(word) || ends_with_clock(word)
    };
    line.trim_ascii_start().starts_with(b"{") || line.split(is_sign).any(is_told)
}

#[cfg(test)]
mod tests {
    use super::{TextKind, looks_binary};

    #[test]
    fn text_does_not_look_binary() {
        assert!(!looks_binary("größe\tund [31m\x1b[0m 日本".as_bytes()));
        assert!(!looks_binary(b""));
        assert!(looks_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
    }

    #[test]
    fn kinds() {
        for (lines, kind) in [
            (&["", "MZ is a name"][..], TextKind::Prose),
            (&["%PDF-1.7"], TextKind::Binary(Some("a PDF document"))),
            (&["\0\0\0\u{1}\u{2}"], TextKind::Binary(None)),
            (&["a;b", "1;2", "3;4"], TextKind::Table),
            (&["a,b", "1,2,3"], TextKind::Prose),
            (&["when,level", "2025-12-17T09:03:01Z,3", "2025-12-17T09:03:02Z,4"], TextKind::Log),
            (&["[17/Dec/2025:09:03:01 +0000] a", "b c"], TextKind::Prose),
            (&["[17/Dec/2025:09:03:01 +0000] a"], TextKind::Log),
            (&["client 192.0.2.7 left"], TextKind::Log),
            (&["a|192.0.2.7|b"], TextKind::Log),
            (&["a\u{1}(192.0.2.7)<b>"], TextKind::Log),
            (&["a^^2025-12-17T09:03:01Z^^b"], TextKind::Log),
            (&["\x1b[36mclient 192.0.2.7\x1b[0m left"], TextKind::Coloured),
            (&["client 192.0.2.7 \x1b[2J left"], TextKind::Log),
            (&["{\"a\":1}"], TextKind::Log),
        ] {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(TextKind::of(&lines), kind, "{lines:?}");
        }
    }
}
