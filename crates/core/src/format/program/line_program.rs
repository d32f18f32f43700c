//! The program of a format that is literal text with values in between.
//!
//! `$remote_addr - $remote_user [$time_local] "$request"` compiles to a list of values, each with
//! the way to find its end:
//!
//! | value | end |
//! |---|---|
//! | `$remote_addr` | the first space that no comma precedes, where ` - ` must begin |
//! | `$remote_user` | the first ` [` that a time follows: a user name may contain ` [` |
//! | `$time_local` | after 26 bytes, where `] "` must be |
//! | `$request` | the first quote without a backslash before it |
//!
//! A line is read once, from left to right, without backtracking. So the cost is linear in the
//! length of the line, whatever a client has sent.

use std::ops::Range;
use std::sync::Arc;

use super::long_user::LongUser;
use super::mismatch::{Explanation, Mismatch, Reason};
use super::needs::ByteSet;
use super::raw_quotes::RawQuotes;
use super::sink::{LineState, Sink};
use super::tail::Tail;
pub(in crate::format) use super::value_end::End;
use super::value_end::expect;
use crate::field::Field;
use crate::record::Record;
use crate::value::TimeKind;

/// The text before the first value, then the values, each with its end.
#[derive(Debug, Clone)]
pub(in crate::format) struct LineProgram {
    pub(in crate::format) prefix: Box<[u8]>,
    pub(in crate::format) values: Vec<Value>,
    /// The values that may stand after the last one.
    pub(in crate::format) tail: Option<Tail>,
    /// How lines are read whose quotes the server has not escaped.
    raw_quotes: Option<RawQuotes>,
    /// How lines are read whose users look like other values, if the format is known to be theirs.
    long_user: Option<LongUser>,
    /// The characters between the values.
    needed_bytes: ByteSet,
}

/// One value and its end.
#[derive(Debug, Clone)]
pub(in crate::format) struct Value {
    pub(in crate::format) sink: Sink,
    pub(in crate::format) end: End,
    /// The name in the definition, such as `$status` or `%>s`.
    pub(in crate::format) name: String,
}

impl LineProgram {
    /// A program of these values, without a tail.
    pub(in crate::format) fn new(prefix: Vec<u8>, values: Vec<Value>) -> Self {
        let texts = values.iter().map(|value| value.end.needed_bytes());
        let mut program = Self {
            needed_bytes: texts.fold(ByteSet::of(&prefix), ByteSet::and),
            prefix: prefix.into(),
            values,
            tail: None,
            raw_quotes: None,
            long_user: None,
        };
        program.raw_quotes = RawQuotes::of(&program);
        program
    }

    /// Reads a line into an empty record.
    pub(in crate::format) fn parse<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let Err(mismatch) = self.parse_escaped(line, record, state) else { return Ok(()) };
        if let Some(raw_quotes) = self.raw_quotes
            && raw_quotes.read(self, line, record, state).is_some()
        {
            return Ok(());
        }
        if let Some(long_user) = &self.long_user
            && self.is_about_user(mismatch)
            && let Some(end) = long_user.read(self, line, record, state)
            && self.read_rest(line, end, record, state).is_ok()
        {
            return Ok(());
        }
        Err(mismatch)
    }

    /// The characters that each line has, also one with raw quotes or a long user.
    pub(super) fn needed_bytes(&self) -> ByteSet {
        self.needed_bytes
    }

    /// Whether the user of a line, or where it ends, may be why the line does not match.
    pub(in crate::format) fn is_about_user(&self, mismatch: Mismatch) -> bool {
        let is_user =
            |index: usize| self.values.get(index).is_some_and(|value| value.sink == Sink::User);
        match mismatch.reason {
            Reason::Value(index) | Reason::Unended(index) => {
                let index = usize::from(index);
                is_user(index) || index.checked_sub(1).is_some_and(is_user)
            }
            _ => false,
        }
    }

    /// Reads a line in which the server has escaped the quotes inside values.
    #[inline]
    fn parse_escaped<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let at = self.read_values(line, record, state)?;
        self.read_rest(line, at, record, state)
    }

    /// Reads what stands after the last value, which ends at `at`.
    #[inline]
    fn read_rest<'a>(
        &self,
        line: &'a [u8],
        at: usize,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        match &self.tail {
            _ if at == line.len() => Ok(()),
            Some(tail) => tail.read(line, at, record, state),
            None => Err(at),
        }
        .map_err(|at| Mismatch::new(at, Reason::Trailing))
    }

    /// Reads the values of a line. Returns the offset after the last one.
    #[inline]
    pub(in crate::format) fn read_values<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<usize, Mismatch> {
        self.read_up_to(self.values.len(), line, record, state)
    }

    /// Reads the first values of a line. Returns the offset after them.
    #[inline]
    pub(super) fn read_up_to<'a>(
        &self,
        values: usize,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<usize, Mismatch> {
        let (_, at) =
            expect(line, 0, &self.prefix).map_err(|at| Mismatch::new(at, Reason::Prefix))?;
        self.read_range(0..values, line, at, record, state)
    }

    /// Reads these values, of which the first begins at `at`. Returns the offset after them.
    #[inline]
    pub(super) fn read_range<'a>(
        &self,
        range: Range<usize>,
        line: &'a [u8],
        mut at: usize,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<usize, Mismatch> {
        let first = range.start;
        for (index, value) in (first..).zip(&self.values[range]) {
            let (end, next) = value
                .end
                .find(line, at)
                .map_err(|at| Mismatch::new(at, Reason::Unended(index as u16)))?;
            value
                .sink
                .store(&line[at..end], record, state)
                .ok_or(Mismatch::new(at, Reason::Value(index as u16)))?;
            at = next;
        }
        Ok(at)
    }

    /// Describes a mismatch.
    pub(in crate::format) fn explain(&self, mismatch: Mismatch) -> String {
        let index = match mismatch.reason {
            Reason::Unended(index) | Reason::Value(index) => usize::from(index),
            _ => self.values.len().saturating_sub(1),
        };
        let value = &self.values[index];
        let follows = match mismatch.reason {
            Reason::Prefix => String::from_utf8_lossy(&self.prefix).into_owned(),
            _ => value.end.text(),
        };
        Explanation {
            reason: mismatch.reason,
            value: &value.name,
            kind: value.sink.kind(),
            follows: &follows,
        }
        .to_string()
    }

    /// Whether a request target is among the values, alone or in a request line. There is one at
    /// most, because a field is filled once.
    pub(in crate::format) fn has_request_target(&self) -> bool {
        self.values.iter().any(|value| value.sink.is_request_target())
    }

    /// Whether each line begins with the client, and a space follows it.
    pub(in crate::format) fn begins_with_client(&self) -> bool {
        let is_client = self.values.first().is_some_and(|Value { sink, end, .. }| {
            let has_space = match end {
                End::Byte(byte) => *byte == b' ',
                End::Text(text) | End::Word(text) | End::List(text) => text.first() == Some(&b' '),
                _ => false,
            };
            has_space && sink.fields() == [Field::Client]
        });
        is_client && self.prefix.is_empty()
    }

    /// The same program for lines that are known to be its own, whatever their users are. `None` if no
    /// client chooses what stands in the place of a user.
    pub(in crate::format) fn with_any_user(&self) -> Option<Self> {
        let long_user = Some(LongUser::of(self)?);
        Some(Self { long_user, ..self.clone() })
    }

    /// The same program for lines that go on after the last value, which ends at a space then.
    pub(in crate::format) fn with_tail(mut self, tail: Tail) -> Self {
        if let Some(last) = self.values.last_mut()
            && last.end == End::Line
        {
            last.end = End::FirstWord;
        }
        self.tail = Some(tail);
        // More quotes may belong to the tail.
        self.raw_quotes = None;
        self
    }

    /// Whether a time is among the values.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.values.iter().any(|value| value.sink.fields() == [Field::Time])
    }
}

/// What is known of a value from its place and kind, which shows how to find its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Shape {
    /// Before a quote, by a server that escapes quotes in values.
    Quoted,
    /// Perhaps a list, `a, b` or nginx's `a : b`.
    List,
    /// Without spaces.
    Word,
    /// Any text.
    Text,
}

impl Value {
    /// A value with the end that the text after it implies.
    pub(in crate::format) fn new(sink: Sink, name: String, shape: Shape, then: &[u8]) -> Self {
        let end = match (then, &sink, shape) {
            ([], ..) => End::Line,
            (_, Sink::Strftime(pattern), _) => End::Strftime(Arc::clone(pattern), then.into()),
            (_, Sink::Time(TimeKind::Clf), _) => End::ClfTime(then.into()),
            ([b'"', ..], _, Shape::Quoted) => End::Quote(then.into()),
            ([b' ' | b',', ..], _, Shape::List) if !then.starts_with(b" : ") => {
                End::List(then.into())
            }
            ([byte], ..) => End::Byte(*byte),
            ([b' ', ..], _, Shape::Word) => End::Word(then.into()),
            (text, ..) => End::Text(text.into()),
        };
        Self { sink, end, name }
    }
}
