//! What is wrong with a list.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// Why a list cannot be used, and in which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    line: usize,
    problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The file is larger than this, in bytes.
    LargeFile(usize),
    /// A line is not UTF-8.
    NotUtf8,
    /// There is no entry.
    Empty,
    /// The first column is not one of the kinds.
    Kind {
        /// What it is instead.
        found: String,
        /// The kinds of lines that the list may have.
        expected: Vec<&'static str>,
    },
    /// There is no text, or more than this many columns follow the kind.
    Columns(usize),
    /// The expression is not valid.
    Expression(String),
    /// The expression is longer than this, in bytes.
    TooLong(usize),
    /// The expression, or all so far together, take too much memory.
    TooLarge,
    /// There are more expressions than this.
    TooMany(usize),
    /// A text is not one of those that are known.
    Word {
        /// The text.
        found: String,
        /// What is expected.
        expected: String,
    },
    /// A replacement names a group that the expression does not have.
    Group(usize),
}

impl ListError {
    pub(crate) fn new(line: usize, problem: Problem) -> Self {
        Self { line, problem }
    }

    /// The number of the line, from 1, or 0 if the whole list is meant.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl Display for ListError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match &self.problem {
            Problem::LargeFile(bytes) => {
                write!(f, "the list is larger than {} MiB, the most that is read", bytes >> 20)
            }
            Problem::NotUtf8 => write!(f, "it is not UTF-8"),
            Problem::Empty => write!(f, "the list has no entries"),
            Problem::Kind { found, expected } => write!(
                f,
                "`{found}` is not a kind of line; begin with `{}` and a tab",
                expected.join("` or `")
            ),
            Problem::Columns(most) => write!(
                f,
                "write an expression after the kind, and at most {most} columns in all, with a tab \
                 before each"
            ),
            Problem::Expression(problem) => {
                write!(f, "the expression is not valid: {}", problem.trim_end_matches('.'))
            }
            Problem::TooLong(bytes) => {
                write!(f, "the expression is longer than {bytes} bytes; split it")
            }
            Problem::TooLarge => write!(
                f,
                "the expression is too large, or takes too much memory with those before it; use \
                 smaller repetitions"
            ),
            Problem::TooMany(most) => write!(f, "there are more than {most} expressions"),
            Problem::Word { found, expected } => {
                write!(f, "`{found}` is not known; use {expected}")
            }
            Problem::Group(group) => {
                write!(f, "the replacement names group {group}, which the expression does not have")
            }
        }
    }
}

impl Error for ListError {}
