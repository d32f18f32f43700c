//! What a filter says.

use std::fmt;

use regex::bytes::Regex;

use crate::field::Field;
use crate::schema::ColumnId;
use crate::value::{AddressBlock, parse_digits};
use crate::values::{Dictionary, Values};

/// Conditions that a record has to meet, all of them.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The conditions.
    pub clauses: Vec<Clause>,
}

/// One condition on one field.
#[derive(Debug, Clone)]
pub enum Clause {
    /// On a text field. A record without the field passes only where `negated`.
    Text {
        /// The field's column.
        column: ColumnId,
        /// What the value has to be.
        test: TextTest,
        /// Whether it has to be anything else instead.
        negated: bool,
    },
    /// On a number: within one of some ranges, both bounds included. A record without it
    /// does not pass.
    Number {
        /// The number's column.
        column: ColumnId,
        /// The ranges, in the unit of the column.
        ranges: Vec<(u64, u64)>,
    },
    /// On the time: from the first instant to the last, both included, in nanoseconds since
    /// 1970. A record without a time does not pass.
    Time {
        /// First instant that passes.
        first_ns: i64,
        /// Last instant that passes.
        last_ns: i64,
    },
}

/// A question about a value, asked once for every distinct one.
#[derive(Debug, Clone)]
pub enum TextTest {
    /// It is one of these.
    OneOf(Vec<Vec<u8>>),
    /// It starts with this.
    Prefix(Vec<u8>),
    /// The expression is found in it.
    Matches(Regex),
    /// It is an address in one of these blocks, or one of the values.
    InBlocks(Vec<AddressBlock>, Vec<Vec<u8>>),
    /// It is a whole number between two bounds, both included.
    Between(u64, u64),
    /// One of these holds.
    Any(Vec<TextTest>),
}

/// The largest program a regular expression may compile to, in bytes: a megabyte holds any
/// that a person types, and refuses `(\w{1000}){1000}`.
const REGEX_BYTES_MAX: usize = 1 << 20;

impl TextTest {
    /// A search for a regular expression, in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// Where the expression is wrong or too large.
    pub fn matches(expression: &str) -> Result<Self, ClauseError> {
        // Values are bytes: without Unicode classes `.` takes any byte, and `\w` is ASCII.
        regex::bytes::RegexBuilder::new(expression)
            .size_limit(REGEX_BYTES_MAX)
            .build()
            .map(Self::Matches)
            .map_err(|error| ClauseError::Regex(error.to_string()))
    }

    /// True where the value passes.
    pub fn passes(&self, value: &[u8]) -> bool {
        let is_one_of = |values: &[Vec<u8>]| values.iter().any(|candidate| candidate == value);
        match self {
            Self::OneOf(values) => is_one_of(values),
            Self::Prefix(prefix) => value.starts_with(prefix),
            Self::Matches(regex) => regex.is_match(value),
            Self::InBlocks(blocks, values) => {
                is_one_of(values) || AddressBlock::any_contains(blocks, value)
            }
            Self::Between(min, max) => {
                parse_digits(value).is_some_and(|number| (*min..=*max).contains(&number))
            }
            Self::Any(tests) => tests.iter().any(|test| test.passes(value)),
        }
    }

    /// True where it asks the same question. Expressions are compared as they were written:
    /// those of [`Self::matches`] are all compiled alike.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OneOf(own), Self::OneOf(other)) => own == other,
            (Self::Prefix(own), Self::Prefix(other)) => own == other,
            (Self::Matches(own), Self::Matches(other)) => own.as_str() == other.as_str(),
            (Self::InBlocks(own, others), Self::InBlocks(other, their_others)) => {
                own == other && others == their_others
            }
            (Self::Between(min, max), Self::Between(other_min, other_max)) => {
                (min, max) == (other_min, other_max)
            }
            (Self::Any(own), Self::Any(other)) => {
                own.len() == other.len()
                    && own.iter().zip(other).all(|(own, other)| own.is_same(other))
            }
            _ => false,
        }
    }

    /// True where it is certain that no value passes that the dictionary lacks.
    pub(super) fn is_about_known_values(&self, dictionary: &Dictionary) -> bool {
        match self {
            Self::OneOf(values) => values.iter().all(|value| dictionary.find(value).is_some()),
            Self::Any(tests) => tests.iter().all(|test| test.is_about_known_values(dictionary)),
            _ => false,
        }
    }
}

impl Clause {
    /// A condition on the text field of that name, known or extra.
    ///
    /// # Errors
    /// Where the data set has no such field.
    pub fn text(
        values: &Values,
        name: &str,
        test: TextTest,
        negated: bool,
    ) -> Result<Self, ClauseError> {
        let column = values.schema().text_column_by_name(name).ok_or_else(|| {
            ClauseError::UnknownField { name: name.to_owned(), known: known(values) }
        })?;
        Ok(Self::Text { column, test, negated })
    }
}

fn known(values: &Values) -> Vec<String> {
    let text = values.schema().text_columns().map(|(_, name)| name);
    let others = Field::NUMBERS.iter().chain([&Field::Time]).map(|field| field.name());
    text.chain(others).map(str::to_owned).collect()
}

/// Why a condition cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClauseError {
    /// The data has no field of that name.
    UnknownField {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The regular expression is wrong; the text says where.
    Regex(String),
}

impl fmt::Display for ClauseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownField { name, known } => {
                write!(formatter, "`{name}` is not a known field; use one of {}", known.join(", "))
            }
            Self::Regex(message) => write!(formatter, "{message}"),
        }
    }
}

impl std::error::Error for ClauseError {}
