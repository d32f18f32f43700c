//! Reads lines with a format.

use std::sync::Arc;

use super::mismatch::Reason;
use super::quoted_line::QuotedLine;
use super::target::LineState;
use super::{Format, Mismatch, Program};
use crate::record::Record;
use crate::value::TimeParts;

/// Reads the lines of one format. It remembers the last time stamp, so each thread has
/// its own.
#[derive(Debug, Clone)]
pub struct LineParser {
    format: Arc<Format>,
    has_time: bool,
    /// The short way through lines that are as most are.
    short_way: Option<QuotedLine>,
    state: LineState,
}

impl LineParser {
    /// A parser of `format`'s lines.
    pub fn new(format: Arc<Format>) -> Self {
        let has_time = match &format.program {
            Program::Line(program) => program.has_time(),
            Program::Json(program) => program.has_time(),
        };
        let short_way = match &format.program {
            Program::Line(program) => QuotedLine::of(program),
            Program::Json(_) => None,
        };
        Self { format, has_time, short_way, state: LineState::default() }
    }

    /// A parser that keeps the targets of a format that [`Format::has_target`] whole, in
    /// [`Record::target`].
    pub(crate) fn keeping_targets(format: Arc<Format>) -> Self {
        let mut parser = Self::new(format);
        parser.state.keeps_target = parser.format.has_target();
        parser
    }

    /// The format.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// Reads a line, without its line end, into `record`.
    ///
    /// # Errors
    /// Where the line does not fit. What `record` holds then is unspecified.
    #[inline]
    pub fn parse<'a>(&mut self, line: &'a [u8], record: &mut Record<'a>) -> Result<(), Mismatch> {
        if line.is_empty() {
            return Err(Mismatch::new(0, Reason::EmptyLine));
        }
        record.clear(self.format.extra_fields.len());
        self.state.time = TimeParts::default();
        match &self.format.program {
            Program::Line(program) => program.parse(line, record, &mut self.state)?,
            Program::Json(program) => program.parse(line, record, &mut self.state)?,
        }
        if self.has_time {
            let time = self.state.time.finish();
            record.time = Some(time.ok_or(Mismatch::new(0, Reason::Time))?);
        }
        Ok(())
    }

    /// The quotes that a line has where there is a short way through it, which
    /// [`Self::parse_marked`] takes.
    pub(crate) fn short_way_quotes(&self) -> Option<usize> {
        self.short_way.as_ref().map(QuotedLine::quotes)
    }

    /// As [`Self::parse`], into a record that was made by [`Self::record`], given where the
    /// line's quotes are, in bytes from its start; behind the last one anything but a place
    /// in the line.
    #[inline]
    pub(crate) fn parse_marked<'a>(
        &mut self,
        line: &'a [u8],
        quotes: impl Fn(usize) -> usize,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        if let Some(short_way) = &self.short_way
            && short_way.parse(line, quotes, record, &mut self.state).is_some()
        {
            return Ok(());
        }
        self.parse(line, record)
    }

    /// An empty record with room for the format's own fields.
    pub(crate) fn record<'a>(&self) -> Record<'a> {
        let mut record = Record::new();
        record.clear(self.format.extra_fields.len());
        record
    }

    /// Puts a mismatch into words: what was expected where it happened.
    pub fn explain(&self, mismatch: Mismatch) -> String {
        match &self.format.program {
            Program::Line(program) => program.explain(mismatch),
            Program::Json(program) => program.explain(mismatch),
        }
    }
}
