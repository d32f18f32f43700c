//! Builds a program from the literal texts and values of a definition. All notations use it.
//!
//! # Fields
//!
//! Each field is filled by one value, except the time and a request time in phases, which several
//! values may fill together. A value whose field is taken becomes an extra field, with a number
//! after its name if the name is taken too. Parts of a time that together are no instant, such as
//! an hour alone, become extra fields: a record must not have half a time.

use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::own_names::unique_name;
use crate::format::program::Program;
use crate::format::program::json::JsonProgram;
use crate::format::program::line_program::{End, LineProgram, Shape, Value};
use crate::format::program::request_end::RequestEnd;
use crate::format::program::sink::Sink;
use crate::value::{TimeContent, TimeKind};

/// The name of a skipped value after the end of a format, where a line may have more text.
pub(super) const THE_REST: &str = "the rest";

/// The number of values that a format may have: each becomes a column, and servers log a few
/// dozen.
const VALUES_MAX: usize = 256;

/// Collects the pieces of a definition in order.
///
/// A notation reports literal texts and values as it meets them. The builder then decides what no
/// notation can decide by itself: where a value ends, which depends on the text after it; which of
/// several values fills a field; and whether the parts of a time make an instant.
///
/// A field is filled once. A second value for it, in any form, becomes an extra field under its
/// own name.
#[derive(Debug)]
pub(super) struct FormatBuilder<'a> {
    definition: &'a str,
    /// Whether the server escapes quotes inside values.
    quotes_are_escaped: bool,
    pieces: Vec<Piece>,
    extra_fields: Vec<String>,
    /// The fields that are filled.
    fields: Vec<Field>,
    /// The parts of the time that are known without the values.
    known_time: TimeContent,
}

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Value(Variable),
    /// The end of a program; the next piece begins another one.
    Break,
}

/// A value of a line, as the definition describes it.
#[derive(Debug)]
pub(in crate::format) struct Variable {
    pub(in crate::format) sink: Sink,
    /// Of several values for one field, the one with the lowest rank fills it, then the first.
    pub(super) rank: u8,
    /// The name in the definition, such as `$status` or `%>s`.
    pub(super) name: String,
    /// The name of the extra field if it becomes one.
    pub(in crate::format) field_name: String,
    /// The offset in the definition.
    pub(super) at: usize,
}

impl<'a> FormatBuilder<'a> {
    /// A builder for `definition`, without pieces.
    pub(super) fn new(definition: &'a str, quotes_are_escaped: bool) -> Self {
        Self {
            definition,
            quotes_are_escaped,
            pieces: Vec::new(),
            extra_fields: Vec::new(),
            fields: Vec::new(),
            known_time: TimeContent::default(),
        }
    }

    /// Adds literal text.
    pub(super) fn text(&mut self, text: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
    }

    /// Adds a value.
    pub(super) fn value(&mut self, variable: Variable) {
        self.pieces.push(Piece::Value(variable));
    }

    /// The variable of a definition that is nothing else.
    pub(super) fn only_variable(self) -> Option<Variable> {
        let [piece] = <[Piece; 1]>::try_from(self.pieces).ok()?;
        match piece {
            Piece::Value(variable) => Some(variable),
            Piece::Text(_) | Piece::Break => None,
        }
    }

    /// Ends a program of a JSON format, which has one program per key.
    pub(super) fn end_program(&mut self) {
        self.pieces.push(Piece::Break);
    }

    /// The compiled format of lines of text.
    pub(super) fn finish(mut self) -> Result<Format, FormatError> {
        self.check_length()?;
        self.trim_line_end();
        self.assign();
        self.demote_partial_times();
        let program = Program::Line(self.program(&self.pieces)?);
        Ok(self.format(program))
    }

    /// The compiled format of JSON lines.
    pub(super) fn finish_json(
        mut self,
        make: impl FnOnce(Vec<LineProgram>) -> JsonProgram,
    ) -> Result<Format, FormatError> {
        self.check_length()?;
        self.assign();
        let mut programs = self.pieces.split(|piece| matches!(piece, Piece::Break));
        let programs: Result<Vec<_>, _> = programs
            .by_ref()
            .filter(|pieces| !pieces.is_empty())
            .map(|pieces| self.program(pieces))
            .collect();
        let program = Program::Json(make(programs?));
        Ok(self.format(program))
    }

    /// The compiled format of a program that `make` builds from the values.
    pub(super) fn finish_values(
        mut self,
        make: impl FnOnce(Vec<Variable>) -> Program,
    ) -> Result<Format, FormatError> {
        self.check_length()?;
        self.assign();
        self.demote_partial_times();
        let values = std::mem::take(&mut self.pieces).into_iter().filter_map(|piece| match piece {
            Piece::Value(variable) => Some(variable),
            _ => None,
        });
        let program = make(values.collect());
        Ok(self.format(program))
    }

    /// Declares that lines have a date that is not among their values.
    pub(super) fn set_date_known(&mut self) {
        self.known_time.day = true;
    }

    /// The format of a program, with the fields assigned so far.
    fn format(self, program: Program) -> Format {
        let mut fields = self.fields;
        fields.sort_unstable();
        Format::new(self.definition, fields, self.extra_fields, program)
    }

    /// Refuses a definition with more than [`VALUES_MAX`] values.
    fn check_length(&self) -> Result<(), FormatError> {
        let mut values = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(variable) => Some(variable),
            _ => None,
        });
        values.nth(VALUES_MAX).map_or(Ok(()), |variable| {
            let message = format!("the format has more than {VALUES_MAX} values; remove some");
            Err(FormatError::new(self.definition, variable.at, message))
        })
    }

    /// Removes a line end at the end of the definition, which is not part of the line.
    fn trim_line_end(&mut self) {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            while text.pop_if(|byte| matches!(byte, b'\r' | b'\n')).is_some() {}
            if text.is_empty() {
                self.pieces.pop();
            }
        }
    }

    /// Assigns each value a field or an extra field.
    fn assign(&mut self) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut variables: Vec<&mut Variable> = pieces
            .iter_mut()
            .filter_map(|piece| match piece {
                Piece::Value(variable) => Some(variable),
                _ => None,
            })
            .collect();
        // The sort is stable.
        let mut by_rank: Vec<&mut Variable> = variables.iter_mut().map(|one| &mut **one).collect();
        by_rank.sort_by_key(|variable| variable.rank);
        for variable in by_rank {
            self.fill_fields(variable);
        }
        let mut has_host = false;
        for variable in variables {
            match &mut variable.sink {
                Sink::Extra(index)
                | Sink::Number(index)
                | Sink::Word(index)
                | Sink::Hexadecimal(index) => {
                    *index = self.extra_field(&variable.field_name);
                }
                Sink::HostAndPort { port } => *port = self.extra_field("port"),
                Sink::ForwardedFor { extra } => *extra = self.extra_field(&variable.field_name),
                Sink::ClientAndPort { port } => *port = self.extra_field("client_port"),
                // Otherwise `host - - [...]` would be a host and a client named `-`.
                sink @ Sink::Client if has_host => *sink = Sink::ClientAfterHost,
                _ => {}
            }
            has_host |= variable.sink.fields() == [Field::Host];
        }
        self.pieces = pieces;
    }

    /// Assigns the variable its fields, or makes it an extra field if one of them is taken.
    fn fill_fields(&mut self, variable: &mut Variable) {
        let fields = variable.sink.fields();
        let is_taken = |field: &Field| self.fields.contains(field);
        if !variable.sink.is_part() && fields.iter().any(is_taken) {
            variable.sink = Sink::Extra(0);
            return;
        }
        for field in fields {
            if !self.fields.contains(field) {
                self.fields.push(*field);
            }
        }
    }

    /// Adds an extra field with this name, or with a number after it if the name is taken. Returns
    /// its index.
    fn extra_field(&mut self, name: &str) -> usize {
        // The alias of a known field is not allowed either: a filter would use that field.
        self.extra_fields.push(unique_name(name, &self.extra_fields));
        self.extra_fields.len() - 1
    }

    /// Turns parts of a time that do not determine an instant, such as an hour alone, into extra
    /// fields.
    fn demote_partial_times(&mut self) {
        let mut content = self.known_time;
        for piece in &self.pieces {
            if let Piece::Value(variable) = piece {
                content = content.and(variable.sink.time_content());
            }
        }
        if content.is_instant() || !self.fields.contains(&Field::Time) {
            return;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        for piece in &mut pieces {
            if let Piece::Value(variable) = piece
                && variable.sink.fields() == [Field::Time]
            {
                variable.sink = Sink::Extra(self.extra_field("time_part"));
            }
        }
        self.pieces = pieces;
        self.fields.retain(|field| *field != Field::Time);
    }

    /// The program of the pieces between two breaks.
    fn program(&self, pieces: &[Piece]) -> Result<LineProgram, FormatError> {
        let (prefix, rest) = match pieces.split_first() {
            Some((Piece::Text(text), rest)) => (text.clone(), rest),
            _ => (Vec::new(), pieces),
        };
        let mut values = Vec::new();
        for (index, piece) in rest.iter().enumerate() {
            if let Piece::Value(variable) = piece {
                values.push(self.bounded(variable, &rest[index + 1..])?);
            }
        }
        if values.is_empty() {
            let message = "the format has no variable; name at least one, such as $status or %>s";
            return Err(FormatError::new(self.definition, 0, message));
        }
        Ok(LineProgram::new(prefix, values))
    }

    /// A value with its end, which the pieces after it determine.
    fn bounded(&self, variable: &Variable, after: &[Piece]) -> Result<Value, FormatError> {
        let (sink, name) = (variable.sink.clone(), variable.name.clone());
        let text: &[u8] = match after.first() {
            None | Some(Piece::Break) => b"",
            Some(Piece::Text(text)) => text,
            Some(Piece::Value(next)) => {
                let end = self.end_before(variable, next, after)?;
                return Ok(Value { sink, end, name });
            }
        };
        let is_quoted = self.quotes_are_escaped && text.starts_with(b"\"");
        // The quotes show where the user ends.
        let sink = match sink {
            Sink::User if is_quoted => Sink::Text(Field::User),
            sink => sink,
        };
        let end = match after.get(1) {
            Some(Piece::Value(next)) if !is_quoted && next.sink == Sink::Time(TimeKind::Clf) => {
                End::TextBeforeTime(text.into())
            }
            // A quote in the request line does not end it if it is not escaped.
            Some(Piece::Value(next))
                if !is_quoted && text.starts_with(b"\"") && next.sink == Sink::Status =>
            {
                End::TextBeforeStatus(text.into())
            }
            // Nor does one in a text; what follows the text is not a client's.
            Some(Piece::Value(next))
                if !is_quoted
                    && text.starts_with(b"\"")
                    && matches!(next.sink, Sink::Number(_)) =>
            {
                End::TextBeforeNumber(text.into())
            }
            _ if sink == Sink::RequestLine
                && let Some(end) =
                    RequestEnd::before(text, texts_behind(after), is_status(after.get(1))) =>
            {
                End::Request(end)
            }
            _ if is_quoted => return Ok(Value::new(sink, name, Shape::Quoted, text)),
            _ => return Ok(Value::new(sink, name, variable.shape(), text)),
        };
        Ok(Value { sink, end, name })
    }

    /// The end of a value that another value follows without text in between.
    fn end_before(
        &self,
        variable: &Variable,
        next: &Variable,
        after: &[Piece],
    ) -> Result<End, FormatError> {
        let closing = after.iter().find_map(|piece| match piece {
            Piece::Text(text) => Some(text.clone().into_boxed_slice()),
            Piece::Value(_) | Piece::Break => None,
        });
        let closing = closing.unwrap_or_default();
        // Two values with nothing between them can be separated only if the length of the first
        // is known, or if the second starts with a byte that the first cannot contain.
        Ok(match (variable.name.as_str(), next.name.as_str()) {
            ("$is_args", _) => End::QuestionMark,
            ("%~", _) => End::Spaces,
            (name, THE_REST) if !matches!(name, "%d" | "%t" | "%x") => End::FirstWord,
            (_, "$is_args" | "%q") => End::Before(b'?', closing),
            (_, "$request_uri" | "$uri" | "$document_uri" | "%U") => End::Before(b'/', closing),
            (name, next) => End::of_known_length(&variable.sink).ok_or_else(|| {
                let message = format!(
                    "nothing separates {name} from {next}; write a space or another text in between"
                );
                FormatError::new(self.definition, variable.at, message)
            })?,
        })
    }
}

fn is_status(piece: Option<&Piece>) -> bool {
    matches!(piece, Some(Piece::Value(value)) if value.sink == Sink::Status)
}

/// The texts between the values behind the first of some pieces.
fn texts_behind(pieces: &[Piece]) -> impl Iterator<Item = &[u8]> + Clone {
    let pieces = pieces.iter().take_while(|piece| !matches!(piece, Piece::Break)).skip(1);
    pieces.filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_slice()),
        Piece::Value(_) | Piece::Break => None,
    })
}

impl Variable {
    /// The shape of the value if no quotes are around it. nginx logs a list for several upstreams,
    /// and proxies append themselves to `X-Forwarded-For`.
    fn shape(&self) -> Shape {
        const SINGLE: [&str; 4] = ["http_", "cookie_", "trailer_", "cache_"];
        const WORDS: [&str; 6] =
            ["host", "server_name", "request_method", "server_protocol", "scheme", "gzip_ratio"];
        let name = self.field_name.as_str();
        let upstream = name.strip_prefix("upstream_");
        let is_upstream =
            upstream.is_some_and(|rest| !SINGLE.iter().any(|prefix| rest.starts_with(prefix)));
        let is_header = matches!(name, "http_x_forwarded_for" | "proxy_add_x_forwarded_for");
        if self.sink.is_client() || is_upstream || is_header {
            Shape::List
        } else if self.sink.is_word() || WORDS.contains(&name) {
            Shape::Word
        } else {
            Shape::Text
        }
    }
}
