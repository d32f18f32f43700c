//! Puts each record of a JSON file on a line of its own, while it is read.
//!
//! Consoles and exports write the records of a log as one list, or over several lines:
//!
//! ```text
//! [                             {                              {"records": [
//!   {                             "status": 200,                 {"status":200}, {"status":404}
//!     "status": 200             }                            ]}
//!   },                          {
//!   {"status":404}                "status": 404
//! ]                             }
//! ```
//!
//! Blanks outside of strings are dropped, and so are the brackets and commas of the list and the members
//! beside it, and elements that are no objects. Other text stays, on lines of its own: it is no record, and
//! is counted as such. Nothing is kept: a record of any length passes as it comes.
//!
//! A list is recognized by the first bytes of the file; records over several lines by a line that is a
//! brace alone.
//!
//! A crash cuts a record off. It ends where a line ends inside a string, which JSON does not allow, or where
//! another record begins: at a brace that begins a line and is indented no more than the record. What is
//! left of a torn record up to there is dropped with it.

use std::io;

use super::decode::Decode;

/// The members of an object that hold a list of records: exports of Azure, of CloudWatch, of CloudTrail
/// and of Google.
const LISTS: [&[u8]; 5] = [b"records", b"events", b"entries", b"value", b"logEvents"];

/// How the records of a file are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// One after the other, or as lists.
    Plain,
    /// As lists in a member of an object.
    ListInObject,
}

impl Arrangement {
    /// The arrangement in a file with these first bytes; `None` if it has a record on each line, or
    /// something else.
    pub(super) fn of(first_bytes: &[u8]) -> Option<Self> {
        let text =
            first_bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first_bytes).trim_ascii_start();
        if let Some(rest) = after(text, b'[') {
            return rest.starts_with(b"{").then_some(Self::Plain);
        }
        let inside = after(text, b'{')?;
        if begins_with_list(inside) {
            return is_nothing_but_lists(text).then_some(Self::ListInObject);
        }
        let is_brace_alone = matches!(&text[1..], [b'\n', ..] | [b'\r', b'\n', ..]);
        (is_brace_alone && !inside.is_empty()).then_some(Self::Plain)
    }
}

/// The text after a byte and blanks.
fn after(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.strip_prefix(&[byte]).map(<[u8]>::trim_ascii_start)
}

/// Whether the first member of an object, whose brace is left out, is a list of records.
fn begins_with_list(inside: &[u8]) -> bool {
    let list = after(inside, b'"').and_then(|rest| {
        let is_named = |name: &&&[u8]| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        let name = LISTS.iter().find(is_named)?;
        let rest = after(rest[name.len()..].strip_prefix(b"\"")?.trim_ascii_start(), b':')?;
        after(rest, b'[')
    });
    list.is_some_and(|list| list.starts_with(b"{"))
}

/// Whether an object whose first member is a list of records is no record on a line: a line ends inside it,
/// or it has nothing but the list, and so has the next one.
fn is_nothing_but_lists(text: &[u8]) -> bool {
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    let mut has_others = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => return true,
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_string,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => has_others |= depth == 1,
            _ => {}
        }
        if depth == 0 {
            let next = text[at + 1..].trim_ascii_start();
            let is_same = next.is_empty() || after(next, b'{').is_some_and(begins_with_list);
            return !has_others && is_same;
        }
    }
    !has_others
}

/// Where the decoder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    /// After a bracket, which begins a list if a brace follows, and so many blanks.
    AfterBracket(u8),
    Record,
    /// In a line that is no record.
    Text,
    /// In what is left of a record that was cut off.
    Torn,
}

/// How far a line has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePart {
    Indent,
    AfterComma,
    Rest,
}

/// Writes a record on each line.
#[derive(Debug)]
pub(super) struct JsonRecordsDecoder {
    arrangement: Arrangement,
    place: Place,
    /// The open brackets and braces.
    depth: usize,
    /// Those around the last record.
    record_depth: usize,
    /// The blanks at the start of the line in which the last record begins.
    record_indent: usize,
    line_indent: usize,
    line_part: LinePart,
    /// The blanks at the start of the line of `last`.
    last_indent: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// The last byte that is no blank.
    last: u8,
}

impl JsonRecordsDecoder {
    pub(super) fn new(arrangement: Arrangement) -> Self {
        Self {
            arrangement,
            place: Place::Between,
            depth: 0,
            record_depth: 0,
            record_indent: 0,
            line_indent: 0,
            line_part: LinePart::Indent,
            last_indent: 0,
            is_in_string: false,
            is_escaped: false,
            last: b'\n',
        }
    }

    fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_first = self.is_first_of_line(byte);
        if self.is_in_string {
            return self.take_in_string(byte, output);
        }
        let is_read = match self.place {
            Place::Text => self.take_in_text(byte, output),
            Place::AfterBracket(blanks) => self.take_after_bracket(byte, is_first, blanks, output),
            Place::Torn => self.take_in_torn(byte, is_first, output),
            Place::Record if byte == b'{' && is_first && self.is_next_record() => {
                output.push(b'\n');
                (self.place, self.depth) = (Place::Between, self.record_depth);
                false
            }
            Place::Between | Place::Record => false,
        };
        if !is_read {
            self.take_token(byte, output);
        }
        if !byte.is_ascii_whitespace() {
            self.set_last(byte);
        }
    }

    /// Whether nothing is before the byte on its line but blanks and commas, and it is none of them.
    fn is_first_of_line(&mut self, byte: u8) -> bool {
        match (byte, self.line_part) {
            (b'\n', _) => (self.line_part, self.line_indent) = (LinePart::Indent, 0),
            (b' ' | b'\t', LinePart::Indent) => self.line_indent += 1,
            (b' ' | b'\t' | b'\r', _) => {}
            (b',', LinePart::Indent) => self.line_part = LinePart::AfterComma,
            // The end of a record before the next one on the same line.
            (b'}', LinePart::Indent) if self.place == Place::Torn => {}
            (_, part) => {
                self.line_part = LinePart::Rest;
                return part != LinePart::Rest;
            }
        }
        false
    }

    fn set_last(&mut self, byte: u8) {
        (self.last, self.last_indent) = (byte, self.line_indent);
    }

    /// Whether a brace that begins a line begins a record, and is no value in the last one. A value is
    /// indented as far as its key.
    fn is_next_record(&self) -> bool {
        let may_be_value = matches!(self.last, b'[' | b':') && self.last_indent <= self.line_indent;
        self.line_indent <= self.record_indent && !may_be_value
    }

    fn take_token(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_outside = self.place == Place::Between && self.depth == 0;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'[' if is_outside => {
                (self.place, self.depth) = (Place::AfterBracket(0), 1);
                return;
            }
            b'{' | b'[' => {
                if byte == b'{' && self.place == Place::Between && self.is_around_records() {
                    self.place = Place::Record;
                    (self.record_depth, self.record_indent) = (self.depth, self.line_indent);
                }
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' | b'\xEF' | b'\xBB' | b'\xBF' => {}
            // Inside a list it is an element that is no object, or a member beside the list.
            _ if is_outside => self.place = Place::Text,
            b'"' => self.is_in_string = true,
            _ => {}
        }
        if matches!(self.place, Place::Record | Place::Text) {
            output.push(byte);
        }
        if self.place == Place::Record && self.depth == self.record_depth {
            output.push(b'\n');
            self.place = Place::Between;
        }
    }

    /// Whether an object here is a record.
    fn is_around_records(&self) -> bool {
        match self.arrangement {
            Arrangement::Plain => self.depth <= 1,
            Arrangement::ListInObject => self.depth == 2,
        }
    }

    fn take_in_string(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_in_record = self.place == Place::Record;
        if is_in_record {
            output.push(byte);
        }
        match byte {
            b'\n' => {
                (self.is_in_string, self.is_escaped) = (false, false);
                if is_in_record {
                    self.place = Place::Torn;
                }
            }
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.is_in_string = false;
                self.set_last(byte);
            }
            _ => {}
        }
    }

    fn take_in_text(&mut self, byte: u8, output: &mut Vec<u8>) -> bool {
        output.push(byte);
        if byte == b'\n' {
            self.place = Place::Between;
        }
        true
    }

    /// Decides what a bracket begins. Returns whether the byte is read with it.
    fn take_after_bracket(
        &mut self,
        byte: u8,
        is_first: bool,
        blanks: u8,
        output: &mut Vec<u8>,
    ) -> bool {
        match byte {
            b' ' | b'\t' => self.place = Place::AfterBracket(blanks.saturating_add(1)),
            b'\r' | b'\n' => {}
            b'{' | b']' => {
                self.place = Place::Between;
                return false;
            }
            _ => {
                output.push(b'[');
                self.depth = 0;
                if is_first {
                    output.push(b'\n');
                    self.place = Place::Between;
                    return false;
                }
                output.resize(output.len() + usize::from(blanks), b' ');
                output.push(byte);
                self.place = Place::Text;
            }
        }
        true
    }

    /// Looks for what follows a torn record. Returns whether the byte belongs to it, or is read.
    fn take_in_torn(&mut self, byte: u8, is_first: bool, output: &mut Vec<u8>) -> bool {
        let is_outer = is_first && self.line_indent <= self.record_indent;
        let is_in_list = self.record_depth > 0;
        match byte {
            b'{' if is_outer => {}
            b']' if is_outer && is_in_list => {}
            b'"' | b'{' | b']' => return true,
            _ if !is_first || self.line_indent > 0 => return true,
            b'[' if !is_in_list => {}
            _ => {
                output.push(byte);
                (self.place, self.depth) = (Place::Text, self.record_depth);
                return true;
            }
        }
        (self.place, self.depth) = (Place::Between, self.record_depth);
        false
    }
}

impl Decode for JsonRecordsDecoder {
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        for byte in input {
            self.take(*byte, output);
        }
        Ok(input.len())
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        match self.place {
            Place::Record | Place::Text => output.push(b'\n'),
            Place::AfterBracket(_) => output.extend_from_slice(b"[\n"),
            Place::Between | Place::Torn => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arrangement, JsonRecordsDecoder};
    use crate::source::decode::Decode;

    fn decode(file: &str, piece: usize) -> String {
        let arrangement = Arrangement::of(file.as_bytes()).expect("not a record on each line");
        let (mut decoder, mut output) = (JsonRecordsDecoder::new(arrangement), Vec::new());
        for piece in file.as_bytes().chunks(piece) {
            decoder.push(piece, &mut output).expect("a text");
        }
        decoder.finish(&mut output).expect("a text");
        String::from_utf8(output).expect("UTF-8")
    }

    #[test]
    fn each_record_gets_a_line() {
        for (file, lines) in [
            ("[{\"a\":1},{\"a\":\"x, ]} \\\" {\"}]", "{\"a\":1}\n{\"a\":\"x, ]} \\\" {\"}\n"),
            (
                "[\n  {\n    \"a\": [1, {\"b\": 2}]\n  },\r\n  {}\n]\n",
                "{\"a\":[1,{\"b\":2}]}\n{}\n",
            ),
            ("\u{feff}{\n  \"a\": 1\n}\n{\n\"a\": 2}\n", "{\"a\":1}\n{\"a\":2}\n"),
            ("{\"records\": [{\"a\":1},\n{\"a\":2}], \"n\": [{}]}\n", "{\"a\":1}\n{\"a\":2}\n{}\n"),
            (
                "{\n \"Events\" : [ {\"a\":\"b c\"} ],\n \"token\": \"t\", \"n\": 7 }",
                "{\"a\":\"b c\"}\n",
            ),
            ("[{\"a\":1}]\nstarted\n[{\"a\":2}]", "{\"a\":1}\nstarted\n{\"a\":2}\n"),
            ("[{\"a\":1},{\"a\":", "{\"a\":1}\n{\"a\":\n"),
            ("{\n\"a\":1,\n{\n\"a\":2}\n", "{\"a\":1,\n{\"a\":2}\n"),
            ("[{\"a\":1}, 7, \"x\", [{}]]", "{\"a\":1}\n"),
            ("{\"value\":[{\"a\":1}]}\n{\"value\":[{\"a\":2}]}\n", "{\"a\":1}\n{\"a\":2}\n"),
        ] {
            for piece in 1..file.len() {
                assert_eq!(decode(file, piece), lines, "{file}");
            }
        }
    }

    #[test]
    fn other_text_stays() {
        for (file, lines) in [
            (
                "{\n\"a\":1\n}\n[Wed Dec 17] [core:error] {x}\n",
                "{\"a\":1}\n[Wed Dec 17] [core:error] {x}\n",
            ),
            ("{\n\"a\":1\n}\n[  7.5] \"x\n\"GET /\" {\n", "{\"a\":1}\n[  7.5] \"x\n\"GET /\" {\n"),
            (
                "[{\"a\":1}]\nstarted\n[{\"a\":2}]\n{\"a\":3}",
                "{\"a\":1}\nstarted\n{\"a\":2}\n{\"a\":3}\n",
            ),
            ("{\n\"a\":1\n}\n[\n{\"a\":2}\n]\n[\nx\n[", "{\"a\":1}\n{\"a\":2}\n[\nx\n[\n"),
        ] {
            for piece in 1..file.len() {
                assert_eq!(decode(file, piece), lines, "{file}");
            }
        }
    }

    #[test]
    fn a_torn_record_loses_no_other() {
        for (file, lines) in [
            ("{\n\"a\":\"b\n{\n\"a\":2}\n", "{\"a\":\"b\n{\"a\":2}\n"),
            ("{\n\"a\":\"b\nc\"}\n{\n\"a\":2}", "{\"a\":\"b\nc\"}\n{\"a\":2}\n"),
            (
                "{\n \"a\":\"b{\n \"c\": [\n  {\n  }\n ]\n}\n{\n \"a\":2}",
                "{\"a\":\"b{\n{\"a\":2}\n",
            ),
            ("{\n\"a\":\"b\\\n[Wed] x\n{\n\"a\":2}", "{\"a\":\"b\\\n[Wed] x\n{\"a\":2}\n"),
            ("[\n{\"a\":\"b\n{\"a\":2},\n{\"a\":3}\n]", "{\"a\":\"b\n{\"a\":2}\n{\"a\":3}\n"),
            ("[{\"a\":1\n,{\"a\":\"b\n, {\"a\":3}]\nx", "{\"a\":1,\n{\"a\":\"b\n{\"a\":3}\nx\n"),
            (
                "[\n  {\n    \"a\": [\n      {\"b\":\"c\n  },\n  {\"a\":1,\n  {\"a\":2}\n]\n[1",
                "{\"a\":[{\"b\":\"c\n{\"a\":1,\n{\"a\":2}\n[1\n",
            ),
            ("[{\n  \"a\": \"b\n}, {\n  \"a\": 2\n}]", "{\"a\":\"b\n{\"a\":2}\n"),
            (
                "{\"value\": [\n{\"a\":\"b\nstarted\n{\"a\":2}\n], \"next\": \"\n\"}",
                "{\"a\":\"b\nstarted\n{\"a\":2}\n",
            ),
        ] {
            for piece in 1..file.len() {
                assert_eq!(decode(file, piece), lines, "{file}");
            }
        }
    }

    #[test]
    fn other_files_pass_as_they_are() {
        for file in [
            "",
            "{",
            "[",
            "{\n",
            "[1,2]",
            "[Wed Dec 17 09:03:01 2025] [error] {}",
            "{\"a\":1}\n{\"a\":2}\n",
            "{\"records\":7}",
            "{\"recordset\":[{}]}",
            "{\"events\":[{\"a\":\"]}\"}],\"time\":1}\n{\"events\":[{}],\"time\":2}\n",
            "{\"value\":[{}],\"time\":",
            "{\"entries\":[{}]}\n{\"time\":1}\n",
            "192.0.2.1 - - [",
        ] {
            assert_eq!(Arrangement::of(file.as_bytes()), None, "{file}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_records_of_a_list_are_those_of_serde_json(
            texts in prop::collection::vec(any::<String>(), 1..10),
            is_pretty in any::<bool>(),
            piece in 1_usize..50,
        ) {
            let records: Vec<serde_json::Value> = texts
                .iter()
                .map(|text| serde_json::json!({"a": text, "b": {"c": [text, 1, null]}}))
                .collect();
            let list = serde_json::Value::from(records.clone());
            let file = if is_pretty { format!("{list:#}") } else { list.to_string() };
            let lines = decode(&file, piece);
            let read: Vec<serde_json::Value> =
                lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            prop_assert_eq!(read, records);
        }

        #[test]
        fn a_record_that_is_cut_off_anywhere_loses_no_other(
            texts in prop::collection::vec(any::<String>(), 2..6),
            is_list in any::<bool>(),
            torn in any::<prop::sample::Index>(),
            cut in any::<prop::sample::Index>(),
            piece in 1_usize..50,
        ) {
            let record = |(number, text): (usize, &String)| {
                serde_json::json!({"a": {"b": [text, {"c": text}, {}]}, "number": number, "z": [{}]})
            };
            let records: Vec<_> = texts.iter().enumerate().map(record).collect();
            let torn = 1 + torn.index(records.len() - 1);
            let indent = if is_list { "  " } else { "" };
            let mut pieces: Vec<String> = records
                .iter()
                .map(|record| format!("{indent}{}", format!("{record:#}").replace('\n', &format!("\n{indent}"))))
                .collect();
            let is_end = |at: &usize| pieces[torn].is_char_boundary(*at);
            let ends: Vec<usize> = (indent.len() + 1..pieces[torn].len()).filter(is_end).collect();
            let end = ends[cut.index(ends.len())];
            pieces[torn].truncate(end);
            let file = match is_list {
                true => format!("[\n{}\n]\n", pieces.join(",\n")),
                false => format!("{}\n", pieces.join("\n")),
            };
            let is_whole = |number: &u64| *number != torn as u64;
            let lines = decode(&file, piece);
            let read: Vec<u64> = lines
                .lines()
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["number"].as_u64())
                .collect();
            let expected: Vec<u64> = (0..records.len() as u64).filter(is_whole).collect();
            prop_assert_eq!(read.into_iter().filter(is_whole).collect::<Vec<_>>(), expected, "{}", file);
        }
    }
}
