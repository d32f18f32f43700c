//! Why a line does not fit its format.

use std::fmt;

/// Where and why a line stopped fitting. It is data, not an error: logs are dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the line, in bytes from 0.
    pub at: usize,
    pub(in crate::format) reason: Reason,
}

/// The reason, with the index of the program's value it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Reason {
    EmptyLine,
    /// The text before the first value is not there.
    Prefix,
    /// The text that ends value number `_` does not follow.
    Unended(u16),
    /// Value number `_` is not of its kind.
    Value(u16),
    /// The line ends before value number `_`.
    Ended(u16),
    /// The quote that value number `_` starts with is not closed.
    Quote(u16),
    /// The line does not have the form of its program, for this reason.
    Form(&'static str),
    /// The line goes on after the format's end.
    Trailing,
    /// The time fields do not make a time.
    Time,
    /// The line is no JSON object, for this reason.
    Json(&'static str),
    /// None of the keys of requirement number `_` of a JSON format is there.
    Missing(u16),
}

impl Mismatch {
    pub(in crate::format) const fn new(at: usize, reason: Reason) -> Self {
        Self { at, reason }
    }
}

/// A mismatch in words, which need the format's own names.
pub(in crate::format) struct Explanation<'a> {
    pub(in crate::format) reason: Reason,
    /// The name of the value concerned.
    pub(in crate::format) value: &'a str,
    /// What the value has to be.
    pub(in crate::format) kind: &'a str,
    /// The text that has to follow it.
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
            Reason::Trailing => write!(formatter, "the line goes on after {value}"),
            Reason::Ended(_) => write!(formatter, "the line ends before {value}"),
            Reason::Quote(_) => write!(formatter, "the quote before {value} is not closed"),
            Reason::Json(message) | Reason::Form(message) => formatter.write_str(message),
            Reason::Missing(_) => write!(formatter, "there is no {value}"),
            Reason::Time => write!(formatter, "the time fields make no time"),
        }
    }
}
