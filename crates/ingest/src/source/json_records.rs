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
//! A list is recognized by its first bytes, up to the first brace of a record; records over several lines
//! by a line that is a brace alone.

use std::io;

use super::decode::Decode;

/// The members of an object that hold a list of records: exports of Azure, of CloudWatch, of CloudTrail
/// and of Google.
const LISTS: [&[u8]; 5] = [b"records", b"events", b"entries", b"value", b"logEvents"];

/// How the records of a file are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// One after the other.
    Sequence,
    /// As a list, or several.
    List,
    /// As lists in a member of an object.
    ListInObject,
}

impl Arrangement {
    /// The arrangement in a file with these first bytes; `None` if it has a record on each line, or
    /// something else.
    pub(super) fn of(first_bytes: &[u8]) -> Option<Self> {
        let text =
            first_bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first_bytes).trim_ascii_start();
        let after = |text: &[u8], byte: u8| {
            text.strip_prefix(&[byte]).map(|rest| rest.trim_ascii_start().to_vec())
        };
        if let Some(rest) = after(text, b'[') {
            return rest.starts_with(b"{").then_some(Self::List);
        }
        let inside = after(text, b'{')?;
        let list = after(&inside, b'"').and_then(|rest| {
            let is_named = |name: &&&[u8]| {
                rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            };
            let name = LISTS.iter().find(is_named)?;
            let rest = after(rest[name.len()..].strip_prefix(b"\"")?.trim_ascii_start(), b':')?;
            after(&rest, b'[').filter(|rest| rest.starts_with(b"{"))
        });
        if list.is_some() {
            return Some(Self::ListInObject);
        }
        let is_brace_alone = matches!(&text[1..], [b'\n', ..] | [b'\r', b'\n', ..]);
        (is_brace_alone && !inside.is_empty()).then_some(Self::Sequence)
    }

    /// The number of brackets and braces around a record.
    fn depth(self) -> usize {
        match self {
            Self::Sequence => 0,
            Self::List => 1,
            Self::ListInObject => 2,
        }
    }
}

/// Writes a record on each line.
#[derive(Debug)]
pub(super) struct JsonRecordsDecoder {
    arrangement: Arrangement,
    /// The open brackets and braces.
    depth: usize,
    is_in_record: bool,
    is_in_string: bool,
    is_escaped: bool,
    /// Whether the last byte was a line feed.
    is_at_line_start: bool,
    /// Whether a text that is no record is on the line.
    is_in_text: bool,
}

impl JsonRecordsDecoder {
    pub(super) fn new(arrangement: Arrangement) -> Self {
        Self {
            arrangement,
            depth: 0,
            is_in_record: false,
            is_in_string: false,
            is_escaped: false,
            is_at_line_start: true,
            is_in_text: false,
        }
    }

    fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        let is_at_line_start = std::mem::replace(&mut self.is_at_line_start, byte == b'\n');
        if self.is_in_string {
            return self.take_in_string(byte, output);
        }
        if self.is_in_text {
            return self.take_in_text(byte, output);
        }
        // A record that was cut off: a brace at the start of a line begins another one.
        if byte == b'{' && is_at_line_start && self.depth > 0 && self.arrangement.depth() == 0 {
            output.push(b'\n');
            self.depth = 0;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b'{' | b'[' => {
                self.is_in_record |= byte == b'{' && self.depth == self.arrangement.depth();
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b'"' => self.is_in_string = true,
            b',' | b'\xEF' | b'\xBB' | b'\xBF' => {}
            // Inside a list it is an element that is no object, or a member beside the list.
            _ if !self.is_in_record && self.depth == 0 => self.is_in_text = true,
            _ => {}
        }
        if self.is_in_record || self.is_in_text {
            output.push(byte);
        }
        if self.is_in_record && self.depth == self.arrangement.depth() {
            output.push(b'\n');
            self.is_in_record = false;
        }
    }

    fn take_in_string(&mut self, byte: u8, output: &mut Vec<u8>) {
        if self.is_in_record {
            // A line feed in a string is not JSON; it must not end the line.
            output.push(if byte == b'\n' { b' ' } else { byte });
        }
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.is_in_string = false,
            _ => {}
        }
    }

    fn take_in_text(&mut self, byte: u8, output: &mut Vec<u8>) {
        output.push(byte);
        self.is_in_text = byte != b'\n';
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
        if self.is_in_record || self.is_in_text {
            output.push(b'\n');
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
            ("{\n\"a\":\"b\nc\"}", "{\"a\":\"b c\"}\n"),
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
    }
}
