//! Formats whose lines are values with a separator between them, in a fixed order: the W3C
//! extended log format, those of cloud services, Squid's.

use memchr::memchr;

use super::directive::without_byte_order_mark;
use super::mismatch::{Explanation, Mismatch, Reason};
use super::sink::{LineState, Sink};
use crate::field::Field;
use crate::record::Record;

/// What stands between values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Separator {
    /// Spaces, one or more.
    Spaces,
    /// Spaces, one or more; or one tab, where one stands behind the line's first value.
    SpacesOrTab,
    /// One tab.
    Tab,
    /// One comma.
    Comma,
}

/// The values of a line in order.
#[derive(Debug, Clone)]
pub(in crate::format) struct DelimitedProgram {
    pub(in crate::format) separator: Separator,
    pub(in crate::format) columns: Vec<Column>,
    /// Values that a line has at least. Where these are not all, more than are known may
    /// follow: such formats grow at their end.
    pub(in crate::format) required: usize,
    pub(in crate::format) directives: Directives,
    /// The day of all lines, in days since 1970, where they have a time of day alone.
    pub(in crate::format) day: Option<i64>,
}

/// Lines that are no records and no mistakes either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::format) enum Directives {
    /// There are none.
    None,
    /// Lines that begin with `#` (<https://www.w3.org/TR/WD-logfile.html>). `#Fields:` says
    /// which values follow, where it names this field or any.
    W3c { needs: Option<&'static str> },
    /// A line that begins with this name in quotes or without: the columns' names.
    Header(Box<str>),
}

/// One value, or several with a slash between them.
#[derive(Debug, Clone)]
pub(in crate::format) struct Column {
    pub(in crate::format) parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(in crate::format) struct Part {
    pub(in crate::format) sink: Sink,
    /// What the log's own documentation calls it.
    pub(in crate::format) name: String,
}

/// Why a time in brackets is none.
const BRACKET: &str = "the bracket before the time is not closed";

impl DelimitedProgram {
    /// True for a line that is no record and no mistake.
    pub(in crate::format) fn passes_over(&self, line: &[u8]) -> bool {
        let line = without_byte_order_mark(line);
        match &self.directives {
            Directives::None => false,
            Directives::W3c { .. } => line.first() == Some(&b'#'),
            Directives::Header(name) => {
                let line = line.strip_prefix(b"\"").unwrap_or(line);
                let rest = line.strip_prefix(name.as_bytes());
                rest.is_some_and(|rest| matches!(rest.first(), Some(b'"' | b',' | b'\t')))
            }
        }
    }

    /// True where some lines are no records.
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
            let reason = "no #Fields: directive says what the values are";
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

    /// Describes a mismatch.
    pub(in crate::format) fn explain(&self, mismatch: Mismatch) -> String {
        let part = self.part(mismatch.reason);
        let value = part.map_or("", |part| &part.name);
        let kind = part.map_or("", |part| part.sink.kind());
        Explanation { reason: mismatch.reason, value, kind, follows: "/" }.to_string()
    }

    /// The value that a reason is about.
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

    pub(in crate::format) fn has_request_target(&self) -> bool {
        self.parts().any(|part| part.sink.is_request_target())
    }

    pub(in crate::format) fn has_time(&self) -> bool {
        self.parts().any(|part| part.sink.fields() == [Field::Time])
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
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
            let length = match is_last {
                true => value.len(),
                false => {
                    memchr(b'/', value).ok_or(Mismatch::new(start, Reason::Unended(number)))?
                }
            };
            // Some write nothing instead of a dash.
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

    /// True where brackets around the value belong to the line.
    fn may_have_brackets(&self) -> bool {
        matches!(&self.parts[..], [part] if part.sink.fields() == [Field::Time])
    }
}

/// Walks the values of a line.
struct Values<'a> {
    line: &'a [u8],
    /// Where the next value starts, behind its separator.
    at: usize,
    separator: Separator,
    is_first: bool,
}

impl<'a> Values<'a> {
    /// The next value and where it starts; `None` at the end of the line.
    fn next(&mut self, column: &Column, part: u16) -> Result<Option<(usize, &'a [u8])>, Mismatch> {
        let has_spaces = matches!(self.separator, Separator::Spaces | Separator::SpacesOrTab);
        if has_spaces {
            self.pass_spaces();
        }
        // Behind a separator there is a value, if an empty one, unless spaces separate.
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
        self.pass_separator(end).ok_or(Mismatch::new(end, Reason::Unended(part)))?;
        Ok(Some((start, &self.line[start..start + length])))
    }

    /// The length of a text up to its closing quote, behind which the value ends. A quote
    /// inside is written twice, or behind a backslash where spaces separate. Any other is one
    /// that nobody can tell from the end of the value.
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

    fn is_separator(&self, byte: u8) -> bool {
        match self.separator {
            Separator::Spaces => byte == b' ',
            Separator::SpacesOrTab => matches!(byte, b' ' | b'\t'),
            Separator::Tab => byte == b'\t',
            Separator::Comma => byte == b',',
        }
    }

    fn pass_spaces(&mut self) {
        while self.line.get(self.at).is_some_and(|byte| self.is_separator(*byte)) {
            self.at += 1;
        }
    }

    /// Goes on behind the separator at `end`. `None` where there is none.
    fn pass_separator(&mut self, end: usize) -> Option<()> {
        match self.line.get(end) {
            // Past the line's end, which tells it from a value that is empty.
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

    fn is_at_end(&mut self) -> bool {
        if matches!(self.separator, Separator::Spaces | Separator::SpacesOrTab) {
            self.pass_spaces();
            return self.at >= self.line.len();
        }
        self.at > self.line.len()
    }
}
