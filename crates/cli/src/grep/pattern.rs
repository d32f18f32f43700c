//! The regular expression.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::GrepArguments;
use crate::outcome::Failure;

/// A compiled pattern, for lines and for values.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    is_inverted: bool,
    has_numbers: bool,
}

impl Pattern {
    /// The pattern of these arguments.
    ///
    /// # Errors
    /// With a sentence if it is not a valid regular expression.
    pub(super) fn new(arguments: &GrepArguments) -> Result<Self, Failure> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(arguments.ignore_case)
            .fixed_strings(arguments.fixed_strings)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(&arguments.pattern)
            .map_err(|error| Failure::new(format_args!("PATTERN: {error}")))?;
        let (is_inverted, has_numbers) = (arguments.invert_match, arguments.line_number);
        Ok(Self { matcher, is_inverted, has_numbers })
    }

    /// The expression.
    pub(super) fn matcher(&self) -> &RegexMatcher {
        &self.matcher
    }

    /// A searcher for its lines in blocks.
    pub(super) fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .invert_match(self.is_inverted)
            .line_number(self.has_numbers)
            .build()
    }

    /// Whether a text contains a match.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.matcher.is_match(text).unwrap_or(false)
    }

    /// The start and end of each match that is not empty.
    pub(super) fn matches(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut matches = Vec::new();
        // A regular expression cannot fail.
        let _ = self.matcher.find_iter(text, |found| {
            if !found.is_empty() {
                matches.push((found.start(), found.end()));
            }
            true
        });
        matches
    }
}
