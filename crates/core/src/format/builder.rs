//! Builds a line program out of literal text and values, whatever notation they came in.

use super::line_program::{End, LineProgram, Value};
use super::target::Target;
use super::{Format, FormatError, Program};
use crate::field::Field;

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
        self.pieces.push(Piece::Value { target, name: name.to_owned(), at });
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
    pub(super) fn finish(self) -> Result<Format, FormatError> {
        let program = self.program()?;
        let mut fields = self.fields;
        fields.sort_unstable();
        Ok(Format {
            name: "custom".to_owned(),
            definition: self.definition.trim().to_owned(),
            extra_fields: self.extra_fields,
            fields,
            program: Program::Line(program),
        })
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
            Some(Piece::Text(text)) => return Ok(Value::new(target, name, in_quotes, text)),
            Some(Piece::Value { target, name, .. }) => (target, name),
        };
        let closing = behind.iter().find_map(|piece| match piece {
            Piece::Text(text) => Some(text.clone().into_boxed_slice()),
            Piece::Value { .. } => None,
        });
        let closing = closing.unwrap_or_default();
        // Two values with nothing between them can be told apart only where the second
        // starts with a byte that the first cannot hold.
        let end = match (name.as_str(), next) {
            ("$is_args", _) => End::QuestionMark,
            (_, (_, next_name)) if next_name == "$is_args" => End::Before(b'?', closing),
            (_, (Target::RequestTarget | Target::Text(Field::Path), _)) => {
                End::Before(b'/', closing)
            }
            (_, (_, next_name))
                if matches!(next_name.as_str(), "$request_uri" | "$uri" | "$document_uri") =>
            {
                End::Before(b'/', closing)
            }
            (_, (_, next_name)) => {
                let message = format!(
                    "nothing separates {name} from {next_name}, so it cannot be told where one ends"
                );
                return Err(FormatError::new(self.definition, at, message));
            }
        };
        Ok(Value { target, end, name })
    }
}
