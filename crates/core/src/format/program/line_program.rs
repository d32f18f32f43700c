//! The program of a format that is text with values in between.

use std::sync::Arc;

use memchr::{memchr, memmem};

use super::mismatch::{Explanation, Mismatch, Reason};
use super::sink::{LineState, Sink};
use crate::field::Field;
use crate::line::short_memchr;
use crate::record::Record;
use crate::value::{CLF_LENGTH, Strftime, TimeKind};

/// The text in front of the first value, then the values, each with what ends it.
#[derive(Debug, Clone)]
pub(in crate::format) struct LineProgram {
    pub(in crate::format) prefix: Box<[u8]>,
    pub(in crate::format) values: Vec<Value>,
}

/// One value and the text behind it.
#[derive(Debug, Clone)]
pub(in crate::format) struct Value {
    pub(in crate::format) sink: Sink,
    pub(in crate::format) end: End,
    /// As the user writes it, `$status` or `%>s`.
    pub(in crate::format) name: String,
}

/// Where a value ends. What is named here is passed over with the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) enum End {
    /// At the first such byte.
    Byte(u8),
    /// At the first such text, of two bytes or more.
    Text(Box<[u8]>),
    /// At the first space, where this text has to stand.
    Word(Box<[u8]>),
    /// At the first such text that a common log format time follows. A user name, which the
    /// client chooses, may have the text in it and must not hide the line with that.
    TextBeforeTime(Box<[u8]>),
    /// At the first quote that no backslash escapes; then this text, quote included.
    Quote(Box<[u8]>),
    /// After a common log format time; then this text.
    ClfTime(Box<[u8]>),
    /// After a time of this pattern; then this text.
    Strftime(Arc<Strftime>, Box<[u8]>),
    /// After so many bytes.
    Length(usize),
    /// In front of the byte, which stays for the next value, or of the text that ends the
    /// run of values without text between them, whichever comes first.
    Before(u8, Box<[u8]>),
    /// A `?` or nothing.
    QuestionMark,
    /// At the end of the line.
    Line,
}

impl End {
    /// The range of the value that starts at `start`, and where the next one starts; or
    /// the place where the line stopped fitting.
    #[inline]
    fn find(&self, line: &[u8], start: usize) -> Result<(usize, usize), usize> {
        let rest = &line[start..];
        match self {
            Self::Byte(byte) => {
                let length = short_memchr(*byte, rest).ok_or(start)?;
                Ok((start + length, start + length + 1))
            }
            Self::Text(text) => {
                let end = start + find_text(rest, text).ok_or(start)?;
                Ok((end, end + text.len()))
            }
            Self::Word(text) => {
                let length = short_memchr(b' ', rest).ok_or(start)?;
                expect(line, start + length, text)
            }
            Self::TextBeforeTime(text) => {
                let end = find_text_before_time(line, start, text).ok_or(start)?;
                Ok((end, end + text.len()))
            }
            Self::Quote(text) => {
                let end = find_quote(line, start).ok_or(line.len())?;
                expect(line, end, text)
            }
            Self::ClfTime(text) => {
                if rest.len() < CLF_LENGTH {
                    return Err(start);
                }
                expect(line, start + CLF_LENGTH, text)
            }
            Self::Strftime(pattern, text) => match pattern.length(rest) {
                Some(length) => expect(line, start + length, text),
                // The value is not of its kind then, wherever it ends.
                None => Ok((line.len(), line.len())),
            },
            Self::Length(length) => {
                let end = line.len().min(start + length);
                Ok((end, end))
            }
            Self::Before(byte, text) => {
                let limit = if text.is_empty() {
                    rest.len()
                } else {
                    find_text(rest, text).ok_or(start)?
                };
                let end = start + memchr(*byte, &rest[..limit]).unwrap_or(limit);
                Ok((end, end))
            }
            Self::QuestionMark => {
                let end = start + usize::from(rest.first() == Some(&b'?'));
                Ok((end, end))
            }
            Self::Line => Ok((line.len(), line.len())),
        }
    }

    /// The end of a value that says itself how long it is, whatever follows.
    pub(in crate::format) fn of_known_length(sink: &Sink) -> Option<Self> {
        let nothing: Box<[u8]> = Box::default();
        Some(match sink {
            Sink::Time(TimeKind::Clf) => Self::ClfTime(nothing),
            Sink::Strftime(pattern) => Self::Strftime(Arc::clone(pattern), nothing),
            // From September 2001 to the year 2286.
            Sink::Time(TimeKind::UnixSeconds) => Self::Length(10),
            Sink::Time(TimeKind::UnixMilliseconds) => Self::Length(13),
            Sink::Time(TimeKind::UnixMicroseconds) => Self::Length(16),
            Sink::Time(TimeKind::FractionMilliseconds) => Self::Length(3),
            Sink::Time(TimeKind::FractionMicroseconds) => Self::Length(6),
            _ => return None,
        })
    }

    /// The text that has to follow, to say so.
    fn text(&self) -> String {
        match self {
            Self::Byte(byte) => char::from(*byte).to_string(),
            Self::Text(text)
            | Self::Word(text)
            | Self::TextBeforeTime(text)
            | Self::Quote(text)
            | Self::ClfTime(text)
            | Self::Strftime(_, text) => String::from_utf8_lossy(text).into_owned(),
            Self::Before(byte, _) => char::from(*byte).to_string(),
            Self::QuestionMark => "?".to_owned(),
            Self::Line | Self::Length(_) => String::new(),
        }
    }
}

/// The text has to stand at `end`.
#[inline]
fn expect(line: &[u8], end: usize, text: &[u8]) -> Result<(usize, usize), usize> {
    if starts_with(&line[end..], text) {
        return Ok((end, end + text.len()));
    }
    let same = line[end..].iter().zip(text).take_while(|(a, b)| a == b).count();
    Err(end + same)
}

/// As the slice's own, which calls a function to compare: the texts here are two or three
/// bytes.
#[inline]
fn starts_with(bytes: &[u8], text: &[u8]) -> bool {
    bytes.len() >= text.len() && bytes.iter().zip(text).all(|(a, b)| a == b)
}

/// The first place of a text of at least one byte.
#[inline]
fn find_text(bytes: &[u8], text: &[u8]) -> Option<usize> {
    // The texts between values are two or three bytes long and near: looking for the first
    // byte beats building a searcher.
    let mut from = 0;
    for _ in 0..4 {
        let at = from + memchr(text[0], &bytes[from..])?;
        if starts_with(&bytes[at..], text) {
            return Some(at);
        }
        from = at + 1;
    }
    memmem::find(&bytes[from..], text).map(|at| from + at)
}

/// The first place from `start` on of the text that looks like a time behind it; where
/// none does, the first place at all.
#[inline]
fn find_text_before_time(line: &[u8], start: usize, text: &[u8]) -> Option<usize> {
    let first = start + find_text(&line[start..], text)?;
    let is_before_time = |end: usize| {
        let time = &line[end + text.len()..];
        time.get(2) == Some(&b'/') && time.get(6) == Some(&b'/')
    };
    let mut end = first;
    while !is_before_time(end) {
        match find_text(&line[end + 1..], text) {
            Some(length) => end += 1 + length,
            None => return Some(first),
        }
    }
    Some(end)
}

/// The first quote from `start` on that no backslash escapes: an escaped one has an odd
/// number of backslashes before it.
#[inline]
fn find_quote(line: &[u8], start: usize) -> Option<usize> {
    let mut from = start;
    loop {
        let at = from + memchr(b'"', &line[from..])?;
        let backslashes = line[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(at);
        }
        from = at + 1;
    }
}

impl LineProgram {
    /// Reads a line into an empty record.
    pub(in crate::format) fn parse<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        let (_, mut at) =
            expect(line, 0, &self.prefix).map_err(|at| Mismatch::new(at, Reason::Prefix))?;
        for (index, value) in self.values.iter().enumerate() {
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
        if at < line.len() {
            return Err(Mismatch::new(at, Reason::Trailing));
        }
        Ok(())
    }

    /// Puts a mismatch into words.
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

    /// True where a request's target is among the values, alone or in a request line. There
    /// is one at most: a field is filled once.
    pub(in crate::format) fn has_request_target(&self) -> bool {
        self.values.iter().any(|value| value.sink.is_request_target())
    }

    /// True where a time is among the values.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.values.iter().any(|value| value.sink.fields() == [Field::Time])
    }
}

impl Value {
    /// A value whose end follows from the text behind it.
    pub(in crate::format) fn new(sink: Sink, name: String, in_quotes: bool, then: &[u8]) -> Self {
        let end = match (then, &sink) {
            ([], _) => End::Line,
            (_, Sink::Strftime(pattern)) => End::Strftime(Arc::clone(pattern), then.into()),
            (_, Sink::Time(TimeKind::Clf)) => End::ClfTime(then.into()),
            ([b'"', ..], _) if in_quotes => End::Quote(then.into()),
            ([byte], _) => End::Byte(*byte),
            ([b' ', ..], sink) if sink.is_word() => End::Word(then.into()),
            (text, _) => End::Text(text.into()),
        };
        Self { sink, end, name }
    }
}
