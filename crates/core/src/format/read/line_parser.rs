//! Reads lines with a format.
//!
//! The parser puts together what a format consists of: the wrapper around the line, the program for
//! the line inside, and the time, whose parts may come from several values. For the usual formats
//! with quotes there is a fast path, which is tried first and reads the same lines with the same
//! result.
//!
//! Errors are values of a few words ([`Mismatch`]); the sentence for a person is made only when it
//! is asked for ([`LineParser::explain`]).

mod layers;

use std::sync::Arc;

use super::staleness::Staleness;
use crate::format::compiled::Format;
use crate::format::program::Program;
use crate::format::program::keyed::DecodeBuffer;
use crate::format::program::mismatch::Mismatch;
use crate::format::program::quoted_line::QuotedLine;
use crate::format::program::sink::LineState;
use crate::format::program::wrapper::{Wrapper, docker};
use crate::record::Record;

/// Reads the lines of one format.
///
/// It caches the last time, because the lines of a busy server share their second, and keeps the
/// buffers of a line. So each thread needs its own parser. Parsing a line allocates nothing, except
/// for buffers that grow to the size of a line.
///
/// For a log with directives or escaped lines use a [`crate::LogReader`], for whole blocks a
/// [`crate::BlockReader`].
///
/// ```
/// use std::sync::Arc;
///
/// use weir_core::{Field, Format, LineParser, Record};
///
/// let format = Format::parse("$remote_addr $status $body_bytes_sent")?;
/// let mut parser = LineParser::new(Arc::new(format));
/// let mut record = Record::new();
/// parser.parse(b"192.0.2.7 404 153", &mut record).unwrap();
/// assert_eq!(record.text(Field::Status), Some(&b"404"[..]));
/// assert_eq!(record.number(Field::Bytes), Some(153));
///
/// let mismatch = parser.parse(b"192.0.2.7 missing 153", &mut record).unwrap_err();
/// assert_eq!(mismatch.at, 10);
/// assert_eq!(parser.explain(mismatch), "$status is not a status of three digits");
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// A parser may be used for the lines of several logs in the same format, in any order: what it
/// keeps between lines changes no result, except after [`Self::read_directive`].
#[derive(Debug, Clone)]
pub struct LineParser {
    format: Arc<Format>,
    has_time: bool,
    /// The fast path for the usual lines, if the format has one.
    fast_path: Option<QuotedLine>,
    state: LineState,
    staleness: Staleness,
    /// Whether the wrapper escapes the lines.
    is_escaped: bool,
    /// The memory of [`Self::read_line`] for the decoded values of a line.
    decoded: Vec<u8>,
}

impl LineParser {
    /// A parser of `format`'s lines.
    pub fn new(format: Arc<Format>) -> Self {
        let has_time = format.program().has_time_parts()
            || format.envelopes().iter().any(|envelope| envelope.has_time());
        let state = LineState { year_reference_s: format.year_reference(), ..Default::default() };
        let is_escaped = format.wrapper().is_some_and(Wrapper::is_escaped);
        Self {
            format,
            has_time,
            fast_path: None,
            state,
            staleness: Staleness::default(),
            is_escaped,
            decoded: Vec::new(),
        }
    }

    /// A parser of the lines of blocks. It has the fast path of [`Self::parse_indexed`] and, if the
    /// format [`Format::has_request_target`], keeps the target whole in [`Record::target`] instead of
    /// splitting it into path and query.
    pub(crate) fn of_blocks(format: Arc<Format>) -> Self {
        let mut parser = Self::new(format);
        let format = &parser.format;
        parser.state.keeps_target = format.has_request_target();
        let is_bare =
            format.wrapper().is_none() && format.head().is_none() && format.envelopes().is_empty();
        // The usual lines have their clients in their place, and their values as they are.
        let has_usual_values = format.client_rule().is_none() && format.address_mask().is_none();
        parser.fast_path = match format.program() {
            Program::Line(program) if is_bare && has_usual_values => QuotedLine::of(program),
            _ => None,
        };
        parser
    }

    /// Continues with lines that have another reference for years; see
    /// [`Format::with_year_reference`].
    pub(crate) fn set_year_reference(&mut self, unix_s: Option<i64>) {
        self.state.year_reference_s = unix_s;
    }

    /// The format of the lines.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// Reads a line, without its line end, into `record`, which borrows from the line. If the
    /// parser [`Self::is_escaped`], `line` is a result of [`Self::unwrap`].
    ///
    /// # Errors
    /// If the line does not match. The content of `record` is then unspecified.
    ///
    /// An empty line does not match any format. A failed line leaves the parser as it was.
    ///
    /// JSON strings keep their escapes; see [`Self::parse_decoding`].
    #[inline]
    pub fn parse<'a>(&mut self, line: &'a [u8], record: &mut Record<'a>) -> Result<(), Mismatch> {
        self.parse_into(line, &mut DecodeBuffer::default(), record)
    }

    /// Does what [`Self::parse`] does, and decodes the escapes of JSON strings. These values borrow
    /// from `memory`, whose content is replaced. It grows to the next power of two of the line's
    /// length if the format is JSON.
    ///
    /// # Errors
    /// If the line does not match.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Field, Format, LineParser, Record};
    ///
    /// let format = Format::parse("json:time=t,path=p")?;
    /// let mut parser = LineParser::new(Arc::new(format));
    /// let (mut memory, mut record) = (Vec::new(), Record::new());
    /// let line = br#"{"t":"2025-12-17T09:03:01Z","p":"\/caf\u00e9"}"#;
    /// parser.parse_decoding(line, &mut memory, &mut record).unwrap();
    /// assert_eq!(record.text(Field::Path), Some("/café".as_bytes()));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn parse_decoding<'a>(
        &mut self,
        line: &'a [u8],
        memory: &'a mut Vec<u8>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        let mut decoded = self.decode_buffer(memory, line.len());
        self.parse_into(line, &mut decoded, record)
    }

    /// The buffer for the decoded values of lines that have `bytes` bytes together. Only JSON has
    /// such values, those of an object in another one twice, and lines whose addresses are hidden:
    /// a byte of a request line may be in three values.
    pub(crate) fn decode_buffer<'a>(
        &self,
        memory: &'a mut Vec<u8>,
        bytes: usize,
    ) -> DecodeBuffer<'a> {
        let is_json = matches!(self.format.program(), Program::Json(_));
        let hidden = if self.format.address_mask().is_some() { 3 } else { 0 };
        match self.format.envelopes().len() + usize::from(is_json) + hidden {
            0 => DecodeBuffer::default(),
            times => DecodeBuffer::with_room(memory, bytes * times),
        }
    }

    /// Whether lines must be unescaped with [`Self::unwrap`] before they can be parsed, because
    /// their wrapper escapes them.
    pub fn is_escaped(&self) -> bool {
        self.is_escaped
    }

    /// Returns the line inside an escaping wrapper. It is written to `text`, whose content is
    /// replaced. If the parser is not [`Self::is_escaped`], `line` is returned as it is.
    ///
    /// # Errors
    /// If the line is not in the wrapper.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Field, Format, LineParser, Record};
    ///
    /// let format = Format::parse("$remote_addr $status in DOCKER")?;
    /// let mut parser = LineParser::new(Arc::new(format));
    /// let line = br#"{"log":"192.0.2.7 404\n","stream":"stdout","time":"2025-12-17T09:03:01Z"}"#;
    ///
    /// let mut text = Vec::new();
    /// let inside = parser.unwrap(line, &mut text).unwrap();
    /// let mut record = Record::new();
    /// parser.parse(inside, &mut record).unwrap();
    /// assert_eq!(record.text(Field::Status), Some(&b"404"[..]));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn unwrap<'a>(&self, line: &'a [u8], text: &'a mut Vec<u8>) -> Result<&'a [u8], Mismatch> {
        if !self.is_escaped {
            return Ok(line);
        }
        text.clear();
        self.append_unwrapped(line, text)?;
        Ok(text)
    }

    /// Does what [`Self::unwrap`] does, but appends the line to `text`.
    pub(crate) fn append_unwrapped(&self, line: &[u8], text: &mut Vec<u8>) -> Result<(), Mismatch> {
        if self.is_escaped {
            return docker::unwrap(line, text);
        }
        text.extend_from_slice(line);
        Ok(())
    }

    /// Whether a line of a log matches, with its wrapper if the format has one. `text` is a
    /// buffer for an escaped line.
    pub fn matches(&mut self, line: &[u8], text: &mut Vec<u8>) -> bool {
        self.read_line(line, text, |_| ()).is_some()
    }

    /// Reads a line of a log, with its wrapper if the format has one, and returns the result of
    /// `then` for its record; `None` if the line does not match. `text` is a buffer for an escaped
    /// line.
    pub(in crate::format) fn read_line<T>(
        &mut self,
        line: &[u8],
        text: &mut Vec<u8>,
        then: impl FnOnce(&Record<'_>) -> T,
    ) -> Option<T> {
        let inside = self.unwrap(line, text).ok()?;
        let mut memory = std::mem::take(&mut self.decoded);
        let mut record = Record::new();
        let outcome = self.parse_decoding(inside, &mut memory, &mut record);
        let result = outcome.is_ok().then(|| then(&record));
        self.decoded = memory;
        result
    }

    /// Reads `line` if it is a directive, such as `#Fields:`, and returns whether it is one.
    ///
    /// The parser keeps its format: after a directive with other fields the lines do not match. A
    /// [`crate::FollowedFormat`] has their format.
    ///
    /// False for every line of most formats.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Format, LineParser, Record};
    ///
    /// let format = Format::parse("#Fields: c-ip sc-status")?;
    /// let mut parser = LineParser::new(Arc::new(format));
    /// assert!(!parser.read_directive(b"::1 200"));
    /// assert!(parser.parse(b"::1 200", &mut Record::new()).is_ok());
    ///
    /// assert!(parser.read_directive(b"#Fields: sc-status c-ip"));
    /// assert!(parser.parse(b"200 ::1", &mut Record::new()).is_err());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    #[inline]
    pub fn read_directive(&mut self, line: &[u8]) -> bool {
        matches!(self.format.program(), Program::Delimited(_)) && self.read_delimited(line)
    }

    /// Does what [`Self::read_directive`] does for a format whose lines may be directives.
    #[inline(never)]
    fn read_delimited(&mut self, line: &[u8]) -> bool {
        let Program::Delimited(program) = self.format.program() else { return false };
        let is_directive = program.is_directive(line);
        if is_directive {
            self.staleness.follow(line, &self.format);
        }
        is_directive
    }

    /// Begins another block, whose first line has the parser's format.
    pub(crate) fn begin_block(&mut self) {
        self.staleness = Staleness::default();
    }

    /// The number of quotes in a line that the fast path of [`Self::parse_indexed`] can read, if
    /// the format has one.
    pub(crate) fn fast_path_quotes(&self) -> Option<usize> {
        self.fast_path.as_ref().map(QuotedLine::quotes)
    }

    /// Does what [`Self::parse`] does, with the offsets of the line's quotes. `quotes(n)` is the
    /// offset of quote number `n` in the line, or any number outside the line if it has fewer.
    /// Decoded values are put into `decoded`. `record` must come from [`Self::record`].
    ///
    /// Both paths fill the same fields. The fast path gives up without an error at the first thing
    /// that is not as usual, such as an escaped quote.
    #[inline]
    pub(crate) fn parse_indexed<'a>(
        &mut self,
        line: &'a [u8],
        quotes: impl Fn(usize) -> usize,
        decoded: &mut DecodeBuffer<'a>,
        record: &mut Record<'a>,
    ) -> Result<(), Mismatch> {
        if let Some(fast_path) = &self.fast_path
            && fast_path.parse(line, quotes, record, &mut self.state).is_some()
        {
            return Ok(());
        }
        self.parse_into(line, decoded, record)
    }

    /// An empty record with room for the format's extra fields.
    pub(crate) fn record<'a>(&self) -> Record<'a> {
        let mut record = Record::new();
        record.clear(self.format.extra_fields().len());
        record
    }

    /// The number of the format's keys that the last line has, if its lines are JSON objects.
    pub(in crate::format) fn keys_found(&self) -> usize {
        self.state.json_values.len()
    }

    /// Whether the last line has the key of this entry of the format, if its lines are JSON objects.
    pub(in crate::format) fn has_key(&self, entry: usize) -> bool {
        self.state.json_values.has_key(entry)
    }

    /// Describes a mismatch: what the format expects at its place.
    ///
    /// The mismatch must be one of this parser's format.
    pub fn explain(&self, mismatch: Mismatch) -> String {
        self.format.program().explain(mismatch)
    }
}
