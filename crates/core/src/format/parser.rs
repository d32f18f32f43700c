//! Reads lines with a format.

use std::sync::Arc;

use super::mismatch::Reason;
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
    state: LineState,
}

impl LineParser {
    /// A parser of `format`'s lines.
    pub fn new(format: Arc<Format>) -> Self {
        let has_time = match &format.program {
            Program::Line(program) => program.has_time(),
            Program::Json(program) => program.has_time(),
        };
        Self { format, has_time, state: LineState::default() }
    }

    /// A parser that leaves the format's [`Format::split`] undivided, in
    /// [`Record::unsplit`].
    pub(crate) fn without_splitting(format: Arc<Format>) -> Self {
        let mut parser = Self::new(format);
        parser.state.defers_split = parser.format.split().is_some();
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

    /// Puts a mismatch into words: what was expected where it happened.
    pub fn explain(&self, mismatch: Mismatch) -> String {
        match &self.format.program {
            Program::Line(program) => program.explain(mismatch),
            Program::Json(program) => program.explain(mismatch),
        }
    }
}
