//! A text of a format that is a JSON object: an nginx `log_format` with `escape=json`, or one of
//! GoAccess. Its lines are read by key, so order and spacing do not matter.
//!
//! The text of the format is read as JSON in which some values have variables:
//!
//! ```text
//! {"time":"$time_iso8601","request":{"path":"$uri","status":$status}}
//! path      time             request.path    request.status
//! variable  $time_iso8601    $uri            $status
//! ```
//!
//! A format whose lines may not be valid JSON, for instance because a variable without quotes may
//! be empty, is compiled as literal text and values instead. So is one with a key twice.

use std::ops::Range;

use super::builder::FormatBuilder;
use super::positioned::Positioned;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::json::{JsonProgram, KeyEntry, Reading};
use crate::format::program::line_program::{End, LineProgram};

/// How the values of a text are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueNotation {
    /// The byte with which a variable begins.
    pub(super) sign: u8,
    /// Whether a variable is a number in every line, and so is valid JSON without quotes.
    pub(super) is_number: fn(&[u8]) -> bool,
}

/// Compiles the text of the format. `add` adds a value with variables to the builder. Returns
/// `None` if some lines may not be JSON objects.
pub(super) fn compile<'d>(
    text: &[Positioned],
    notation: ValueNotation,
    mut builder: FormatBuilder<'d>,
    mut add: impl FnMut(&[Positioned], &mut FormatBuilder<'d>) -> Result<(), FormatError>,
) -> Result<Option<Format>, FormatError> {
    let Some(leaves) = Template::leaves(text, notation) else { return Ok(None) };
    let mut paths: Vec<String> = Vec::new();
    for Leaf { path, range } in leaves {
        if paths.iter().any(|other| other.eq_ignore_ascii_case(&path)) {
            return Ok(None);
        }
        add(&text[range], &mut builder)?;
        builder.end_program();
        paths.push(path);
    }
    let entry = |(group, (path, program)): (usize, (String, LineProgram))| KeyEntry {
        path,
        group,
        reading: reading(program),
    };
    let make = |programs| {
        let entries = paths.into_iter().zip::<Vec<LineProgram>>(programs).enumerate().map(entry);
        JsonProgram::new(entries.collect(), Vec::new(), false)
    };
    builder.finish_json(make).map(Some)
}

/// How to read a value: a program of one variable is replaced by its sink.
fn reading(program: LineProgram) -> Reading {
    match &program.values[..] {
        [value] if program.prefix.is_empty() && value.end == End::Line => {
            Reading::Whole(value.sink.clone())
        }
        _ => Reading::Parts(Box::new(program)),
    }
}

/// A value of the template that has a variable.
struct Leaf {
    path: String,
    range: Range<usize>,
}

/// A reader of the text of a format as a JSON object.
///
/// The methods return `None` as soon as the text cannot be read as JSON.
struct Template<'a> {
    text: &'a [Positioned],
    notation: ValueNotation,
    at: usize,
    leaves: Vec<Leaf>,
}

impl<'a> Template<'a> {
    /// The values with variables. Returns `None` if the text with values in place of the
    /// variables is not a JSON object.
    fn leaves(text: &'a [Positioned], notation: ValueNotation) -> Option<Vec<Leaf>> {
        let mut template = Self { text, notation, at: 0, leaves: Vec::new() };
        if template.peek_token()? != b'{' {
            return None;
        }
        template.value("")?;
        if template.peek_token().is_some() || template.leaves.is_empty() {
            return None;
        }
        Some(template.leaves)
    }

    /// The next byte; `None` at the end.
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).map(|(byte, _)| *byte)
    }

    /// Skips spaces and returns the byte after them, without consuming it.
    fn peek_token(&mut self) -> Option<u8> {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.peek()
    }

    /// Reads the value at `path` and collects its leaves.
    fn value(&mut self, path: &str) -> Option<()> {
        match self.peek_token()? {
            b'{' => self.items(b'}', |template, _| {
                let key = template.key()?;
                let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                template.value(&path)
            }),
            b'[' => self.items(b']', |template, index| {
                let leaves = template.leaves.len();
                template.value(path)?;
                // Only the first element of an array is read, so no other may have a variable.
                (index == 0 || template.leaves.len() == leaves).then_some(())
            }),
            b'"' => {
                let range = self.string()?;
                self.add_leaf(path, range);
                Some(())
            }
            _ => self.bare(path),
        }
    }

    /// Reads the items between brackets, separated by commas.
    fn items(&mut self, close: u8, item: impl Fn(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.peek_token()? == close {
            self.at += 1;
            return Some(());
        }
        for index in 0.. {
            item(self, index)?;
            let byte = self.peek_token()?;
            self.at += 1;
            match byte {
                b',' => {}
                byte if byte == close => return Some(()),
                _ => return None,
            }
        }
        None
    }

    /// Reads a key and the colon after it. A key must not contain a variable.
    fn key(&mut self) -> Option<String> {
        if self.peek_token()? != b'"' {
            return None;
        }
        let range = self.string()?;
        if self.peek_token()? != b':' {
            return None;
        }
        self.at += 1;
        let key = self.bytes(&range);
        (!key.contains(&self.notation.sign)).then(|| String::from_utf8(key).ok())?
    }

    /// Reads a string and returns the range between its quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        self.at = start;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(start..self.at - 1);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// Reads a value without quotes: a constant, or one variable that is a number.
    fn bare(&mut self, path: &str) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| !b",}] \t\r\n".contains(&byte)) {
            self.at += 1;
        }
        let text = self.bytes(&(start..self.at));
        let is_constant = !text.is_empty() && !text.contains(&self.notation.sign);
        let is_number = (self.notation.is_number)(&text);
        self.add_leaf(path, start..self.at);
        (is_constant || is_number).then_some(())
    }

    /// The bytes of a range, without their offsets in the definition.
    fn bytes(&self, range: &Range<usize>) -> Vec<u8> {
        self.text[range.clone()].iter().map(|(byte, _)| *byte).collect()
    }

    /// Adds the value at `path` if it has a variable.
    fn add_leaf(&mut self, path: &str, range: Range<usize>) {
        if self.text[range.clone()].iter().any(|(byte, _)| *byte == self.notation.sign) {
            self.leaves.push(Leaf { path: path.to_owned(), range });
        }
    }
}
