//! Mistakes in a configuration.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

/// A mistake in a configuration, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The path of the key, such as `issuers.app.algorithms`; empty for the document as a whole.
    pub key: String,
    /// The problem, and what to do about it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, message } = self;
        match key.is_empty() {
            true => write!(formatter, "line {line}: {message}"),
            false => write!(formatter, "line {line}: {key}: {message}"),
        }
    }
}

/// Collects the problems of a configuration, so that a user sees all of them at once.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    text: &'a str,
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, problems: RefCell::default(), warnings: RefCell::default() }
    }

    /// Adds a problem at a byte range of the text.
    pub(super) fn add(&self, span: &Range<usize>, key: &str, message: impl fmt::Display) {
        let problem = self.locate(span, key, message.to_string());
        self.problems.borrow_mut().push(problem);
    }

    /// Adds a warning at a byte range of the text. The configuration can be used all the same.
    pub(super) fn warn(&self, span: &Range<usize>, key: &str, message: impl fmt::Display) {
        let warning = self.locate(span, key, message.to_string());
        self.warnings.borrow_mut().push(warning);
    }

    fn locate(&self, span: &Range<usize>, key: &str, message: String) -> Problem {
        let before = self.text.as_bytes().get(..span.start).unwrap_or(self.text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem { line, key: key.to_owned(), message }
    }

    /// The problems and the warnings, each in the order of their lines.
    pub(super) fn into_sorted(self) -> (Vec<Problem>, Vec<Problem>) {
        let (mut problems, mut warnings) = (self.problems.into_inner(), self.warnings.into_inner());
        problems.sort_by_key(|problem| problem.line);
        warnings.sort_by_key(|warning| warning.line);
        (problems, warnings)
    }
}
