//! How the records of a file are arranged.

use super::list_paths::ListPaths;
use super::nesting::Nesting;

/// How the records of a file are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) enum Arrangement {
    /// One after the other, or as lists.
    Plain,
    /// As lists in members of an object.
    ListInObject,
}

/// The first keys of documents whose list of records stands behind other members: the names of the keys with
/// the number of objects that they are in.
const DOCUMENTS: [[(usize, &[u8]); 2]; 10] = [
    // Splunk's answers.
    [(1, b"preview"), (1, b"init_offset")],
    [(1, b"init_offset"), (1, b"messages")],
    // Those of Elasticsearch and OpenSearch.
    [(1, b"took"), (1, b"timed_out")],
    [(1, b"_scroll_id"), (1, b"took")],
    [(1, b"hits"), (2, b"hits")],
    // HTTP archives of browsers.
    [(1, b"log"), (2, b"version")],
    [(1, b"log"), (2, b"creator")],
    [(1, b"log"), (2, b"browser")],
    [(1, b"log"), (2, b"pages")],
    [(1, b"log"), (2, b"entries")],
];

impl Arrangement {
    /// The arrangement in a file with these first bytes; `None` if it has a record on each line, or
    /// something else.
    pub(in crate::source) fn of(first_bytes: &[u8]) -> Option<Self> {
        let text = without_mark(first_bytes);
        if let Some(rest) = after(text, b'[') {
            return rest.starts_with(b"{").then_some(Self::Plain);
        }
        let inside = after(text, b'{')?;
        if is_document(text) {
            return Some(Self::ListInObject);
        }
        if begins_with_list(inside) {
            return is_nothing_but_lists(text).then_some(Self::ListInObject);
        }
        let is_brace_alone = matches!(&text[1..], [b'\n', ..] | [b'\r', b'\n', ..]);
        let goes_on = is_brace_alone && !inside.is_empty() || goes_on_in_next_line(text);
        goes_on.then_some(Self::Plain)
    }

    /// Whether these first bytes of a file are in the midst of an object, so that more of them may change the
    /// arrangement.
    pub(in crate::source) fn is_open(first_bytes: &[u8]) -> bool {
        let text = without_mark(first_bytes);
        if let Some(rest) = after(text, b'[') {
            return rest.is_empty();
        }
        let mut scan = Scan::default();
        text.starts_with(b"{")
            && text.iter().all(|byte| {
                scan.take(*byte);
                scan.nesting.depth() > 0 && !scan.is_torn
            })
    }
}

/// The text without a byte order mark and blanks.
fn without_mark(first_bytes: &[u8]) -> &[u8] {
    first_bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first_bytes).trim_ascii_start()
}

/// The text after a byte and blanks.
fn after(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.strip_prefix(&[byte]).map(<[u8]>::trim_ascii_start)
}

/// Whether the first member of an object, whose brace is left out, is a list of records.
fn begins_with_list(inside: &[u8]) -> bool {
    let list = key(inside).and_then(|(key, rest)| {
        let list = ListPaths::has_outermost(key).then_some(rest)?;
        after(list, b'[')
    });
    list.is_some_and(|list| list.starts_with(b"{"))
}

/// The key at the start of a text, and what follows its colon.
fn key(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"\"")?;
    let (key, rest) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
    Some((key, after(rest[1..].trim_ascii_start(), b':')?))
}

/// Whether a text begins like one of the [`DOCUMENTS`].
fn is_document(text: &[u8]) -> bool {
    DOCUMENTS.contains(&first_keys(text))
}

/// The first two keys of a text, with the numbers of objects that they are in.
fn first_keys(text: &[u8]) -> [(usize, &[u8]); 2] {
    let mut keys = [(0, &b""[..]); 2];
    let (mut scan, mut found, mut start) = (Scan::default(), 0, 0);
    for (at, byte) in text.iter().enumerate() {
        let was_in_string = scan.is_in_string;
        scan.take(*byte);
        match (was_in_string, scan.is_in_string) {
            (false, true) => start = at + 1,
            (true, false) if text[at + 1..].trim_ascii_start().starts_with(b":") => {
                keys[found] = (scan.nesting.depth(), &text[start..at]);
                found += 1;
                if found == keys.len() {
                    break;
                }
            }
            _ => {}
        }
    }
    keys
}

/// Whether an object whose first member is a list of records is no record on a line: a line ends inside it,
/// or it has nothing but the list, and so has the next one.
fn is_nothing_but_lists(text: &[u8]) -> bool {
    let (mut scan, mut has_others) = (Scan::default(), false);
    for (at, byte) in text.iter().enumerate() {
        if *byte == b'\n' {
            return true;
        }
        scan.take(*byte);
        has_others |= *byte == b',' && !scan.is_in_string && scan.nesting.depth() == 1;
        if scan.nesting.depth() == 0 {
            let next = text[at + 1..].trim_ascii_start();
            let is_same = next.is_empty() || after(next, b'{').is_some_and(begins_with_list);
            return !has_others && is_same;
        }
    }
    !has_others
}

/// Whether the first line of a text ends inside an object, and the next line goes on with it. A line that was
/// cut off is followed by another record instead.
fn goes_on_in_next_line(text: &[u8]) -> bool {
    let Some((at, end)) = first_line_end(text) else { return false };
    let next = text[at..].trim_ascii_start();
    let is_open = end.nesting.depth() > 0 && !end.is_in_string;
    let Some(first) = next.first().filter(|_| is_open) else { return false };
    let is_value = matches!(first, b'"' | b'[' | b'{' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n');
    let first_key = |text| after(text, b'{').and_then(key).map(|(key, _)| key);
    let is_record = || *first == b'{' && first_key(next) == first_key(text);
    match end.last {
        b'{' => matches!(first, b'"' | b'}'),
        b',' if end.nesting.is_in_list() => is_value && !is_record(),
        b',' => *first == b'"',
        b':' => is_value && !is_record(),
        b'[' => (is_value || *first == b']') && !is_record(),
        _ => matches!(first, b',' | b'}' | b']'),
    }
}

/// The end of the first line of a text, and what is open there; `None` if the text has no more lines.
fn first_line_end(text: &[u8]) -> Option<(usize, Scan)> {
    let at = text.iter().position(|byte| *byte == b'\n')?;
    let mut scan = Scan::default();
    text[..at].iter().for_each(|byte| scan.take(*byte));
    Some((at, scan))
}

/// What is open in JSON.
#[derive(Debug, Default)]
struct Scan {
    nesting: Nesting,
    is_in_string: bool,
    is_escaped: bool,
    /// Whether a line has ended in a string.
    is_torn: bool,
    /// The last byte that is no blank.
    last: u8,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                self.is_torn |= self.is_in_string;
                self.is_in_string = false;
            }
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = self.is_in_string,
            b'"' => self.is_in_string = !self.is_in_string,
            _ if self.is_in_string => {}
            b'{' | b'[' => self.nesting.open(byte),
            b'}' | b']' => self.nesting.close(byte),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            self.last = byte;
        }
    }
}
