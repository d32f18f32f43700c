//! Builds a line program out of literal text and values, whatever notation they came in.

use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::Program;
use crate::format::program::json::JsonProgram;
use crate::format::program::line_program::{End, LineProgram, Value};
use crate::format::program::sink::Sink;
use crate::value::{TimeContent, TimeKind};

/// Values that a format may have: each becomes a column, and servers log a few dozen.
const VALUES_MAX: usize = 256;

/// Collects the pieces of a definition in order.
///
/// A field is filled once: what is logged a second time, in whatever form, is kept as text
/// under its own name.
#[derive(Debug)]
pub(super) struct FormatBuilder<'a> {
    definition: &'a str,
    /// Whether the server escapes quotes inside values.
    quotes_are_escaped: bool,
    pieces: Vec<Piece>,
    extra_fields: Vec<String>,
    /// Fields that some value fills.
    fields: Vec<Field>,
    /// What is known of the time besides the values.
    known_time: TimeContent,
}

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Value(Variable),
    /// Here a program ends and the next one starts.
    Break,
}

/// A value of a line as its definition names it.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) sink: Sink,
    /// Which of several values for one field fills it: the lowest, then the first.
    pub(super) rank: u8,
    /// As the user writes it.
    pub(super) name: String,
    /// What the field is called where it becomes one of the format's own.
    pub(super) field_name: String,
    /// Where it stands in the definition.
    pub(super) at: usize,
}

impl<'a> FormatBuilder<'a> {
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

    /// Ends a program of a JSON format, which has one for each key.
    pub(super) fn end_program(&mut self) {
        self.pieces.push(Piece::Break);
    }

    /// The compiled format of lines that are text, named `custom`.
    pub(super) fn finish(mut self) -> Result<Format, FormatError> {
        self.check_length()?;
        self.trim_line_end();
        self.assign();
        self.keep_times_that_tell();
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

    /// The compiled format of values that `make` puts into a program.
    pub(super) fn finish_values(
        mut self,
        make: impl FnOnce(Vec<Variable>) -> Program,
    ) -> Result<Format, FormatError> {
        self.check_length()?;
        self.assign();
        self.keep_times_that_tell();
        let values = std::mem::take(&mut self.pieces).into_iter().filter_map(|piece| match piece {
            Piece::Value(variable) => Some(variable),
            _ => None,
        });
        let program = make(values.collect());
        Ok(self.format(program))
    }

    /// Says that lines have a date that is not among their values.
    pub(super) fn know_date(&mut self) {
        self.known_time.day = true;
    }

    fn format(self, program: Program) -> Format {
        let mut fields = self.fields;
        fields.sort_unstable();
        Format::new(self.definition, fields, self.extra_fields, program)
    }

    fn check_length(&self) -> Result<(), FormatError> {
        let mut values = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value(variable) => Some(variable),
            _ => None,
        });
        values.nth(VALUES_MAX).map_or(Ok(()), |variable| {
            let message = format!("a format may have {VALUES_MAX} values, and this is one more");
            Err(FormatError::new(self.definition, variable.at, message))
        })
    }

    /// A line end at the end of the format is no part of the line.
    fn trim_line_end(&mut self) {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            while text.pop_if(|byte| matches!(byte, b'\r' | b'\n')).is_some() {}
            if text.is_empty() {
                self.pieces.pop();
            }
        }
    }

    /// Finds each value its place in the record.
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
        let mut host_is_known = false;
        for variable in variables {
            match &mut variable.sink {
                Sink::Extra(index) => *index = self.extra_field(&variable.field_name),
                Sink::HostAndPort { port } => *port = self.extra_field("port"),
                Sink::ClientAndPort { port } => *port = self.extra_field("client_port"),
                // Otherwise `host - - [...]` would read as a client named `-` behind a host.
                sink @ Sink::Client if host_is_known => *sink = Sink::ClientBehindHost,
                _ => {}
            }
            host_is_known |= variable.sink.fields() == [Field::Host];
        }
        self.pieces = pieces;
    }

    /// Gives the variable its fields, or makes it a field of the format's own where they
    /// are taken.
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

    fn extra_field(&mut self, name: &str) -> usize {
        let mut unique = name.to_owned();
        let mut number = 2;
        // Nor may it be another name of a known field: a filter would mean that one.
        while self.extra_fields.contains(&unique) || Field::by_name(&unique).is_some() {
            unique = format!("{name}_{number}");
            number += 1;
        }
        self.extra_fields.push(unique);
        self.extra_fields.len() - 1
    }

    /// Parts of a time that make no instant together, such as an hour alone, are kept as
    /// text.
    fn keep_times_that_tell(&mut self) {
        let mut says = self.known_time;
        for piece in &self.pieces {
            if let Piece::Value(variable) = piece {
                says = says.and(variable.sink.time_content());
            }
        }
        if says.is_instant() || !self.fields.contains(&Field::Time) {
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

    fn program(&self, pieces: &[Piece]) -> Result<LineProgram, FormatError> {
        let (prefix, rest) = match pieces.split_first() {
            Some((Piece::Text(text), rest)) => (text.clone(), rest),
            _ => (Vec::new(), pieces),
        };
        let mut values = Vec::new();
        let mut quotes = count_quotes(&prefix);
        for (index, piece) in rest.iter().enumerate() {
            match piece {
                Piece::Text(text) => quotes += count_quotes(text),
                Piece::Value(variable) => {
                    let in_quotes = quotes % 2 == 1 && self.quotes_are_escaped;
                    values.push(self.bounded(variable, in_quotes, &rest[index + 1..])?);
                }
                Piece::Break => {}
            }
        }
        if values.is_empty() {
            let message = "there is no variable in it, so it says nothing about a line";
            return Err(FormatError::new(self.definition, 0, message));
        }
        Ok(LineProgram { prefix: prefix.into(), values })
    }

    /// A value with its end, which the pieces behind it decide.
    fn bounded(
        &self,
        variable: &Variable,
        in_quotes: bool,
        behind: &[Piece],
    ) -> Result<Value, FormatError> {
        let (sink, name) = (variable.sink.clone(), variable.name.clone());
        match behind.first() {
            None | Some(Piece::Break) => Ok(Value::new(sink, name, in_quotes, b"")),
            Some(Piece::Text(text)) if !in_quotes && precedes_time(behind) => {
                Ok(Value { sink, end: End::TextBeforeTime(text.clone().into()), name })
            }
            Some(Piece::Text(text)) => Ok(Value::new(sink, name, in_quotes, text)),
            Some(Piece::Value(next)) => {
                let end = self.end_before(variable, next, behind)?;
                Ok(Value { sink, end, name })
            }
        }
    }

    /// Where a value ends that another one follows directly.
    fn end_before(
        &self,
        variable: &Variable,
        next: &Variable,
        behind: &[Piece],
    ) -> Result<End, FormatError> {
        let closing = behind.iter().find_map(|piece| match piece {
            Piece::Text(text) => Some(text.clone().into_boxed_slice()),
            Piece::Value(_) | Piece::Break => None,
        });
        let closing = closing.unwrap_or_default();
        // Two values with nothing between them can be told apart only where the first says
        // itself how long it is, or the second starts with a byte that the first cannot
        // hold.
        Ok(match (variable.name.as_str(), next.name.as_str()) {
            ("$is_args", _) => End::QuestionMark,
            (_, "$is_args" | "%q") => End::Before(b'?', closing),
            (_, "$request_uri" | "$uri" | "$document_uri" | "%U") => End::Before(b'/', closing),
            (name, next) => End::of_known_length(&variable.sink).ok_or_else(|| {
                let message = format!(
                    "nothing separates {name} from {next}, so it cannot be told where one ends"
                );
                FormatError::new(self.definition, variable.at, message)
            })?,
        })
    }
}

fn count_quotes(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'"').count()
}

/// True where a common log format time follows the first piece.
fn precedes_time(pieces: &[Piece]) -> bool {
    matches!(pieces.get(1), Some(Piece::Value(time)) if time.sink == Sink::Time(TimeKind::Clf))
}
