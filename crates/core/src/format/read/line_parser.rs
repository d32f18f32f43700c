//! Reads lines with a format.

use std::sync::Arc;

use super::staleness::Staleness;
use crate::format::compiled::Format;
use crate::format::program::Program;
use crate::format::program::mismatch::{Mismatch, Reason};
use crate::format::program::quoted_line::QuotedLine;
use crate::format::program::sink::LineState;
use crate::format::program::wrapper::{DockerReader, NO_TIME, Wrapper};
use crate::record::Record;
use crate::value::TimeParts;

/// Why a directive gives no record.
const DIRECTIVE: &str = "this line says what the others are, and is no record";
/// Why a line behind a directive that the parser does not follow gives none.
const STALE: &str = "the #Fields: before this line are not those of the format";

/// Reads the lines of one format. It remembers the last time stamp, so each thread has
/// its own.
#[derive(Debug, Clone)]
pub struct LineParser {
    format: Arc<Format>,
    has_time: bool,
    /// The short way through lines that are as most are.
    short_way: Option<QuotedLine>,
    state: LineState,
    staleness: Staleness,
    /// Where the lines are escaped.
    docker: Option<DockerReader>,
}

impl LineParser {
    /// A parser of `format`'s lines.
    pub fn new(format: Arc<Format>) -> Self {
        let has_time = format.program().has_time_parts();
        let short_way = match format.program() {
            Program::Line(program) if format.wrapper().is_none() => QuotedLine::of(program),
            _ => None,
        };
        let state = LineState { year_reference_s: format.year_reference(), ..Default::default() };
        let is_escaped = format.wrapper().is_some_and(Wrapper::is_escaped);
        Self {
            format,
            has_time,
            short_way,
            state,
            staleness: Staleness::default(),
            docker: is_escaped.then(DockerReader::new),
        }
    }

    /// A parser that keeps the targets of a format that [`Format::has_target`] whole, in
    /// [`Record::target`].
    pub(crate) fn keeping_targets(format: Arc<Format>) -> Self {
        let mut parser = Self::new(format);
        parser.state.keeps_target = parser.format.has_request_target();
        parser
    }

    /// Goes on with the lines of a log of another time; see [`Format::with_year_reference`].
    pub(crate) fn set_year_reference(&mut self, unix_s: Option<i64>) {
        self.state.year_reference_s = unix_s;
    }

    /// The format.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// Reads a line, without its line end, into `record`. Where the format
    /// [`Self::is_escaped`], the line has to be as [`Self::unwrap`] gives it.
    ///
    /// # Errors
    /// Where the line does not fit. What `record` holds then is unspecified.
    #[inline]
    pub fn parse<'a>(&mut self, line: &'a [u8], record: &mut Record<'a>) -> Result<(), Mismatch> {
        if line.is_empty() {
            return Err(Mismatch::new(0, Reason::EmptyLine));
        }
        record.clear(self.format.extra_fields().len());
        self.state.time = TimeParts::default();
        match self.format.wrapper() {
            None => self.parse_inside(line, record),
            Some(wrapper) => self.parse_wrapped(wrapper, line, record),
        }
    }

    fn parse_wrapped<'a>(
        &mut self,
        wrapper: Wrapper,
        line: &'a [u8],
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let extra = self.format.extra_fields().len() - wrapper.extra_fields().len();
        let reference_s = self.state.year_reference_s;
        let (start, time) = wrapper.read(line, record, extra, reference_s)?;
        let inside = &line[start..];
        if inside.is_empty() {
            return Err(Mismatch::new(start, Reason::EmptyLine));
        }
        self.parse_inside(inside, record)
            .map_err(|mismatch| Mismatch::new(start + mismatch.at, mismatch.reason))?;
        if self.format.takes_wrapper_time() {
            record.time = Some(time.ok_or(Mismatch::new(0, Reason::Form(NO_TIME)))?);
        }
        Ok(())
    }

    /// True where lines have to be written anew before they can be read, because what they are
    /// wrapped in escapes them.
    pub fn is_escaped(&self) -> bool {
        self.docker.is_some()
    }

    /// The line inside an escaped one, written to `text`, which is emptied before; any other
    /// line as it is.
    ///
    /// # Errors
    /// Where the line is not wrapped so.
    pub fn unwrap<'a>(&self, line: &'a [u8], text: &'a mut Vec<u8>) -> Result<&'a [u8], Mismatch> {
        if self.docker.is_none() {
            return Ok(line);
        }
        text.clear();
        self.append_unwrapped(line, text)?;
        Ok(text)
    }

    /// As [`Self::unwrap`], behind what `text` holds.
    pub(crate) fn append_unwrapped(&self, line: &[u8], text: &mut Vec<u8>) -> Result<(), Mismatch> {
        match &self.docker {
            Some(docker) => docker.unwrap(line, text),
            None => {
                text.extend_from_slice(line);
                Ok(())
            }
        }
    }

    #[inline]
    fn parse_inside<'a>(
        &mut self,
        line: &'a [u8],
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let program = self.format.program();
        if let Program::Delimited(delimited) = program {
            if delimited.passes_over(line) {
                return Err(Mismatch::new(0, Reason::Form(DIRECTIVE)));
            }
            if self.staleness.is_stale() {
                return Err(Mismatch::new(0, Reason::Form(STALE)));
            }
        }
        program.parse(line, record, &mut self.state)?;
        if self.has_time {
            let time = self.state.time.finish();
            record.time = Some(time.ok_or(Mismatch::new(0, Reason::Time))?);
        }
        Ok(())
    }

    /// Whether a line is neither a record nor an error, such as a `#Fields:` directive. This parser
    /// goes on with its own list of fields; [`crate::FollowedFormat`] follows the directive.
    #[inline]
    pub fn passes_over(&mut self, line: &[u8]) -> bool {
        let Program::Delimited(program) = self.format.program() else { return false };
        let passes = program.passes_over(line);
        if passes {
            self.staleness.pass(line, &self.format);
        }
        passes
    }

    /// Begins another block, which is of the parser's format at its start.
    pub(crate) fn begin_block(&mut self) {
        self.staleness = Staleness::default();
    }

    /// The quotes that a line has where there is a short way through it, which
    /// [`Self::parse_indexed`] takes.
    pub(crate) fn short_way_quotes(&self) -> Option<usize> {
        self.short_way.as_ref().map(QuotedLine::quotes)
    }

    /// As [`Self::parse`], into a record that was made by [`Self::record`], given where the
    /// line's quotes are, in bytes from its start; behind the last one anything but a place
    /// in the line.
    #[inline]
    pub(crate) fn parse_indexed<'a>(
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
        record.clear(self.format.extra_fields().len());
        record
    }

    /// Puts a mismatch into words: what was expected where it happened.
    pub fn explain(&self, mismatch: Mismatch) -> String {
        self.format.program().explain(mismatch)
    }
}
