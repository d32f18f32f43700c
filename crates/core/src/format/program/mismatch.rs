//! Why a line does not match its format.
//!
//! Reading a log of the wrong format makes as many mismatches as lines, and detection makes them
//! for every known format. So a mismatch is a number and a small enum, copied and never allocated;
//! names and sentences come from the program afterwards, for the few that are shown.

use std::fmt;

/// Where and why a line does not match its format.
///
/// It is plain data and cheap to create, because every log has broken lines.
/// [`crate::LineParser::explain`] describes it in words.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Format, LineParser, Record};
///
/// let mut parser = LineParser::new(Arc::new(Format::parse("$remote_addr $status")?));
/// let mismatch = parser.parse(b"192.0.2.7 20x", &mut Record::new()).unwrap_err();
/// assert_eq!(mismatch.at, 10);
/// assert_eq!(parser.explain(mismatch), "$status is not a status of three digits");
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// The offset points at the value that has the wrong form, or at the place of the text that is
/// missing. It is in the line as it was read: in the unescaped line, if its wrapper escapes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// The offset in the line where it stops matching, in bytes.
    ///
    /// From 0 to the length of the line.
    pub at: usize,
    pub(in crate::format) reason: Reason,
}

/// The reason of a mismatch. A number is an index into the values of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Reason {
    EmptyLine,
    /// The text before the first value is missing.
    Prefix,
    /// The text after this value is missing.
    Unended(u16),
    /// This value is not of its kind.
    Value(u16),
    /// The line ends before this value.
    Ended(u16),
    /// The quote before this value is not closed.
    Quote(u16),
    /// The line does not have the form of its program, for this reason.
    Form(&'static str),
    /// The line has more bytes after the last value.
    Trailing,
    /// The values of the time do not determine a time.
    Time,
    /// The line is not a JSON object, for this reason.
    Json(&'static str),
    /// The line has none of the keys of this requirement of a JSON format.
    Missing(u16),
}

impl Reason {
    /// The number of values that were read before the mismatch.
    pub(in crate::format) fn values_before(self) -> usize {
        match self {
            Self::Unended(index) | Self::Value(index) | Self::Ended(index) | Self::Quote(index) => {
                usize::from(index)
            }
            Self::Trailing | Self::Time => usize::MAX,
            Self::EmptyLine | Self::Prefix | Self::Form(_) | Self::Json(_) | Self::Missing(_) => 0,
        }
    }
}

impl Mismatch {
    /// A mismatch at this offset in the line.
    pub(in crate::format) const fn new(at: usize, reason: Reason) -> Self {
        Self { at, reason }
    }

    /// The same mismatch in a line that has this many more bytes before it.
    pub(in crate::format) fn moved_by(self, bytes: usize) -> Self {
        Self { at: self.at + bytes, ..self }
    }

    /// Whether the line is empty or has only blanks, perhaps inside its wrapper. Such a line is no
    /// record, but not unparsed either.
    pub fn is_of_empty_line(self) -> bool {
        self.reason == Reason::EmptyLine
    }
}

/// The description of a mismatch, with the names of the format.
///
/// The sentence has no full stop and names what was expected. Control characters of the definition
/// are replaced.
pub(in crate::format) struct Explanation<'a> {
    pub(in crate::format) reason: Reason,
    /// The name of the value concerned.
    pub(in crate::format) value: &'a str,
    /// The kind that the value should be of, such as `a duration`.
    pub(in crate::format) kind: &'a str,
    /// The text that should follow it.
    pub(in crate::format) follows: &'a str,
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, kind, .. } = self;
        let follows = self.follows.replace(char::is_control, "\u{fffd}");
        match self.reason {
            Reason::EmptyLine => write!(formatter, "the line is empty"),
            Reason::Prefix => write!(formatter, "expected `{follows}`"),
            Reason::Unended(_) => write!(formatter, "expected `{follows}` after {value}"),
            Reason::Value(_) => write!(formatter, "{value} is not {kind}"),
            Reason::Trailing => write!(formatter, "expected the end of the line after {value}"),
            Reason::Ended(_) => write!(formatter, "the line ends before {value}"),
            Reason::Quote(_) => write!(formatter, "the quote before {value} is not closed"),
            Reason::Json(message) | Reason::Form(message) => formatter.write_str(message),
            Reason::Missing(_) => write!(formatter, "expected {value}"),
            Reason::Time => write!(formatter, "the values of the time do not determine a time"),
        }
    }
}
