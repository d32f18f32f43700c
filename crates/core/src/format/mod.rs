//! Formats: how a line's bytes become a record's fields.

mod apache;
mod builder;
mod catalog;
mod delimited;
mod detect;
mod error;
mod json;
mod line_program;
mod log_reader;
mod mismatch;
mod nginx;
mod notation;
mod own;
mod parser;
mod quoted_line;
mod target;
mod wrapper;

pub use catalog::{FormatNotes, format_by_name, format_notes, known_formats};
pub use delimited::FollowedFormat;
pub use detect::{Candidate, Detection, LineMismatch, detect, fit};
pub use error::FormatError;
pub use log_reader::{LineOutcome, LogReader};
pub use mismatch::Mismatch;
pub use parser::LineParser;
pub use wrapper::Wrapper;

use crate::field::Field;
use delimited::DelimitedProgram;
use json::JsonProgram;
use line_program::LineProgram;
use own::OwnProgram;

/// A compiled log format.
#[derive(Debug, Clone)]
pub struct Format {
    name: String,
    definition: String,
    extra_fields: Vec<String>,
    fields: Vec<Field>,
    program: Program,
    /// An instant that no line is much later than, in seconds since 1970, to find the year of
    /// times that have none.
    year_reference_s: Option<i64>,
    /// What the lines stand in.
    wrapper: Option<Wrapper>,
    /// True where the time comes of the wrapper.
    takes_wrapper_time: bool,
}

#[derive(Debug, Clone)]
enum Program {
    /// Literal text and values in a fixed order.
    Line(LineProgram),
    /// A JSON object with known keys.
    Json(JsonProgram),
    /// Values with a separator between them.
    Delimited(DelimitedProgram),
    /// Lines that no definition describes.
    Own(OwnProgram),
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
    /// `spaces:time,client,cache_result/status,bytes,request_time=took(ms),_,user_agent?` reads
    /// values with spaces between them, or tabs (`tabs:`) or commas (`csv:`), in quotes or
    /// without: the fields in their order. `field=column(kind)` says what the log calls the
    /// value and how it is written: a unit of durations as above or `sum` for a part that is
    /// to be added to others, `port` for a client or host with a port, `url` for a path or
    /// request that may be a whole URL, a pattern of strftime for times. A slash stands
    /// between parts of one value, `_` is passed over, and behind `?` a line may end or go on
    /// with what is not known. `${request_time(ms)}` does the same in a log_format.
    ///
    /// `#Fields: date time c-ip cs-uri-stem sc-status`, the directive of the W3C extended log
    /// format, reads the lines that follow such a line.
    ///
    /// Behind any of these ` in SYSLOG`, ` in DOCKER` or ` in CRI` says what the lines are
    /// wrapped in, see [`Wrapper`].
    ///
    /// # Errors
    /// Where the text is none of these; the error points at the character.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        if let Some((inside, wrapper)) = Wrapper::split(text) {
            return Self::parse(inside)?.wrapped_in(wrapper).ok_or_else(|| {
                let message = format!("lines of this format do not stand in {}", wrapper.name());
                FormatError::new(text, 0, message)
            });
        }
        match format_by_name(text.trim()) {
            Some(format) => Ok(format),
            None => Self::compile(text),
        }
    }

    /// The format of the same lines wrapped, such as `COMBINED in SYSLOG`. `None` where its
    /// lines are wrapped already, and where directives stand between them.
    pub fn wrapped_in(&self, wrapper: Wrapper) -> Option<Self> {
        let has_directives = match &self.program {
            Program::Delimited(program) => program.has_directives(),
            Program::Own(program) => program.lacks_year(),
            _ => false,
        };
        if self.wrapper.is_some() || has_directives {
            return None;
        }
        let mut format = self.clone();
        format.name = format!("{} in {}", self.name, wrapper.name());
        format.wrapper = Some(wrapper);
        let own = wrapper.extra_fields().iter().map(|name| (*name).to_owned());
        format.extra_fields.extend(own);
        if wrapper.has_time() && !self.fills(Field::Time) {
            format.takes_wrapper_time = true;
            format.fields.push(Field::Time);
        }
        Some(format)
    }

    /// Compiles a definition, by the notation it is in.
    fn compile(text: &str) -> Result<Self, FormatError> {
        let trimmed = text.trim();
        if trimmed.starts_with(json::PREFIX) {
            return json::compile(text);
        }
        if delimited::is_definition(trimmed) {
            return delimited::compile(text);
        }
        if delimited::is_directives(trimmed) {
            return delimited::compile_w3c(text);
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

    /// What the format's lines are wrapped in.
    pub fn wrapper(&self) -> Option<Wrapper> {
        self.wrapper
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
            Program::Delimited(program) => program.has_target(),
            Program::Own(program) => program.has_target(),
        }
    }

    /// The same format, for a log of which nothing is much later than `unix_s`, in seconds
    /// since 1970. Times without a year, as syslog writes them, are taken for the last ones
    /// that are at most a day later. Without this they are taken for times of 1972, a leap year
    /// that nobody takes for a log's.
    pub fn with_year_reference(mut self, unix_s: i64) -> Self {
        self.year_reference_s = Some(unix_s);
        self
    }

    /// See [`Self::with_year_reference`].
    pub fn year_reference(&self) -> Option<i64> {
        self.year_reference_s
    }

    /// True where times lack their year; see [`Self::with_year_reference`].
    pub fn lacks_year(&self) -> bool {
        self.takes_wrapper_time
            || matches!(&self.program, Program::Own(program) if program.lacks_year())
    }

    /// The same format under a name of the user's choice.
    pub fn with_name(self, name: &str) -> Self {
        self.named(name)
    }

    /// Calls one of the format's own fields otherwise. False where it has none of that name, and
    /// where the new name is that of another field.
    pub fn rename_field(&mut self, from: &str, to: &str) -> bool {
        let is_taken =
            Field::by_name(to).is_some() || self.extra_fields.iter().any(|name| name == to);
        match self.extra_fields.iter_mut().find(|name| *name == from) {
            Some(name) if !is_taken => {
                to.clone_into(name);
                true
            }
            _ => false,
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
