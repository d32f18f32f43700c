//! The lines of docker's json-file driver: `{"log":"...\n","stream":"stdout","time":"..."}`.
//!
//! Source: `JSONLog` in moby's daemon/logger/jsonfilelog/jsonlog.
//!
//! The line inside is escaped as a JSON string, so a record cannot borrow from it. It is unescaped
//! into a buffer first, and the line end that docker keeps inside the string is removed.
//!
//! Unescaping costs a copy of each line, which other wrappers avoid. Memory is one buffer, which is
//! never longer than the block: an escape is at least as long as what it stands for.
//!
//! The driver writes a time too, but it is that of the driver and not of the request, and a line
//! that has to be unwrapped first has lost it.

use std::sync::LazyLock;

use crate::format::program::keyed::{Keys, MemberSink, Place, scan, unescape};
use crate::format::program::mismatch::{Mismatch, Reason};
use crate::format::program::span::Span;

/// The members that docker writes, but for `attrs`, which has those that its options name.
static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::new(["log", "stream", "time"].into_iter()));

/// Whether docker has written a line. Collectors keep its members and add others.
pub(super) fn is_whole(line: &[u8]) -> bool {
    let mut members = Members::default();
    let is_object = scan(line, &mut members).is_ok();
    is_object && !members.has_others && members.found[..2].iter().all(|span| span.is_some())
}

/// Appends the line inside `line` to `text`, without its line end.
///
/// # Errors
/// If the line is not a JSON object, or lacks one of the two keys. `text` may then have been
/// appended to.
pub(in crate::format) fn unwrap(line: &[u8], text: &mut Vec<u8>) -> Result<(), Mismatch> {
    let mut members = Members::default();
    let object = scan(line, &mut members)
        .map_err(|fault| Mismatch::new(fault.at, Reason::Json(fault.message)))?;
    let [log, stream, _] = members.found;
    if !log.is_some() || !stream.is_some() {
        let reason = "expected the keys `log` and `stream` of a line of docker";
        return Err(Mismatch::new(object.end, Reason::Form(reason)));
    }
    let start = text.len();
    unescape(log.of(line), |part| text.extend_from_slice(part));
    for line_end in [b'\n', b'\r'] {
        if text.len() > start && text.last() == Some(&line_end) {
            text.pop();
        }
    }
    Ok(())
}

/// The members of a line.
struct Members {
    keys: &'static Keys,
    found: [Span; 3],
    /// Whether there are members that docker does not write.
    has_others: bool,
}

impl Default for Members {
    fn default() -> Self {
        Self { keys: &KEYS, found: [Span::NONE; 3], has_others: false }
    }
}

impl MemberSink for Members {
    fn below(&mut self, object: Place, key: &[u8]) -> Place {
        self.has_others |=
            object == Place::ROOT && !matches!(key, b"log" | b"stream" | b"time" | b"attrs");
        self.keys.below(object, key)
    }

    fn take(&mut self, place: Place, scalar: Span, _member: usize) {
        if let Some(entry) = self.keys.entry(place) {
            self.found[entry] = scalar;
        }
    }

    fn take_null(&mut self, _place: Place) {}
}

#[cfg(test)]
mod tests {
    use super::unwrap;

    fn unwrapped(line: &str) -> Option<String> {
        let mut text = Vec::new();
        unwrap(line.as_bytes(), &mut text).ok()?;
        Some(String::from_utf8(text).expect("UTF-8"))
    }

    #[test]
    fn undoes_escapes() {
        for (log, expected) in [
            (r"plain\n", "plain"),
            (r#"\"GET /\\x\/ \t\b\f\r\n"#, "\"GET /\\x/ \t\u{8}\u{c}"),
            (r"\u003c\u00e9\ud83d\ude00\ud83d.\ude00\n", "<é😀\u{fffd}.\u{fffd}"),
            (r"\\n", "\\n"),
            ("", ""),
        ] {
            let line = format!(r#"{{"log":"{log}","stream":"stdout","time":"t"}}"#);
            assert_eq!(unwrapped(&line).as_deref(), Some(expected), "{log}");
        }
        assert_eq!(unwrapped(r#"{"log":"a","time":"t"}"#), None);
        assert_eq!(unwrapped(r#"{"log":"a","stream":"stdout""#), None);
        assert_eq!(unwrapped("plain"), None);
    }
}
