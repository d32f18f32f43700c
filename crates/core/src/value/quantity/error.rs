//! Why a text is not a quantity.

use std::error::Error;
use std::fmt;
use std::ops::Range;

/// What a text should be.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Valid texts.
    pub(super) examples: &'static str,
}

impl Kind {
    /// The error that a text is nothing of this kind.
    pub(super) fn error(&self, text: &str) -> QuantityError {
        let problem = QuantityProblem::NotAQuantity {
            text: text.to_owned(),
            kind: self.name,
            examples: self.examples,
        };
        QuantityError { range: 0..text.len(), problem }
    }
}

/// A text is not a size or a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError {
    /// The part of the text that is wrong, in bytes.
    pub range: Range<usize>,
    /// What is wrong with it.
    pub problem: QuantityProblem,
}

/// What is wrong with a text that should be a size or a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuantityProblem {
    /// It is not a number with a unit.
    NotAQuantity {
        /// The text.
        text: String,
        /// What it should be: `size`.
        kind: &'static str,
        /// Valid ones.
        examples: &'static str,
    },
    /// A number lacks its unit.
    NoUnit {
        /// The number.
        number: String,
        /// Valid units.
        examples: [&'static str; 2],
    },
    /// The unit does not exist.
    UnknownUnit {
        /// The unit.
        unit: String,
        /// What it should measure: `size`.
        kind: &'static str,
        /// The unit that is probably meant, or else all of them.
        remedy: String,
    },
    /// A letter alone, after a number that need not be a size.
    AmbiguousUnit {
        /// The number with the letter.
        text: String,
        /// The same as a decimal and as a binary size.
        sizes: [String; 2],
    },
    /// The result is not a whole number.
    NotWhole {
        /// The text.
        text: String,
        /// What should be whole: `bytes`.
        base: &'static str,
        /// The whole number below the result.
        below: u64,
    },
    /// The result does not fit 64 bits, or the number has too many decimals to tell it.
    TooLarge {
        /// The text.
        text: String,
    },
    /// A unit follows a smaller one, or the same.
    Order {
        /// The later number with its unit.
        text: String,
    },
}

impl fmt::Display for QuantityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(formatter)
    }
}

impl fmt::Display for QuantityProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAQuantity { text, kind, examples } => {
                write!(formatter, "`{text}` is not a valid {kind}; write it as {examples}")
            }
            Self::NoUnit { number, examples: [one, other] } => {
                write!(formatter, "`{number}` lacks a unit; write {number}{one} or {number}{other}")
            }
            Self::UnknownUnit { unit, kind, remedy } => {
                write!(formatter, "`{unit}` is not a unit of a {kind}; {remedy}")
            }
            Self::AmbiguousUnit { text, sizes: [decimal, binary] } => write!(
                formatter,
                "`{text}` may count in thousands or in steps of 1024; write {decimal}, {binary} or \
                 all digits"
            ),
            Self::NotWhole { text, base, below } => {
                write!(formatter, "`{text}` is not a whole number of {base}; write {below}")?;
                match below.checked_add(1) {
                    Some(above) => write!(formatter, " or {above}"),
                    None => Ok(()),
                }
            }
            Self::TooLarge { text } => {
                write!(formatter, "`{text}` is too large, or has more than 19 decimals")
            }
            Self::Order { text } => {
                write!(formatter, "`{text}` must be before smaller units, as in 1h30m")
            }
        }
    }
}

impl Error for QuantityError {}
