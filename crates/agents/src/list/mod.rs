//! Lists as text files: columns separated by tabs, of which the first says what a line is.
//!
//! Empty lines and those that begin with `#` are ignored. Lines of the kinds `source`, `published`,
//! `taken` and `licence` tell where a list is from:
//!
//! ```text
//! source    uap-core 0.18.0
//! published    2026-04-04
//! family    (Firefox)/(\d+)
//! ```

mod error;

pub use error::{ListError, Problem};

use std::str;

/// The largest file of a list, in bytes.
pub const LIST_BYTES_MAX: usize = 8 << 20;

/// Where a list is from. A text is empty if the list does not tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOrigin {
    /// The name and the version of what it was made from.
    pub source: String,
    /// The day on which that version was published, as `2026-04-04`.
    pub published: String,
    /// The day on which it was made into a list.
    pub taken: String,
    /// Its licence, as an expression of SPDX.
    pub licence: String,
}

/// A line of a list.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    /// The number of the line, from 1.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) kind: &'a str,
    /// The other columns.
    columns: Vec<&'a str>,
}

impl<'a> Entry<'a> {
    /// Returns a column, from 0; the empty text if it is missing.
    pub(crate) fn column(&self, number: usize) -> &'a str {
        self.columns.get(number).copied().unwrap_or("")
    }

    /// The error of an entry.
    pub(crate) fn error(&self, problem: Problem) -> ListError {
        ListError::new(self.line, problem)
    }
}

/// Reads the lines of a list. `kinds` are those that it may have beside those about its origin, with
/// the most columns that follow.
///
/// # Errors
/// If the text is too large, is not UTF-8, or has a line of another kind or with other columns.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    kinds: &[(&'static str, usize)],
) -> Result<(ListOrigin, Vec<Entry<'a>>), ListError> {
    if bytes.len() > LIST_BYTES_MAX {
        return Err(ListError::new(0, Problem::LargeFile(LIST_BYTES_MAX)));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count();
        ListError::new(line, Problem::NotUtf8)
    })?;
    let mut origin = ListOrigin::default();
    let mut entries = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let mut columns = text.split('\t');
        let kind = columns.next().unwrap_or_default();
        let entry = Entry { line, kind, columns: columns.collect() };
        if let Some(place) = origin.place(kind) {
            *place = entry.column(0).to_owned();
            continue;
        }
        let Some((_, columns_max)) = kinds.iter().find(|known| known.0 == kind) else {
            let expected = kinds.iter().map(|known| known.0).collect();
            return Err(entry.error(Problem::Kind { found: shown(kind), expected }));
        };
        if entry.column(0).is_empty() || entry.columns.len() > *columns_max {
            return Err(entry.error(Problem::Columns(*columns_max)));
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        return Err(ListError::new(0, Problem::Empty));
    }
    Ok((origin, entries))
}

/// Returns the beginning of a text, as it is shown in a message.
fn shown(text: &str) -> String {
    let shown = |next: char| if next.is_control() { '\u{fffd}' } else { next };
    text.chars().take(40).map(shown).collect()
}

impl ListOrigin {
    fn place(&mut self, kind: &str) -> Option<&mut String> {
        Some(match kind {
            "source" => &mut self.source,
            "published" => &mut self.published,
            "taken" => &mut self.taken,
            "licence" => &mut self.licence,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LIST_BYTES_MAX, read};

    fn problem(bytes: &[u8]) -> String {
        read(bytes, &[("family", 3)]).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_list_has_an_origin_and_entries() {
        let text = b"# about\nsource\tx 1\npublished\t2026-01-02\n\nfamily\ta(b)\tc\nfamily\td\r\n";
        let (origin, entries) = read(text, &[("family", 3)]).expect("it is valid");
        assert_eq!((&*origin.source, &*origin.published), ("x 1", "2026-01-02"));
        let found: Vec<_> =
            entries.iter().map(|it| (it.line, it.column(0), it.column(1))).collect();
        assert_eq!(found, [(5, "a(b)", "c"), (6, "d", "")]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            (&b""[..], "has no entries"),
            (b"# nothing\n", "has no entries"),
            (b"family\ta\n\nfamilies\tb\n", "line 3: `families` is not a kind of line"),
            (b"family\n", "line 1: "),
            (b"family\ta\tb\tc\td\n", "line 1: "),
            (b"family\ta\nfamily\t\xff\n", "line 2: it is not UTF-8"),
            (
                b"[{\"pattern\": \"Googlebot\"}]",
                "line 1: `[{\"pattern\": \"Googlebot\"}]` is not a kind",
            ),
        ] {
            assert!(problem(text).contains(expected), "{}", problem(text));
        }
        let large = problem(&vec![b'\n'; LIST_BYTES_MAX + 1]);
        assert!(large.contains("8 MiB"), "{large}");
    }
}
