//! How the value at a key is read.

use super::{LineProgram, LineState, Sink};
use crate::field::Field;
use crate::record::Record;
use crate::value::is_method;

/// How a value is read.
#[derive(Debug, Clone)]
pub(in crate::format) enum Reading {
    Whole(Sink),
    /// In a box, so that the entries of a format, of which most are whole, stand close together.
    Parts(Box<LineProgram>),
}

impl Reading {
    /// Whether an empty value counts as absent.
    pub(super) fn needs_value(&self) -> bool {
        match self {
            Self::Whole(sink) => !sink.is_text(),
            Self::Parts(_) => false,
        }
    }

    /// Whether a number has no meaning, unless it has a unit.
    pub(in crate::format) fn needs_unit(&self) -> bool {
        matches!(self, Self::Whole(sink) if sink.needs_unit())
    }

    /// Whether the value fills `field`.
    pub(in crate::format) fn fills(&self, field: Field) -> bool {
        match self {
            Self::Whole(sink) => sink.fields().contains(&field),
            Self::Parts(program) => {
                program.values.iter().any(|value| value.sink.fields().contains(&field))
            }
        }
    }

    /// Whether the value fills a field of requests other than the time.
    pub(super) fn fills_any(&self) -> bool {
        Field::TEXT.iter().chain(&Field::NUMBERS).any(|field| self.fills(*field))
    }

    /// Whether the value is a text, or a host, which may be any.
    pub(super) fn is_text(&self) -> bool {
        !self.needs_value() || self.fills(Field::Host)
    }

    /// Reads the value; `has_path` tells whether the object has a path elsewhere. The error is the offset in
    /// the value where it stops matching.
    pub(super) fn read<'a>(
        &self,
        value: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
        has_path: impl Fn() -> bool,
    ) -> Result<(), usize> {
        match self {
            // Collectors call a path a request.
            Self::Whole(Sink::RequestLine | Sink::UrlRequestLine)
                if value.starts_with(b"/") && !value.contains(&b' ') =>
            {
                record.set_target(value, state.keeps_target);
                Ok(())
            }
            // Others call a method so. Without a path it is what a client has sent.
            Self::Whole(Sink::RequestLine | Sink::UrlRequestLine)
                if value.len() >= 3 && value.iter().all(u8::is_ascii_uppercase) && has_path() =>
            {
                record.set_text(Field::Method, value);
                Ok(())
            }
            // Some loggers call a function so.
            Self::Whole(Sink::Text(Field::Method))
                if !is_method(value) && !matches!(value, b"" | b"-") =>
            {
                Err(0)
            }
            Self::Whole(Sink::RequestLine) => {
                let request = without_quotes(value);
                Sink::RequestLine.store(request, record, state).ok_or(0)
            }
            Self::Whole(sink) => {
                let stored = sink.store(value, record, state);
                let stored = stored.or_else(|| sink.store(plain(sink, value)?, record, state));
                // A size that is too large to be one is named, as those of the wrong form are.
                let is_lost =
                    *sink == Sink::Bytes && value != b"-" && record.number(Field::Bytes).is_none();
                stored.filter(|()| !is_lost).ok_or(0)
            }
            Self::Parts(program) => {
                program.parse(value, record, state).map_err(|mismatch| mismatch.at)
            }
        }
    }
}

/// A request line without the quotes that it has in the log from which a table was made.
fn without_quotes(value: &[u8]) -> &[u8] {
    let inside = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    inside.unwrap_or(value)
}

/// The status or the size in a form that is another one's in text: `200.0` as encoders write a float,
/// `200 OK` as servers write a status line.
fn plain<'a>(sink: &Sink, value: &'a [u8]) -> Option<&'a [u8]> {
    if !matches!(sink, Sink::Status | Sink::Bytes) {
        return None;
    }
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = value.split_at(digits);
    let is_whole = match rest {
        [b'.', zeros @ ..] => !zeros.is_empty() && zeros.iter().all(|byte| *byte == b'0'),
        [b' ', ..] => *sink == Sink::Status,
        _ => false,
    };
    is_whole.then_some(number)
}
