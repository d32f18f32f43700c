//! Formats: how a line's bytes become a record's fields.

mod apache;
mod builder;
mod catalog;
mod detect;
mod error;
mod json;
mod line_program;
mod mismatch;
mod nginx;
mod parser;
mod quoted_line;
mod target;

pub use catalog::{format_by_name, known_formats};
pub use detect::{Candidate, Detection, LineMismatch, detect};
pub use error::FormatError;
pub use mismatch::Mismatch;
pub use parser::LineParser;

use crate::field::Field;
use json::JsonProgram;
use line_program::LineProgram;

/// A compiled log format.
#[derive(Debug, Clone)]
pub struct Format {
    name: String,
    definition: String,
    extra_fields: Vec<String>,
    fields: Vec<Field>,
    program: Program,
}

#[derive(Debug, Clone)]
enum Program {
    /// Literal text and values in a fixed order.
    Line(LineProgram),
    /// A JSON object with known keys.
    Json(JsonProgram),
}

impl Format {
    /// Compiles what a user gives: the name of a known format, an nginx `log_format` as it
    /// stands in nginx.conf (the whole directive, its quoted strings, or the bare text),
    /// an Apache `LogFormat` (likewise), or `json:` and the keys of a JSON line's fields.
    ///
    /// `json:time=ts,client=ip|addr,status=code!,request_time=took(ms),trace=headers.Trace`
    /// reads lines that are JSON objects: a field's name, `=` and its key, whose letters
    /// have no case; a point leads into an object, and the first element of an array stands
    /// for it. Alternative keys are separated by `|`, and the first that the line has
    /// counts. A line fits where it has the time, every field marked with `!`, and a status
    /// or a request line where the definition has them. Durations are in seconds, or in the
    /// unit in parentheses (`s`, `ms`, `us`, `ns`), or texts with a unit (`1.5ms`). A name
    /// that is no [`Field`]'s becomes a text field of the format's own.
    ///
    /// # Errors
    /// Where the text is none of these; the error points at the character.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        match format_by_name(text.trim()) {
            Some(format) => Ok(format),
            None => Self::compile(text),
        }
    }

    /// Compiles a definition, by the notation it is in.
    fn compile(text: &str) -> Result<Self, FormatError> {
        let trimmed = text.trim();
        if trimmed.starts_with(json::PREFIX) {
            return json::compile(text);
        }
        if apache::is_directive(trimmed) {
            return apache::compile(text);
        }
        if trimmed.starts_with("log_format") || has_variable(trimmed) {
            return nginx::compile(text);
        }
        if trimmed.contains('%') {
            return apache::compile(text);
        }
        if trimmed.contains('$') {
            return nginx::compile(text);
        }
        Err(FormatError::unknown(text))
    }

    /// A known name, or `custom`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the format was compiled from.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// The names of the text fields that the format has beyond [`Field`].
    pub fn extra_fields(&self) -> &[String] {
        &self.extra_fields
    }

    /// The known fields that the format fills.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// True where the format fills `field`.
    pub fn fills(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    /// True where path and query come of one value, the request's target, in every line.
    pub(crate) fn has_target(&self) -> bool {
        match &self.program {
            Program::Line(program) => program.has_target(),
            Program::Json(_) => false,
        }
    }

    fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }
}

/// True where nginx would see a variable.
fn has_variable(text: &str) -> bool {
    let starts_name = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'{' | b'_');
    text.as_bytes().windows(2).any(|pair| pair[0] == b'$' && starts_name(&pair[1]))
}
