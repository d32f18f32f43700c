//! Reads a log line by line, with its wrappers and directives.
//!
//! The simplest way to read a log that may have anything between its records. A callback gets each
//! line's outcome, because a record borrows from the line, or from the reader's buffers if the line
//! was unwrapped or a value decoded, and cannot outlive the call.

use std::sync::Arc;

use super::followed_format::FollowedFormat;
use super::line_parser::LineParser;
use crate::derived::DerivedMemo;
use crate::format::compiled::Format;
use crate::format::program::mismatch::Mismatch;
use crate::record::Record;

/// Reads the lines of a log in order. It unwraps lines that their wrapper escapes and follows
/// directives that change the format.
///
/// [`crate::BlockReader`] is faster; it reads blocks that are split where the format changes.
///
/// ```
/// use std::sync::Arc;
///
/// use weir_core::{Field, LineOutcome, LogReader, format_by_name};
///
/// let mut reader = LogReader::new(Arc::new(format_by_name("W3C").unwrap()));
/// reader.read(b"#Fields: date time c-ip sc-status", |_, outcome| {
///     assert!(matches!(outcome, LineOutcome::Directive));
/// });
/// reader.read(b"2025-12-17 09:03:01 192.0.2.7 200", |_, outcome| {
///     let LineOutcome::Record(record) = outcome else { panic!("the line matches") };
///     assert_eq!(record.text(Field::Client), Some(&b"192.0.2.7"[..]));
/// });
/// ```
///
/// Memory is one line, twice if it is decoded, and the formats that directives have brought
/// ([`FollowedFormat`]).
#[derive(Debug, Clone)]
pub struct LogReader {
    /// `None` where the format does not change: in a span, and if no directive changes it.
    followed: Option<FollowedFormat>,
    parser: LineParser,
    /// The last unwrapped line.
    text: Vec<u8>,
    /// The memory for the decoded values of a line.
    decoded: Vec<u8>,
    /// The parsers of lines that the format does not match, in the order in which they are tried.
    companions: Vec<LineParser>,
    /// The values of derived fields.
    derived: DerivedMemo,
}

/// The result of reading one line.
///
/// The three are exhaustive: each line of a log is one of them.
#[derive(Debug)]
pub enum LineOutcome<'r, 'a> {
    /// A record.
    Record(&'r Record<'a>),
    /// A line that describes other lines, such as `#Fields:` or a header of column names.
    Directive,
    /// A line that does not match the format. [`LineParser::explain`] describes the mismatch. Empty
    /// lines are among them ([`Mismatch::is_of_empty_line`]).
    Unparsed(Mismatch),
}

impl LogReader {
    /// A reader at the start of a log.
    pub fn new(format: Arc<Format>) -> Self {
        Self::with_companions(format, &[])
    }

    /// A reader at the start of a log in which lines of other formats stand as well. A line that
    /// `format` does not match is read by the first of `companions` that it matches; see
    /// [`crate::FormatSpan::companions`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use weir_core::{Format, LineOutcome, LogReader};
    ///
    /// let own = Arc::new(Format::parse("$remote_addr $status")?);
    /// let companion = Arc::new(Format::parse("$status")?);
    /// let mut reader = LogReader::with_companions(own, &[companion]);
    /// reader.read(b"404", |parser, outcome| {
    ///     assert!(matches!(outcome, LineOutcome::Record(_)));
    ///     assert_eq!(parser.format().definition(), "$status");
    /// });
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn with_companions(format: Arc<Format>, companions: &[Arc<Format>]) -> Self {
        let followed = FollowedFormat::new(format.clone());
        let followed = followed.may_change().then_some(followed);
        Self { followed, ..Self::of_span(format, companions) }
    }

    /// A reader of the lines of one [`crate::FormatSpan`]. A [`crate::FormatTracker`] has followed
    /// the directives, so this reader only skips them.
    pub fn of_span(format: Arc<Format>, companions: &[Arc<Format>]) -> Self {
        let companions = companions.iter().map(|format| LineParser::new(format.clone())).collect();
        let parser = LineParser::new(format);
        Self {
            followed: None,
            parser,
            text: Vec::new(),
            decoded: Vec::new(),
            companions,
            derived: DerivedMemo::default(),
        }
    }

    /// Begins another span in the same formats.
    pub fn begin_span(&mut self) {
        self.parser.begin_block();
    }

    /// Sets the name of the source of the next lines.
    ///
    /// Only fields that are derived from it need it.
    pub fn set_source_name(&mut self, name: &str) {
        self.derived.set_source(name);
    }

    /// Adds a format in which lines are tried after all others, from the next line on.
    pub fn add_companion(&mut self, format: Arc<Format>) {
        self.companions.push(LineParser::new(format));
    }

    /// The parser of the next line. Its format is that of the line.
    pub fn parser(&self) -> &LineParser {
        &self.parser
    }

    /// Reads the next line, without its line end, and returns the result of `then` for it. The
    /// parser that `then` gets has the format of the line.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Format, LineOutcome, Lines, LogReader};
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $status")?);
    /// let mut reader = LogReader::new(format);
    /// let mut reasons = Vec::new();
    /// for line in Lines::new(b"::1 200\n::1 OK\n\n") {
    ///     reader.read(line.bytes, |parser, outcome| {
    ///         if let LineOutcome::Unparsed(mismatch) = outcome {
    ///             reasons.push((mismatch.at, parser.explain(mismatch)));
    ///         }
    ///     });
    /// }
    /// assert_eq!(reasons[0], (4, "$status is not a status of three digits".to_owned()));
    /// assert_eq!(reasons.len(), 2);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn read<T>(
        &mut self,
        line: &[u8],
        then: impl FnOnce(&LineParser, LineOutcome<'_, '_>) -> T,
    ) -> T {
        if let Some(followed) = &mut self.followed
            && followed.follow(line)
        {
            self.parser = LineParser::new(followed.format().clone());
        }
        if self.parser.read_directive(line) {
            return then(&self.parser, LineOutcome::Directive);
        }
        let mut record = Record::new();
        let inside = match line.trim_ascii() {
            // The mismatch of an empty line is that it is empty, not that it lacks the wrapper.
            [] => Ok(line),
            _ => self.parser.unwrap(line, &mut self.text),
        };
        let outcome = match inside {
            Ok(inside) => self.parser.parse_decoding(inside, &mut self.decoded, &mut record),
            Err(mismatch) => Err(mismatch),
        };
        match outcome {
            Ok(()) => then_record(&self.parser, &mut self.derived, record, then),
            Err(mismatch) if mismatch.is_of_empty_line() => {
                then(&self.parser, LineOutcome::Unparsed(mismatch))
            }
            Err(mismatch) => self.read_companion(line, mismatch, then),
        }
    }

    /// Reads a line that the format does not match.
    #[cold]
    fn read_companion<T>(
        &mut self,
        line: &[u8],
        mismatch: Mismatch,
        then: impl FnOnce(&LineParser, LineOutcome<'_, '_>) -> T,
    ) -> T {
        let matching = self
            .companions
            .iter_mut()
            .find_map(|parser| parser.matches(line, &mut self.text).then_some(parser));
        if let Some(parser) = matching {
            let mut record = Record::new();
            if let Ok(inside) = parser.unwrap(line, &mut self.text)
                && parser.parse_decoding(inside, &mut self.decoded, &mut record).is_ok()
            {
                return then_record(parser, &mut self.derived, record, then);
            }
        }
        then(&self.parser, LineOutcome::Unparsed(mismatch))
    }

    /// Whether `line`, the last one read, is a `#Fields:` directive that was followed.
    pub(in crate::format) fn is_field_list(&self, line: &[u8]) -> bool {
        self.followed.as_ref().is_some_and(|followed| followed.is_field_list(line))
    }
}

/// Passes a record on, with its derived fields.
#[inline]
fn then_record<T>(
    parser: &LineParser,
    derived: &mut DerivedMemo,
    record: Record<'_>,
    then: impl FnOnce(&LineParser, LineOutcome<'_, '_>) -> T,
) -> T {
    let parts = parser.format().derived();
    if parts.is_empty() {
        return then(parser, LineOutcome::Record(&record));
    }
    derived.derive(parts, &record);
    let mut record = record;
    derived.put(parts, &mut record);
    then(parser, LineOutcome::Record(&record))
}
