//! The answers of two programs to queries for lines, which are read as one object for each line.
//!
//! ```text
//! CloudWatch Logs Insights                           Loki
//! {"results": [[                                     {"status":"success","data":{
//!   {"field": "@timestamp", "value": "2025-12-17"},    "resultType":"streams","result":[{
//!   {"field": "@message", "value": "GET /"}            "stream":{"app":"web"},
//! ]]}                                                  "values":[["1765962181000000000","GET /"]]}]}}
//!
//! {"@timestamp":"2025-12-17","@message":"GET /"}     {"timestamp":"1765962181000000000","line":"GET /","app":"web"}
//! ```
//!
//! Sources: `GetQueryResults` in the reference of Amazon CloudWatch Logs, and the HTTP API of Grafana Loki.

use std::io;

use weir_core::BlockLimits;

use super::decode::Decode;

/// The longest value, and the longest line; longer ones are left out.
const BYTES_MAX: usize = BlockLimits::LINE_BYTES_MAX;
/// The most bytes of the labels of a stream.
const LABEL_BYTES_MAX: usize = 64 << 10;
/// The longest path of keys that matters.
const PATH_MAX: usize = 7;

/// The program that has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Insights,
    Loki,
}

impl Answer {
    /// The program whose answer begins with these bytes.
    pub(super) fn of(first_bytes: &[u8]) -> Option<Self> {
        const STARTS: [(&[u8], Answer); 3] = [
            (br#"{"results":[[{"field":"#, Answer::Insights),
            (br#"{"queryLanguage":"CWLI","results":[[{"field":"#, Answer::Insights),
            (br#"{"status":"success","data":{"resultType":"streams","result":["#, Answer::Loki),
        ];
        let text = first_bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first_bytes);
        let begins_with = |start: &[u8]| {
            let mut bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
            start.iter().all(|byte| bytes.next() == Some(byte))
        };
        STARTS.into_iter().find(|(start, _)| begins_with(start)).map(|(_, answer)| answer)
    }
}

/// Writes an object for each line of an answer.
#[derive(Debug)]
pub(super) struct AnswerDecoder {
    answer: Answer,
    /// The open brackets and braces.
    depth: usize,
    /// The keys of the open ones, the outermost first, with quotes.
    path: [Vec<u8>; PATH_MAX],
    is_in_string: bool,
    is_escaped: bool,
    /// The last scalar, as it is written.
    text: Vec<u8>,
    /// Whether it is too long.
    is_too_long: bool,
    /// The key before it.
    key: Vec<u8>,
    /// The members of the line, of which each begins with a comma.
    line: Vec<u8>,
    /// Those of its stream.
    labels: Vec<u8>,
    /// The name of a member of the line, and its value.
    cell: [Vec<u8>; 2],
    /// The number of the value in a list.
    index: usize,
}

impl AnswerDecoder {
    pub(super) fn new(answer: Answer) -> Self {
        Self {
            answer,
            depth: 0,
            path: Default::default(),
            is_in_string: false,
            is_escaped: false,
            text: Vec::new(),
            is_too_long: false,
            key: Vec::new(),
            line: Vec::new(),
            labels: Vec::new(),
            cell: Default::default(),
            index: 0,
        }
    }

    fn take(&mut self, byte: u8, output: &mut Vec<u8>) {
        if self.is_in_string {
            return self.take_in_string(byte);
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                self.is_in_string = true;
                self.keep(byte);
            }
            b':' => {
                self.key = std::mem::take(&mut self.text);
                self.is_too_long = false;
            }
            b'{' | b'[' => self.open(),
            b',' => self.end_value(),
            b'}' | b']' => self.close(output),
            _ => self.keep(byte),
        }
    }

    fn take_in_string(&mut self, byte: u8) {
        if byte == b'\n' {
            // JSON allows none: the answer was cut off.
            (self.is_in_string, self.is_escaped) = (false, false);
            self.text.clear();
            return;
        }
        self.keep(byte);
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.is_in_string = false,
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        self.is_too_long |= self.text.len() == BYTES_MAX;
        if !self.is_too_long {
            self.text.push(byte);
        }
    }

    /// Opens an object or a list.
    fn open(&mut self) {
        if let Some(key) = self.path.get_mut(self.depth) {
            key.clone_from(&self.key);
        }
        self.depth += 1;
        self.text.clear();
        self.key.clear();
        match (self.answer, self.depth) {
            (Answer::Loki, 4) => self.labels.clear(),
            (Answer::Loki, 6) => self.index = 0,
            _ => {}
        }
    }

    /// Whether the place is in the lines of the answer, in so many objects and lists.
    fn is_at(&self, depth: usize, key_depth: usize, key: &[u8]) -> bool {
        let is_it =
            |known: &Vec<u8>| known.get(1..=key.len()) == Some(key) && known.len() == key.len() + 2;
        self.depth == depth && self.path.get(key_depth - 1).is_some_and(is_it)
    }

    /// Ends a value: the last scalar, or an object or list, which has none.
    fn end_value(&mut self) {
        let text = std::mem::take(&mut self.text);
        let is_whole = !std::mem::take(&mut self.is_too_long) && !text.is_empty();
        match self.answer {
            Answer::Insights if is_whole && self.is_at(4, 2, b"results") => {
                match self.key.as_slice() {
                    br#""field""# => self.cell[0] = text,
                    br#""value""# => self.cell[1] = text,
                    _ => {}
                }
            }
            Answer::Loki
                if is_whole
                    && self.is_at(5, 5, b"stream")
                    && self.labels.len() + self.key.len() + text.len() < LABEL_BYTES_MAX =>
            {
                add_member(&mut self.labels, &self.key, &text);
            }
            Answer::Loki if self.is_at(6, 5, b"values") => {
                if let (true, Some(name)) =
                    (is_whole, [&br#""timestamp""#[..], br#""line""#].get(self.index))
                {
                    add_member(&mut self.line, name, &text);
                }
                self.index += 1;
            }
            _ => {}
        }
        self.key.clear();
    }

    /// Closes an object or a list.
    fn close(&mut self, output: &mut Vec<u8>) {
        self.end_value();
        match self.answer {
            Answer::Insights if self.is_at(4, 2, b"results") => {
                let [name, value] = std::mem::take(&mut self.cell);
                if !name.is_empty() && !value.is_empty() && self.line.len() < BYTES_MAX {
                    add_member(&mut self.line, &name, &value);
                }
            }
            Answer::Insights if self.is_at(3, 2, b"results") => self.end_line(output),
            Answer::Loki if self.is_at(6, 5, b"values") => {
                self.line.extend_from_slice(&self.labels);
                self.end_line(output);
            }
            _ => {}
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn end_line(&mut self, output: &mut Vec<u8>) {
        if let Some(members) = self.line.get(1..) {
            output.push(b'{');
            output.extend_from_slice(members);
            output.extend_from_slice(b"}\n");
        }
        self.line.clear();
    }
}

fn add_member(members: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    members.push(b',');
    members.extend_from_slice(key);
    members.push(b':');
    members.extend_from_slice(value);
}

impl Decode for AnswerDecoder {
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        for byte in input {
            self.take(*byte, output);
        }
        Ok(input.len())
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        // The line of an answer that was cut off.
        self.end_line(output);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Answer, AnswerDecoder, BYTES_MAX};
    use crate::source::decode::Decode;

    fn decode(file: &str, piece: usize) -> String {
        let answer = Answer::of(file.as_bytes()).expect("an answer");
        let (mut decoder, mut output) = (AnswerDecoder::new(answer), Vec::new());
        for piece in file.as_bytes().chunks(piece) {
            decoder.push(piece, &mut output).expect("a text");
        }
        decoder.finish(&mut output).expect("a text");
        String::from_utf8(output).expect("UTF-8")
    }

    #[test]
    fn each_line_of_an_answer_is_an_object() {
        for (file, lines) in [
            (
                "{\n  \"results\": [\n    [\n      {\n        \"field\": \"@timestamp\",\n        \"value\": \"2025\"\n      \
                 },\n      {\"value\": \"a, \\\"]}\", \"field\": \"@message\"}\n    ],\n    [{\"field\":\"n\",\"value\":null}],\n \
                 [] ], \"statistics\": {\"field\": 1.0, \"x\": [[{\"field\":\"y\",\"value\":1}]]}, \"status\": \"Complete\"\n}\n",
                "{\"@timestamp\":\"2025\",\"@message\":\"a, \\\"]}\"}\n{\"n\":null}\n",
            ),
            (
                "{\"queryLanguage\":\"CWLI\",\"results\":[[{\"field\":\"a\",\"value\":\"b\"}]]}",
                "{\"a\":\"b\"}\n",
            ),
            // Cut off.
            (
                "{\"results\":[[{\"field\":\"a\",\"value\":\"b\"},{\"field\":\"c\",\"val",
                "{\"a\":\"b\"}\n",
            ),
            (
                "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[{\"stream\":{\"app\":\"w\",\"n\":\"1\"},\
                 \"values\":[[\"17\",\"GET /\"],[\"18\",\"[\\\"x\",{\"m\":{\"t\":\"1\"}}]]},\n{\"stream\":{},\"values\":[[\"19\",\"z\"]]}],\
                 \"stats\":{\"values\":[[\"1\",\"2\"]]}}}\n",
                "{\"timestamp\":\"17\",\"line\":\"GET /\",\"app\":\"w\",\"n\":\"1\"}\n\
                 {\"timestamp\":\"18\",\"line\":\"[\\\"x\",\"app\":\"w\",\"n\":\"1\"}\n{\"timestamp\":\"19\",\"line\":\"z\"}\n",
            ),
        ] {
            for piece in 1..file.len() {
                assert_eq!(decode(file, piece), lines, "{file}");
            }
        }
    }

    #[test]
    fn other_objects_are_no_answers() {
        for file in [
            "",
            "{\"results\":[[1]]}",
            "{\"results\":[{\"field\":\"a\",\"value\":\"b\"}]}",
            "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[",
            "{\"status\":200}",
        ] {
            assert_eq!(Answer::of(file.as_bytes()), None, "{file}");
        }
    }

    #[test]
    fn long_values_are_left_out() {
        let long = "x".repeat(BYTES_MAX);
        let file = format!(
            "{{\"results\":[[{{\"field\":\"a\",\"value\":\"{long}\"}},{{\"field\":\"b\",\"value\":\"c\"}}]]}}"
        );
        assert_eq!(decode(&file, 4_096), "{\"b\":\"c\"}\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_values_are_those_of_serde_json(
            rows in prop::collection::vec(prop::collection::vec(any::<String>(), 1..4), 1..5),
            is_pretty in any::<bool>(),
            piece in 1_usize..50,
        ) {
            let cell = |(index, value): (usize, &String)| {
                serde_json::json!({"field": format!("f{index}"), "value": value})
            };
            let cells = rows.iter().map(|row| row.iter().enumerate().map(cell).collect());
            let results: Vec<Vec<serde_json::Value>> = cells.collect();
            let answer = serde_json::json!({ "results": results });
            let file = if is_pretty { format!("{answer:#}") } else { answer.to_string() };
            let lines = decode(&file, piece);
            let read: Vec<serde_json::Value> =
                lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            prop_assert_eq!(read.len(), rows.len());
            for (read, row) in read.iter().zip(&rows) {
                for (index, value) in row.iter().enumerate() {
                    prop_assert_eq!(read[format!("f{index}")].as_str(), Some(value.as_str()));
                }
            }
        }
    }
}
