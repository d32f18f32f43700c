//! The regular expression.

use std::ops::Range;

use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memrchr};

use super::GrepArguments;
use crate::outcome::Failure;

/// A compiled pattern, for lines and for values. A clone has caches of its own, which a thread takes
/// without regard to others.
#[derive(Clone)]
pub(super) struct Pattern {
    matcher: RegexMatcher,
    /// Whether an expression is empty, so that every text matches.
    is_empty: bool,
    is_inverted: bool,
}

impl Pattern {
    /// Compiles the pattern of the arguments, which matches what any of the expressions does. Without
    /// expressions every text matches.
    ///
    /// # Errors
    /// With a sentence if one is not a valid regular expression.
    pub(super) fn new(expressions: &[String], arguments: &GrepArguments) -> Result<Self, Failure> {
        let any = [String::new()];
        let expressions = if expressions.is_empty() { &any } else { expressions };
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(arguments.ignore_case)
            .fixed_strings(arguments.fixed_strings)
            .word(arguments.word_regexp)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build_many(expressions)
            .map_err(|error| {
                Failure::new(format_args!("PATTERN: {}", fault(expressions, &error)))
            })?;
        let is_empty = !arguments.word_regexp && expressions.iter().any(String::is_empty);
        Ok(Self { matcher, is_empty, is_inverted: arguments.invert_match })
    }

    /// The pattern that every line matches.
    ///
    /// # Errors
    /// If an empty regular expression were not valid.
    pub(super) fn of_every_line() -> Result<Self, Failure> {
        let matcher = RegexMatcherBuilder::new().build("").map_err(Failure::new)?;
        Ok(Self { matcher, is_empty: true, is_inverted: false })
    }

    /// Whether every text matches.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns the lines of a block to print, as ranges that include the line feed: those with a
    /// match, or with `-v` those without.
    pub(super) fn lines<'a>(&'a self, block: &'a [u8]) -> PatternLines<'a> {
        PatternLines { pattern: self, block, position: 0, matching: 0..0 }
    }

    /// Finds the first line with a match that starts at `position` or later. `position` is the
    /// start of a line.
    ///
    /// The matcher searches many lines at once for what it finds fastest, often a literal of the
    /// expression. A position that it only proposes is confirmed on its line alone.
    fn find_line(&self, block: &[u8], mut position: usize) -> Option<Range<usize>> {
        while position < block.len() {
            // A regular expression cannot fail.
            let candidate = self.matcher.find_candidate_line(&block[position..]).ok()??;
            let (offset, is_confirmed) = match candidate {
                LineMatchKind::Confirmed(offset) => (offset, true),
                LineMatchKind::Candidate(offset) => (offset, false),
            };
            let line = line_around(block, position + offset);
            if line.start == block.len() {
                // An empty match after the last line feed is not on a line.
                return None;
            }
            let text = block[line.clone()].strip_suffix(b"\n");
            if is_confirmed || self.is_match(text.unwrap_or(&block[line.clone()])) {
                return Some(line);
            }
            position = line.end;
        }
        None
    }

    /// Whether a text contains a match.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.is_empty || self.matcher.is_match(text).unwrap_or(false)
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

/// The lines of one block to print; made by [`Pattern::lines`].
pub(super) struct PatternLines<'a> {
    pattern: &'a Pattern,
    block: &'a [u8],
    /// The start of the next line to examine.
    position: usize,
    /// With `-v`, the last line with a match that was found, so that it is searched for once.
    matching: Range<usize>,
}

impl Iterator for PatternLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let line = if self.pattern.is_inverted {
            self.next_without_match()?
        } else {
            self.pattern.find_line(self.block, self.position)?
        };
        self.position = line.end;
        Some(line)
    }
}

impl PatternLines<'_> {
    fn next_without_match(&mut self) -> Option<Range<usize>> {
        while self.position < self.block.len() {
            if self.matching.end <= self.position {
                let end = self.block.len()..self.block.len();
                self.matching = self.pattern.find_line(self.block, self.position).unwrap_or(end);
            }
            if self.position < self.matching.start {
                return Some(line_around(self.block, self.position));
            }
            self.position = self.matching.end;
        }
        None
    }
}

/// Describes an error of the first expression that has one. The matcher's own message shows the
/// expression in a group, which the matcher adds.
fn fault(expressions: &[String], error: &grep_regex::Error) -> String {
    let alone = expressions.iter().find_map(|it| regex::bytes::Regex::new(it).err());
    alone.map_or_else(|| error.to_string(), |error| error.to_string())
}

/// The line that contains the byte at `position`, with its line feed.
fn line_around(block: &[u8], position: usize) -> Range<usize> {
    let start = memrchr(b'\n', &block[..position]).map_or(0, |line_feed| line_feed + 1);
    let length = memchr(b'\n', &block[position..]);
    start..length.map_or(block.len(), |length| position + length + 1)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use super::{GrepArguments, Pattern};

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        grep: GrepArguments,
    }

    fn pattern(expression: &str, is_inverted: bool) -> Pattern {
        let arguments = ["grep"].into_iter().chain(is_inverted.then_some("-v"));
        let command = Command::try_parse_from(arguments).expect("arguments of grep");
        Pattern::new(&[expression.to_owned()], &command.grep).expect("a regular expression")
    }

    const EXPRESSIONS: [&str; 12] =
        ["", "a", "^$", "b$", "^a", "a.*b", "[^a]", r"\s", "x*", "(?i)B", "ab|c", r"\w+b\W+a"];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lines_are_those_of_a_search_line_by_line(
            block in "([abcB ]{0,6}\n){0,12}[ab ]{0,3}",
            number in 0..EXPRESSIONS.len(),
            is_inverted: bool,
        ) {
            let expression = regex::bytes::Regex::new(EXPRESSIONS[number]).expect("an expression");
            let mut expected = Vec::new();
            let mut start = 0;
            for line in block.split_inclusive('\n') {
                let text = line.strip_suffix('\n').unwrap_or(line);
                if expression.is_match(text.as_bytes()) != is_inverted {
                    expected.push(start..start + line.len());
                }
                start += line.len();
            }
            let pattern = pattern(EXPRESSIONS[number], is_inverted);
            let lines: Vec<_> = pattern.lines(block.as_bytes()).collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
