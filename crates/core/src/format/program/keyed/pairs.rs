//! Scanners of lines that are keys and values without an object around them.
//!
//! ```text
//! LTSV    time:[17/Dec/2025:09:03:01 +0000]<tab>host:192.0.2.1<tab>status:200
//! logfmt  time=2025-12-17T09:03:01Z method=GET path=/a status=200 ua="say \\"hi\\""
//! ```
//!
//! Sources: <https://ltsv.org> and the package logfmt of Go. They pass their values on as the scanner of
//! objects does. A line with a word that is no pair does not match: it is a text.

use super::keys::Place;
use super::scan::{Fault, MemberSink, ScannedObject, object_start, scan};
use super::string_end::string_end;
use crate::format::program::span::Span;

/// How the members of a line are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::format) enum MemberSyntax {
    /// As a JSON object (RFC 8259).
    #[default]
    Json,
    /// Labels before colons, and tabs.
    Ltsv,
    /// Keys before `=`, and spaces. A value may be in quotes.
    Logfmt,
}

impl MemberSyntax {
    /// Checks the start of a line, as [`Self::scan`] does.
    ///
    /// # Errors
    /// If the line does not begin as one in this syntax.
    pub(in crate::format) fn check_start(self, line: &[u8]) -> Result<(), Fault> {
        match self {
            Self::Json => object_start(line).map(|_| ()),
            Self::Ltsv | Self::Logfmt => Ok(()),
        }
    }

    /// Scans a line and passes its scalars to `sink`.
    ///
    /// # Errors
    /// If the line is not in this syntax.
    pub(in crate::format) fn scan(
        self,
        line: &[u8],
        sink: &mut impl MemberSink,
    ) -> Result<ScannedObject, Fault> {
        match self {
            Self::Json => scan(line, sink),
            Self::Ltsv => scan_ltsv(line, sink),
            Self::Logfmt => scan_logfmt(line, sink),
        }
    }
}

/// A label has few kinds of letters, so that a text with a colon is none.
fn is_label(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(byte);
    !text.is_empty() && text.iter().all(is_letter)
}

fn scan_ltsv(line: &[u8], sink: &mut impl MemberSink) -> Result<ScannedObject, Fault> {
    let mut at = 0;
    for pair in line.split(|byte| *byte == b'\t') {
        let colon = memchr::memchr(b':', pair).filter(|colon| is_label(&pair[..*colon]));
        let message = "expected a label and `:`";
        let colon = colon.ok_or(Fault { at, message })?;
        let place = sink.below(Place::ROOT, &pair[..colon]);
        sink.take(place, Span::new(at + colon + 1, at + pair.len()), at);
        at += pair.len() + 1;
    }
    Ok(ScannedObject { end: line.len(), has_escapes: false })
}

fn scan_logfmt(line: &[u8], sink: &mut impl MemberSink) -> Result<ScannedObject, Fault> {
    let (mut at, mut has_escapes) = (0, false);
    while at < line.len() {
        if line[at] == b' ' {
            at += 1;
            continue;
        }
        let (member, rest) = (at, &line[at..]);
        let equals = memchr::memchr2(b'=', b' ', rest).filter(|end| rest[*end] == b'=');
        let equals = equals.filter(|equals| is_label(&rest[..*equals]));
        let equals = equals.ok_or(Fault { at, message: "expected a key and `=`" })?;
        at += equals + 1;
        let value = if line.get(at) == Some(&b'"') {
            let start = at + 1;
            let (end, escapes) = quoted_end(line, start)?;
            has_escapes |= escapes;
            at = end + 1;
            Span::new(start, end)
        } else {
            let length = memchr::memchr(b' ', &line[at..]).unwrap_or(line.len() - at);
            at += length;
            Span::new(at - length, at)
        };
        let place = sink.below(Place::ROOT, &rest[..equals]);
        sink.take(place, value, member);
    }
    Ok(ScannedObject { end: line.len(), has_escapes })
}

/// The offset of the quote that ends the text from `start` on, and whether the text has escapes.
fn quoted_end(line: &[u8], start: usize) -> Result<(usize, bool), Fault> {
    let (mut at, mut has_escapes) = (start, false);
    loop {
        at += string_end(&line[at..]);
        match line.get(at) {
            Some(b'"') => return Ok((at, has_escapes)),
            Some(b'\\') if at + 1 < line.len() => (at, has_escapes) = (at + 2, true),
            Some(byte) if *byte < b' ' => at += 1,
            _ => return Err(Fault { at: start, message: "the quote is not closed" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MemberSyntax;
    use crate::format::program::keyed::{FoundValues, Keys};

    fn values(syntax: MemberSyntax, line: &str) -> Result<Vec<Option<&str>>, usize> {
        let keys = Keys::new(["a", "b", "c"].into_iter());
        let mut found = FoundValues::default();
        found.scan(syntax, line.as_bytes(), &keys, 3).map_err(|fault| fault.at)?;
        let text = |entry| std::str::from_utf8(found.get(entry)?.of(line.as_bytes())).ok();
        Ok((0..3).map(text).collect())
    }

    #[test]
    fn labels_and_tabs() {
        let read = |line| values(MemberSyntax::Ltsv, line);
        assert_eq!(read("a:1:2\tx:y\tc:"), Ok(vec![Some("1:2"), None, Some("")]));
        for (line, at) in [("a:1\tb", 4), ("", 0), ("a b:1", 0), ("a:1\t", 4)] {
            assert_eq!(read(line), Err(at), "{line}");
        }
    }

    #[test]
    fn keys_and_spaces() {
        let read = |line| values(MemberSyntax::Logfmt, line);
        let line = r#"a=1 x="y z"  b="say \"hi\" = c=7" c="#;
        assert_eq!(read(line), Ok(vec![Some("1"), Some(r#"say \"hi\" = c=7"#), Some("")]));
        for (line, at) in [("a=1 b", 4), ("a=\"b", 3), ("=1", 0), ("a=\"b\\", 3), ("GET /a?b=1", 0)]
        {
            assert_eq!(read(line), Err(at), "{line}");
        }
    }
}
