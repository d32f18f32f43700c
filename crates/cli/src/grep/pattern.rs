//! The regular expression.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::GrepArguments;
use crate::outcome::Failure;

/// A compiled pattern, for lines and for values.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    inverted: bool,
    numbers: bool,
}

impl Pattern {
    /// The pattern of these arguments.
    ///
    /// # Errors
    /// With a sentence where it is no regular expression.
    pub(super) fn new(arguments: &GrepArguments) -> Result<Self, Failure> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(arguments.ignore_case)
            .fixed_strings(arguments.fixed_strings)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(&arguments.pattern)
            .map_err(|error| Failure::new(format_args!("PATTERN: {error}")))?;
        let (inverted, numbers) = (arguments.invert_match, arguments.line_number);
        Ok(Self { matcher, inverted, numbers })
    }

    /// The expression.
    pub(super) fn matcher(&self) -> &RegexMatcher {
        &self.matcher
    }

    /// What finds its lines in blocks.
    pub(super) fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .invert_match(self.inverted)
            .line_number(self.numbers)
            .build()
    }

    /// True where it is found.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.matcher.is_match(text).unwrap_or(false)
    }

    /// Calls `visit` with where each match is that is not empty.
    pub(super) fn each(&self, text: &[u8], mut visit: impl FnMut(usize, usize)) {
        // The expression has no error to give.
        let _ = self.matcher.find_iter(text, |found| {
            if !found.is_empty() {
                visit(found.start(), found.end());
            }
            true
        });
    }
}
