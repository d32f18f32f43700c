//! Builds a line program out of literal text and values, whatever notation they came in.

use super::json::JsonProgram;
use super::line_program::{End, LineProgram, Value};
use super::target::Target;
use super::{Format, FormatError, Program};
use crate::field::Field;
use crate::value::{TimeContent, TimeKind};

/// Collects the pieces of a definition in order.
#[derive(Debug)]
pub(super) struct FormatBuilder<'a> {
    definition: &'a str,
    /// Whether the server escapes quotes inside values.
    quotes_are_escaped: bool,
    pieces: Vec<Piece>,
    extra_fields: Vec<String>,
    /// Fields that some value fills already.
    fields: Vec<Field>,
}

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Value { target: Target, name: String, at: usize },
}

impl<'a> FormatBuilder<'a> {
    pub(super) fn new(definition: &'a str, quotes_are_escaped: bool) -> Self {
        Self {
            definition,
            quotes_are_escaped,
            pieces: Vec::new(),
            extra_fields: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Adds literal text.
    pub(super) fn text(&mut self, text: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.extend_from_slice(text),
            _ => self.pieces.push(Piece::Text(text.to_vec())),
        }
    }

    /// Adds a value. `name` is how the user writes it, `field_name` what the field is
    /// called where it becomes an extra one, `at` where it stands in the definition.
    ///
    /// A field is filled once: what is logged a second time, in whatever form, is kept
    /// under its own name.
    pub(super) fn value(&mut self, target: Target, name: &str, field_name: &str, at: usize) {
        let target = self.assign(target, field_name);
        self.pieces.push(Piece::Value { target, name: name.to_owned(), at });
    }

    /// Finds the target a place in the record.
    pub(super) fn assign(&mut self, target: Target, field_name: &str) -> Target {
        let fills = target.fields();
        let taken = fills.iter().any(|field| *field != Field::Time && self.fields.contains(field));
        let target = match target {
            Target::Extra(_) => Target::Extra(self.extra_field(field_name)),
            _ if taken => Target::Extra(self.extra_field(field_name)),
            Target::HostAndPort { .. } => Target::HostAndPort { port: self.extra_field("port") },
            target => target,
        };
        for field in target.fields() {
            if !self.fields.contains(field) {
                self.fields.push(*field);
            }
        }
        target
    }

    /// True where some value fills `field` already.
    pub(super) fn fills(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    fn extra_field(&mut self, name: &str) -> usize {
        let mut unique = name.to_owned();
        let mut number = 2;
        while self.extra_fields.contains(&unique)
            || Field::by_name(&unique).is_some_and(|field| field.name() == unique)
        {
            unique = format!("{name}_{number}");
            number += 1;
        }
        self.extra_fields.push(unique);
        self.extra_fields.len() - 1
    }

    /// The compiled format, named `custom`.
    pub(super) fn finish(mut self) -> Result<Format, FormatError> {
        self.keep_times_that_tell();
        let program = Program::Line(self.program()?);
        Ok(self.with(program))
    }

    /// The pieces so far as a program of their own, which a JSON format has for each key.
    pub(super) fn take_program(&mut self) -> Result<LineProgram, FormatError> {
        let program = self.program()?;
        self.pieces.clear();
        Ok(program)
    }

    /// The compiled format of a JSON line, with the fields of all programs taken.
    pub(super) fn finish_json(self, program: JsonProgram) -> Format {
        self.with(Program::Json(program))
    }

    fn with(self, program: Program) -> Format {
        let mut fields = self.fields;
        fields.sort_unstable();
        Format {
            name: "custom".to_owned(),
            definition: self.definition.trim().to_owned(),
            extra_fields: self.extra_fields,
            fields,
            program,
        }
    }

    /// Parts of a time that make no instant together, such as an hour alone, are kept as
    /// text.
    fn keep_times_that_tell(&mut self) {
        let mut says = TimeContent::default();
        for piece in &self.pieces {
            if let Piece::Value { target, .. } = piece {
                says = says.and(target.time_content());
            }
        }
        if says.is_instant() || !self.fills(Field::Time) {
            return;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        for piece in &mut pieces {
            if let Piece::Value { target, .. } = piece
                && target.fields() == [Field::Time]
            {
                *target = Target::Extra(self.extra_field("time_part"));
            }
        }
        self.pieces = pieces;
        self.fields.retain(|field| *field != Field::Time);
    }

    fn program(&self) -> Result<LineProgram, FormatError> {
        let (prefix, rest) = match self.pieces.split_first() {
            Some((Piece::Text(text), rest)) => (text.clone(), rest),
            _ => (Vec::new(), &self.pieces[..]),
        };
        let mut values = Vec::new();
        let mut before = prefix.last().copied();
        for (index, piece) in rest.iter().enumerate() {
            match piece {
                Piece::Text(text) => before = text.last().copied(),
                Piece::Value { target, name, at } => {
                    let in_quotes = before == Some(b'"') && self.quotes_are_escaped;
                    values.push(self.bounded(target, name, *at, in_quotes, &rest[index + 1..])?);
                    before = None;
                }
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
        target: &Target,
        name: &str,
        at: usize,
        in_quotes: bool,
        behind: &[Piece],
    ) -> Result<Value, FormatError> {
        let (target, name) = (target.clone(), name.to_owned());
        let next = match behind.first() {
            None => return Ok(Value::new(target, name, in_quotes, b"")),
            Some(Piece::Text(text)) if !in_quotes && precedes_time(behind) => {
                let end = End::TextBeforeTime(text.clone().into());
                return Ok(Value { target, end, name });
            }
            Some(Piece::Text(text)) => return Ok(Value::new(target, name, in_quotes, text)),
            Some(Piece::Value { target, name, .. }) => (target, name),
        };
        let closing = behind.iter().find_map(|piece| match piece {
            Piece::Text(text) => Some(text.clone().into_boxed_slice()),
            Piece::Value { .. } => None,
        });
        let closing = closing.unwrap_or_default();
        let (next_target, next_name) = next;
        // Two values with nothing between them can be told apart only where the first says
        // itself how long it is, or the second starts with a byte that the first cannot
        // hold.
        let end = match (name.as_str(), next_name.as_str()) {
            ("$is_args", _) => End::QuestionMark,
            (_, "$is_args" | "%q") => End::Before(b'?', closing),
            (_, "$request_uri" | "$uri" | "$document_uri" | "%U") => End::Before(b'/', closing),
            _ if matches!(next_target, Target::PathAndQuery | Target::Text(Field::Path)) => {
                End::Before(b'/', closing)
            }
            _ => End::of_known_length(&target).ok_or_else(|| {
                let message = format!(
                    "nothing separates {name} from {next_name}, so it cannot be told where one ends"
                );
                FormatError::new(self.definition, at, message)
            })?,
        };
        Ok(Value { target, end, name })
    }
}

/// True where a common log format time follows the first piece.
fn precedes_time(pieces: &[Piece]) -> bool {
    matches!(pieces.get(1), Some(Piece::Value { target: Target::Time(TimeKind::Clf), .. }))
}
