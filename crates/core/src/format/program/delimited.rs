//! Formats whose lines are values in a fixed order with a separator between them: the W3C extended
//! log format, those of cloud services, Squid's.
//!
//! A value may be in quotes, in which the separator is not special, or be a time in brackets. A
//! line has exactly the values of the definition; if some of them are optional, it may end before
//! these and may have further values after all of them, because such formats grow at their end.
//!
//! # Separators and quotes
//!
//! | separator | empty values | a quote inside quotes |
//! |---|---|---|
//! | spaces | no: several spaces are one | after a backslash |
//! | tab, comma or semicolon | yes | doubled |
//! | spaces or tab | as the line's first separator | doubled |
//!
//! A value that begins with a quote must end with one, followed by a separator or the end of the
//! line: a quote anywhere else could be the end of the value, so the line is refused.
//!
//! # Times
//!
//! A W3C line has date and time in two values, or only a time of day after a `#Date:`. The day of
//! the directive is part of the compiled format (`day`), so lines need no state between them.

use memchr::memchr;

use super::directive::without_byte_order_mark;
use super::mismatch::{Explanation, Mismatch, Reason};
use super::needs::ByteSet;
use super::sink::{LineState, Sink};
use crate::field::Field;
use crate::record::Record;
use crate::schema::RecordKind;

/// The separator of the values of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Separator {
    /// One or more spaces.
    Spaces,
    /// One tab, if a tab follows the line's first value; otherwise one or more spaces.
    SpacesOrTab,
    /// One tab.
    Tab,
    /// One comma.
    Comma,
    /// One semicolon.
    Semicolon,
}

/// Reads lines of values with a separator.
///
/// Without columns no line matches: this is the format of a W3C log before its first `#Fields:`.
#[derive(Debug, Clone)]
pub(in crate::format) struct DelimitedProgram {
    pub(in crate::format) separator: Separator,
    pub(in crate::format) columns: Vec<Column>,
    /// The number of values that a line must have. If these are not all, further unknown values
    /// may follow, because such formats grow at their end.
    pub(in crate::format) required: usize,
    pub(in crate::format) directives: Directives,
    /// How a later header is read, if one may change the columns.
    pub(in crate::format) header: Option<HeaderReader>,
    /// The day of all lines, in days since 1970, if they have only a time of day.
    pub(in crate::format) day: Option<i64>,
    /// The kind of the records.
    pub(in crate::format) kind: RecordKind,
}

/// Returns the definition of the lines after a header; `None` if the line is none.
pub(in crate::format) type HeaderReader = fn(&[u8]) -> Option<String>;

/// The start of the line with Zeek's names.
pub(in crate::format) const ZEEK_FIELDS: &str = "#fields\t";

/// Lines that describe other lines.
///
/// A directive is neither a record nor an unparsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) enum Directives {
    /// No such lines.
    None,
    /// Lines that begin with `#` (<https://www.w3.org/TR/WD-logfile.html>). `#Fields:` names the
    /// values of the lines after it, if its list has `required_field`.
    W3c { required_field: Option<&'static str> },
    /// Lines that begin with `#`, which change nothing.
    Comments,
    /// The names of the columns: a line that begins with this name, in quotes or without.
    Header(Box<str>),
}

/// One value, or several parts of one with slashes between them.
///
/// All parts but the last end at a slash.
#[derive(Debug, Clone)]
pub(in crate::format) struct Column {
    pub(in crate::format) parts: Vec<Part>,
}

/// A value, or a part of one, and its meaning.
#[derive(Debug, Clone)]
pub(in crate::format) struct Part {
    pub(in crate::format) sink: Sink,
    /// The name in the definition.
    pub(in crate::format) name: String,
}

/// The mismatch of a time in brackets.
const BRACKET: &str = "the bracket before the time is not closed";

impl DelimitedProgram {
    /// Whether the line is a directive.
    ///
    /// A byte order mark before it is skipped: Windows programs write one at the start of a file.
    pub(in crate::format) fn is_directive(&self, line: &[u8]) -> bool {
        let line = without_byte_order_mark(line);
        match &self.directives {
            Directives::None => false,
            Directives::W3c { .. } | Directives::Comments => line.first() == Some(&b'#'),
            Directives::Header(name) => {
                let line = line.strip_prefix(b"\"").unwrap_or(line);
                let rest = line.strip_prefix(name.as_bytes());
                rest.is_some_and(|rest| matches!(rest.first(), Some(b'"' | b',' | b'\t' | b';')))
            }
        }
    }

    /// Whether the line names columns, perhaps others than those of the program.
    pub(in crate::format) fn is_header(&self, line: &[u8]) -> bool {
        match &self.directives {
            Directives::Header(_) => self.is_directive(line),
            Directives::Comments => line.starts_with(ZEEK_FIELDS.as_bytes()),
            Directives::None | Directives::W3c { .. } => false,
        }
    }

    /// Whether some lines are directives.
    pub(in crate::format) fn has_directives(&self) -> bool {
        self.directives != Directives::None
    }

    /// Reads a line into an empty record.
    pub(in crate::format) fn parse<'a>(
        &self,
        line: &'a [u8],
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        if self.columns.is_empty() {
            let reason = match self.header {
                Some(_) => "the header before this line does not name the columns of a log",
                None => "no #Fields: directive before this line names its values",
            };
            return Err(Mismatch::new(0, Reason::Form(reason)));
        }
        state.time.local_day = self.day;
        let mut values = Values { line, at: 0, separator: self.separator, is_first: true };
        let mut next_part = 0;
        for (index, column) in self.columns.iter().enumerate() {
            let part = next_part;
            next_part += column.parts.len() as u16;
            let Some((start, value)) = values.next(column, part)? else {
                if index >= self.required {
                    return Ok(());
                }
                return Err(Mismatch::new(line.len(), Reason::Ended(part)));
            };
            column.set(start, value, part, record, state)?;
        }
        if self.required < self.columns.len() || values.is_at_end() {
            return Ok(());
        }
        Err(Mismatch::new(values.at, Reason::Trailing))
    }

    /// The characters that each line has that is no directive.
    pub(super) fn needed_bytes(&self) -> ByteSet {
        match self.separator {
            _ if self.required < 2 => ByteSet::default(),
            Separator::Spaces => ByteSet::of(b" "),
            Separator::SpacesOrTab => ByteSet::default(),
            Separator::Tab => ByteSet::of(b"\t"),
            Separator::Comma => ByteSet::of(b","),
            Separator::Semicolon => ByteSet::of(b";"),
        }
    }

    /// Describes a mismatch.
    pub(in crate::format) fn explain(&self, mismatch: Mismatch) -> String {
        let part = self.part(mismatch.reason);
        let value = part.map_or("", |part| &part.name);
        let kind = part.map_or("", |part| part.sink.kind());
        Explanation { reason: mismatch.reason, value, kind, follows: "/" }.to_string()
    }

    /// The value that a reason refers to.
    fn part(&self, reason: Reason) -> Option<&Part> {
        let mut parts = self.columns.iter().flat_map(|column| &column.parts);
        match reason {
            Reason::Value(index)
            | Reason::Unended(index)
            | Reason::Ended(index)
            | Reason::Quote(index) => parts.nth(usize::from(index)),
            _ => parts.last(),
        }
    }

    /// Whether a request target is among the values.
    pub(in crate::format) fn has_request_target(&self) -> bool {
        self.parts().any(|part| part.sink.is_request_target())
    }

    /// Whether a time is among the values.
    pub(in crate::format) fn has_time(&self) -> bool {
        self.parts().any(|part| part.sink.fields() == [Field::Time])
    }

    /// The parts of all columns, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.columns.iter().flat_map(|column| &column.parts)
    }
}

impl Column {
    /// Puts the value that starts at `start` into the record; `first` is the number of its
    /// first part.
    fn set<'a>(
        &self,
        mut start: usize,
        mut value: &'a [u8],
        first: u16,
        record: &mut Record<'a>,
        state: &mut LineState,
    ) -> Result<(), Mismatch> {
        for (part, number) in self.parts.iter().zip(first..) {
            let is_last = usize::from(number - first) + 1 == self.parts.len();
            let length = if is_last {
                value.len()
            } else {
                memchr(b'/', value).ok_or(Mismatch::new(start, Reason::Unended(number)))?
            };
            // Some servers write an empty value instead of a dash.
            if length > 0 || part.sink.is_text() {
                part.sink
                    .store(&value[..length], record, state)
                    .ok_or(Mismatch::new(start, Reason::Value(number)))?;
            }
            let next = value.len().min(length + 1);
            (start, value) = (start + next, &value[next..]);
        }
        Ok(())
    }

    /// Whether the value may have brackets around it.
    fn may_have_brackets(&self) -> bool {
        matches!(&self.parts[..], [part] if part.sink.fields() == [Field::Time])
    }
}

/// Walks the values of a line.
///
/// `at` is beyond the line's length after its last value, and equal to it before an empty last
/// value.
struct Values<'a> {
    line: &'a [u8],
    /// The offset of the next value, after its separator.
    at: usize,
    separator: Separator,
    is_first: bool,
}

impl<'a> Values<'a> {
    /// The next value and its offset, or `None` at the end of the line.
    fn next(&mut self, column: &Column, part: u16) -> Result<Option<(usize, &'a [u8])>, Mismatch> {
        let has_spaces = matches!(self.separator, Separator::Spaces | Separator::SpacesOrTab);
        if has_spaces {
            self.skip_spaces();
        }
        // A separator is followed by a value, which may be empty, unless spaces separate.
        let is_end = self.at > self.line.len()
            || (self.at == self.line.len() && (has_spaces || self.is_first));
        if is_end {
            return Ok(None);
        }
        self.is_first = false;
        let rest = &self.line[self.at..];
        let (start, length, end) = match rest.first() {
            Some(b'"') => {
                let length = self.quoted(&rest[1..]);
                let length = length.ok_or(Mismatch::new(self.at, Reason::Quote(part)))?;
                (self.at + 1, length, self.at + length + 2)
            }
            Some(b'[') if column.may_have_brackets() => {
                let length = memchr(b']', rest).map(|length| length - 1);
                let length = length.ok_or(Mismatch::new(self.at, Reason::Form(BRACKET)))?;
                (self.at + 1, length, self.at + length + 2)
            }
            _ => {
                let length = rest.iter().position(|byte| self.is_separator(*byte));
                let length = length.unwrap_or(rest.len());
                (self.at, length, self.at + length)
            }
        };
        self.skip_separator(end).ok_or(Mismatch::new(end, Reason::Unended(part)))?;
        Ok(Some((start, &self.line[start..start + length])))
    }

    /// The length of a text up to its closing quote. A quote inside the text is doubled, or
    /// escaped by a backslash if spaces separate. Returns `None` if there is another quote, which
    /// could also be the end of the value.
    fn quoted(&self, text: &[u8]) -> Option<usize> {
        let has_backslashes = self.separator == Separator::Spaces;
        let mut at = 0;
        loop {
            at += memchr(b'"', &text[at..])?;
            let backslashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            if has_backslashes && backslashes % 2 == 1 {
                at += 1;
                continue;
            }
            match text.get(at + 1) {
                None => return Some(at),
                Some(byte) if self.is_separator(*byte) => return Some(at),
                Some(b'"') if !has_backslashes => at += 2,
                Some(_) => return None,
            }
        }
    }

    /// Whether the byte ends a value that is not in quotes.
    fn is_separator(&self, byte: u8) -> bool {
        match self.separator {
            Separator::Spaces => byte == b' ',
            Separator::SpacesOrTab => matches!(byte, b' ' | b'\t'),
            Separator::Tab => byte == b'\t',
            Separator::Comma => byte == b',',
            Separator::Semicolon => byte == b';',
        }
    }

    /// Skips separators, several of which count as one.
    fn skip_spaces(&mut self) {
        while self.line.get(self.at).is_some_and(|byte| self.is_separator(*byte)) {
            self.at += 1;
        }
    }

    /// Moves past the separator at `end`. Returns `None` if there is none.
    fn skip_separator(&mut self, end: usize) -> Option<()> {
        match self.line.get(end) {
            // Past the end of the line, to distinguish the end from an empty value.
            None => self.at = self.line.len() + 1,
            Some(byte) if self.is_separator(*byte) => {
                if self.separator == Separator::SpacesOrTab && *byte == b'\t' {
                    self.separator = Separator::Tab;
                }
                self.at = end + 1;
            }
            Some(_) => return None,
        }
        Some(())
    }

    /// Whether no value is left. Skips spaces at the end if they separate.
    fn is_at_end(&mut self) -> bool {
        if matches!(self.separator, Separator::Spaces | Separator::SpacesOrTab) {
            self.skip_spaces();
            return self.at >= self.line.len();
        }
        self.at > self.line.len()
    }
}
