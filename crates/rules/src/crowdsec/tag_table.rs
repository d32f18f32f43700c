//! Data files of tags, for `LookupFile`.
//!
//! Each line is a JSON object with a `pattern`, a `tag` and a `type`. As in CrowdSec
//! (pkg/exprhelpers/filemap.go), texts that are equal come first, then those that are contained,
//! then patterns.

use std::collections::HashMap;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use weir_core::BoundedRegex;

use crate::error::Reason;
use crate::yaml::{Yaml, documents};

/// The tags of a data file.
#[derive(Debug)]
pub(super) struct TagTable {
    equal: HashMap<Vec<u8>, Vec<u8>>,
    contained: AhoCorasick,
    /// The tags of the contained texts, in their order.
    contained_tags: Vec<Vec<u8>>,
    patterns: Vec<(BoundedRegex, Vec<u8>)>,
}

/// A line of a table is not one.
#[derive(Debug)]
pub(super) struct WrongLine {
    line: String,
    reason: Reason,
}

impl fmt::Display for WrongLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is not an entry of a table: {}", self.line, self.reason)
    }
}

impl TagTable {
    /// Reads the lines of a file; `compile` compiles a pattern.
    ///
    /// # Errors
    /// If a line is not an entry, or has a wrong pattern.
    pub(super) fn new(
        lines: &[Vec<u8>],
        compile: impl Fn(&str) -> Result<BoundedRegex, Reason>,
    ) -> Result<Self, WrongLine> {
        let (mut equal, mut patterns) = (HashMap::new(), Vec::new());
        let (mut contained, mut contained_tags) = (Vec::new(), Vec::new());
        for line in lines {
            let line = String::from_utf8_lossy(line);
            let wrong = |reason| WrongLine { line: line.to_string(), reason };
            let documents = documents(&line).map_err(|error| wrong(error.to_string().into()))?;
            let member = |name: &str| {
                let value = documents.first().and_then(|object| object.member(name));
                let text = value.and_then(Yaml::scalar).filter(|text| !text.is_empty());
                text.ok_or_else(|| wrong(format!("it has no `{name}`").into()))
            };
            let (pattern, tag) = (member("pattern")?, member("tag")?.as_bytes().to_vec());
            match member("type")? {
                "equals" => {
                    equal.insert(pattern.as_bytes().to_vec(), tag);
                }
                "contains" => {
                    contained.push(pattern.as_bytes().to_vec());
                    contained_tags.push(tag);
                }
                "regex" => patterns.push((compile(pattern).map_err(wrong)?, tag)),
                _ => {
                    let message = "its `type` is one of `equals`, `contains` and `regex`";
                    return Err(wrong(message.into()));
                }
            }
        }
        let builder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(contained);
        let too_large = |error: aho_corasick::BuildError| WrongLine {
            line: "contains".to_owned(),
            reason: error.to_string().into(),
        };
        Ok(Self { equal, contained: builder.map_err(too_large)?, contained_tags, patterns })
    }

    /// The tag of a text; empty if it has none.
    pub(super) fn tag(&self, text: &[u8]) -> &[u8] {
        if let Some(tag) = self.equal.get(text) {
            return tag;
        }
        if let Some(found) = self.contained.find(text) {
            return self.contained_tags.get(found.pattern().as_usize()).map_or(b"", |tag| tag);
        }
        let matched = self.patterns.iter().find(|(pattern, _)| pattern.is_match(text));
        matched.map_or(b"", |(_, tag)| tag)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::PatternBudget;

    use super::TagTable;
    use crate::go_pattern;

    fn table(text: &str) -> Result<TagTable, String> {
        let lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        let compile = |pattern: &str| {
            go_pattern::compile(pattern, &PatternBudget::default()).map(|(pattern, _)| pattern)
        };
        TagTable::new(&lines, compile).map_err(|error| error.to_string())
    }

    #[test]
    fn equal_texts_come_before_contained_ones_and_patterns() {
        let lines = r#"{"tag": "pattern", "pattern": "^/a", "type": "regex"}
{"tag": "contained", "pattern": "/b/", "type": "contains"}
{"tag": "equal", "pattern": "/a/b/", "type": "equals"}"#;
        let table = table(lines).expect("a table");
        for (text, tag) in
            [("/a/b/", "equal"), ("/a/b/c", "contained"), ("/a/c", "pattern"), ("/c", "")]
        {
            assert_eq!(table.tag(text.as_bytes()), tag.as_bytes(), "{text}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (line, reason) in [
            (r#"{"tag": "a", "type": "equals"}"#, "it has no `pattern`"),
            (r#"{"tag": "a", "pattern": "b", "type": "like"}"#, "one of"),
            (r#"{"tag": "a", "pattern": "(", "type": "regex"}"#, "unclosed group"),
            ("{", "not valid YAML"),
        ] {
            let error = table(line).expect_err(line);
            assert!(error.contains(line) && error.contains(reason), "{error}");
        }
    }
}
