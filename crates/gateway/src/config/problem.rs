//! What is wrong with a configuration.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

/// One mistake in a configuration, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The path of the key, such as `issuers.app.algorithms`; empty for the document.
    pub key: String,
    /// What is wrong, and what to do.
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

/// Collects the problems of one configuration, so that a person sees all of them at once.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    text: &'a str,
    found: RefCell<Vec<Problem>>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, found: RefCell::default() }
    }

    /// Adds a problem at a place in the text.
    pub(super) fn add(&self, span: &Range<usize>, key: &str, message: impl Into<String>) {
        let before = self.text.as_bytes().get(..span.start).unwrap_or(self.text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let problem = Problem { line, key: key.to_owned(), message: message.into() };
        self.found.borrow_mut().push(problem);
    }

    /// The problems in the order of their lines.
    pub(super) fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|problem| problem.line);
        found
    }
}
