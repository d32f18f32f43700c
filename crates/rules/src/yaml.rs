//! Parses YAML documents and keeps the position of every value.
//!
//! Only mappings, sequences and scalars are supported, as configurations use them. Aliases are refused,
//! so a text cannot grow when it is parsed.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::error::RuleError;

/// The deepest nesting of values.
const DEPTH_MAX: usize = 32;

/// A value with its position in the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Yaml {
    pub(crate) value: YamlValue,
    pub(crate) range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum YamlValue {
    Scalar(String),
    Sequence(Vec<Yaml>),
    /// Keys and values, in the order of the text.
    Mapping(Vec<(Yaml, Yaml)>),
}

impl Yaml {
    /// The text of a scalar.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key of a mapping.
    pub(crate) fn member(&self, key: &str) -> Option<&Self> {
        let YamlValue::Mapping(pairs) = &self.value else { return None };
        pairs.iter().find(|(name, _)| name.scalar() == Some(key)).map(|(_, value)| value)
    }

    /// The values of a sequence; none of another value.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            YamlValue::Sequence(items) => items,
            _ => &[],
        }
    }

    /// Converts a range in the scalar to a range in the file's text.
    ///
    /// A scalar lacks the indentation, quotes and escapes of the text, so its bytes are searched
    /// for in order.
    pub(crate) fn place(&self, text: &str, range: &Range<usize>) -> Range<usize> {
        let source = text.get(self.range.clone()).unwrap_or_default().as_bytes();
        let scalar = self.scalar().unwrap_or_default().as_bytes();
        let is_block = source.first().is_some_and(|byte| matches!(byte, b'|' | b'>'));
        let header = source.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut at = if is_block { header } else { 0 };
        let (mut start, mut end) = (None, None);
        for (position, byte) in scalar.iter().enumerate() {
            let found = source[at.min(source.len())..].iter().position(|other| other == byte);
            at += found.unwrap_or(0);
            if position == range.start {
                start = Some(at);
            }
            if position < range.end {
                end = Some(at + 1);
            }
            at += 1;
        }
        let start = start.unwrap_or(source.len()).min(source.len());
        let end = end.unwrap_or(start).clamp(start, source.len());
        self.range.start + start..self.range.start + end
    }
}

/// Parses the documents of a text; empty ones are skipped.
///
/// # Errors
/// If it is not YAML.
pub(crate) fn documents(text: &str) -> Result<Vec<Yaml>, RuleError> {
    let offsets = Offsets::new(text);
    let mut documents = Vec::new();
    // The open mappings and sequences, with the values read so far. A mapping's values alternate
    // between keys and values.
    let mut open: Vec<(bool, Range<usize>, Vec<Yaml>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = offsets.byte(error.marker().index());
            let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
            RuleError::new(at..end, format_args!("this is not valid YAML: {}", error.info()))
        })?;
        let range = offsets.byte(span.start.index())..offsets.byte(span.end.index());
        let value = match event {
            Event::Scalar(scalar, style, ..) => {
                let is_empty = style == ScalarStyle::Plain && scalar.is_empty();
                let is_document = open.is_empty();
                if is_empty && is_document {
                    continue;
                }
                Yaml { value: YamlValue::Scalar(scalar.into_owned()), range }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= DEPTH_MAX {
                    let message = format!("more than {DEPTH_MAX} values lie in each other");
                    return Err(RuleError::new(range, message));
                }
                open.push((matches!(event, Event::MappingStart(..)), range, Vec::new()));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some((is_mapping, start, values)) = open.pop() else { continue };
                let range = start.start..range.end.max(start.end);
                let value = if is_mapping {
                    YamlValue::Mapping(pairs(values))
                } else {
                    YamlValue::Sequence(values)
                };
                Yaml { value, range }
            }
            Event::Alias(_) => {
                let message = "an alias is not supported; write its value in its place";
                return Err(RuleError::new(range, message));
            }
            _ => continue,
        };
        match open.last_mut() {
            Some((_, _, values)) => values.push(value),
            None => documents.push(value),
        }
    }
    Ok(documents)
}

fn pairs(values: Vec<Yaml>) -> Vec<(Yaml, Yaml)> {
    let mut pairs = Vec::new();
    let mut values = values.into_iter();
    while let (Some(key), Some(value)) = (values.next(), values.next()) {
        pairs.push((key, value));
    }
    pairs
}

/// The byte offsets of characters.
struct Offsets {
    /// Empty if the text is ASCII.
    bytes: Vec<usize>,
    length: usize,
}

impl Offsets {
    fn new(text: &str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(at, _)| at).collect()
        };
        Self { bytes, length: text.len() }
    }

    fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            character.min(self.length)
        } else {
            self.bytes.get(character).copied().unwrap_or(self.length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{YamlValue, documents};

    #[test]
    fn values_have_their_places() {
        let text = "é: x\n---\na: 'it''s'\nb: |\n  one\n    two\nc: [\"d\\\"e\"]\n";
        let documents = documents(text).expect("two documents");
        assert_eq!(documents.len(), 2);
        let YamlValue::Mapping(pairs) = &documents[1].value else { panic!("a mapping") };
        let shown: Vec<_> = pairs.iter().map(|(_, value)| &text[value.range.clone()]).collect();
        assert!(shown[0] == "'it''s'" && shown[1].contains("one"), "{shown:?}");
        let scalar = &pairs[0].1;
        assert_eq!(scalar.scalar(), Some("it's"));
        assert_eq!(&text[scalar.place(text, &(0..2))], "it");
        let block = &pairs[1].1;
        let at = block.scalar().expect("a text").find("two").expect("the word");
        assert_eq!(&text[block.place(text, &(at..at + 3))], "two");
        let YamlValue::Sequence(items) = &pairs[2].1.value else { panic!("a sequence") };
        assert_eq!(&text[items[0].place(text, &(2..3))], "e");
    }

    #[test]
    fn what_is_not_yaml_is_refused() {
        for text in ["a: [", "a: &x 1\nb: *x\n", "a: b: c"] {
            let error = documents(text).expect_err(text);
            assert!(error.range.end <= text.len(), "{text}");
        }
        let deep = "[".repeat(100);
        assert!(documents(&deep).expect_err("too deep").message.contains("in each other"));
        assert_eq!(documents("# nothing\n---\n"), Ok(Vec::new()));
    }
}
