//! The error of a text that is not a rule.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use weir_core::{ConditionError, PatternRefusal, excerpt};

/// The reason why a text is not a rule, and the position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The range of the mistake in the text, in bytes. It may be empty, at the end.
    pub range: Range<usize>,
    /// A sentence: the mistake, and what to write instead.
    pub message: String,
}

impl RuleError {
    /// Makes an error at a range of the text.
    pub(crate) fn new(range: Range<usize>, message: impl fmt::Display) -> Self {
        Self { range, message: message.to_string() }
    }

    /// The error of a part of a text that begins at `offset`, in the whole text.
    pub(crate) fn moved_by(mut self, offset: usize) -> Self {
        self.range = offset + self.range.start..offset + self.range.end;
        self
    }

    /// Returns the number of the line, from 1.
    pub fn line(&self, text: &str) -> usize {
        let end = self.range.start.min(text.len());
        1 + text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count()
    }

    /// Returns the line of the mistake, and below it a line that marks the mistake.
    pub fn excerpt(&self, text: &str) -> String {
        let start = (self.range.start.min(text.len())..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len());
        let line_start = text[..start].rfind('\n').map_or(0, |line_feed| line_feed + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let range_end = self.range.end.clamp(start, line_end);
        excerpt(&text[line_start..line_end], start - line_start..range_end - line_start)
    }
}

impl From<ConditionError> for RuleError {
    fn from(error: ConditionError) -> Self {
        Self { range: error.range, message: error.message }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

/// Why a part of a text is not valid, or not followed. The reader of the text adds the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason(Cow<'static, str>);

impl Reason {
    /// Makes an error at a range of the text.
    pub(crate) fn at(self, range: Range<usize>) -> RuleError {
        RuleError { range, message: self.0.into_owned() }
    }
}

impl From<String> for Reason {
    fn from(sentence: String) -> Self {
        Self(sentence.into())
    }
}

impl From<&'static str> for Reason {
    fn from(sentence: &'static str) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The error of a text whose rules cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// The text is not a rule.
    Rule(RuleError),
    /// The text has more rules than allowed.
    TooMany {
        /// The number of rules in the text.
        found: usize,
        /// The most rules allowed.
        max: usize,
    },
    /// The budget refuses the patterns of the rules.
    Patterns(PatternRefusal),
}

impl ParseError {
    /// Checks the number of rules in a text.
    pub(crate) fn check_count(found: usize, max: usize) -> Result<(), Self> {
        if found > max { Err(Self::TooMany { found, max }) } else { Ok(()) }
    }
}

impl From<RuleError> for ParseError {
    fn from(error: RuleError) -> Self {
        Self::Rule(error)
    }
}

impl From<ParseError> for RuleError {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Rule(error) => error,
            ParseError::TooMany { .. } | ParseError::Patterns(_) => Self::new(0..0, error),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(error) => error.fmt(formatter),
            Self::TooMany { found, max } => {
                write!(formatter, "the text has {found} rules; leave {max} of them")
            }
            Self::Patterns(PatternRefusal::Stopped) => {
                write!(formatter, "the rules were not compiled to the end")
            }
            Self::Patterns(PatternRefusal::NoRoom { bytes_needed, bytes_of_others, bytes_max }) => {
                let [needed, of_others, max] =
                    [bytes_needed, bytes_of_others, bytes_max].map(|bytes| bytes >> 10);
                write!(
                    formatter,
                    "the compiled patterns of the rules need {needed} KiB or more. All patterns may \
                     take {max} KiB, of which those of other rules take {of_others}; leave some \
                     out, or make them simpler"
                )
            }
        }
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::RuleError;

    #[test]
    fn the_place_is_shown_in_its_line() {
        let text = "first\nlimit_req zone=é brust=5;\nlast";
        let start = text.find("brust").expect("the word");
        let error = RuleError::new(start..start + 5, "unknown");
        assert_eq!(error.line(text), 2);
        assert_eq!(error.excerpt(text), "limit_req zone=é brust=5;\n                 ^^^^^");
        let tabs = "server {\n\t\tlimit_req\tzone=é\tbrust=5;\n}";
        let start = tabs.find("zone").expect("the word");
        let error = RuleError::new(start..start + 14, "unknown");
        let expected = "\t\tlimit_req\tzone=é\tbrust=5;\n\t\t         \t^^^^^^\t^^^^^^";
        assert_eq!(error.excerpt(tabs), expected);
        assert_eq!(RuleError::new(9..10, "a tab").excerpt(tabs).lines().last(), Some("^"));
        let at_end = RuleError::new(text.len()..text.len() + 9, "unfinished");
        assert_eq!((at_end.line(text), at_end.excerpt(text)), (3, "last\n    ^".to_owned()));
    }
}
