//! Why a query cannot be answered.

use std::fmt;

use weir_core::ConditionError;
use weir_view::{ConditionPlace, UnknownMeasure};

use super::moment::Moment;
use super::zone::UnknownZone;

/// Why a query cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryError {
    /// A clicked clause is not valid.
    Clause(ConditionError),
    /// A typed condition is not valid.
    Condition(InvalidCondition),
    /// The log has no such field. The message lists the fields that it has.
    MissingField(String),
    /// A time was expected.
    NotATime(String),
    /// Bytes in hexadecimal were expected.
    NotHexadecimal(String),
    /// There are more regular expressions than one query may have.
    TooManyExpressions(usize),
    /// There are more comparisons than one query may have.
    TooManyComparisons(usize),
    /// The zone does not exist.
    Zone(UnknownZone),
    /// The histogram cannot be stacked by this field.
    Stack(String),
    /// Records cannot be grouped by time.
    GroupByTime,
    /// Records cannot be grouped by this number.
    GroupByNumber(String),
    /// There are more fields than a group may have.
    TooManyGroupFields(usize),
    /// A measure of the groups is not valid.
    Measure(UnknownMeasure),
    /// There are more measures than a group may have.
    TooManyMeasures(usize),
}

impl fmt::Display for QueryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clause(error) => write!(formatter, "{error}"),
            Self::Condition(error) => write!(formatter, "{error}"),
            Self::MissingField(sentence) => formatter.write_str(sentence),
            Self::NotATime(value) => {
                write!(formatter, "`{value}` is not a valid time; write it as {}", Moment::EXAMPLES)
            }
            Self::NotHexadecimal(value) => {
                write!(
                    formatter,
                    "`{value}` is not valid hexadecimal; write two digits for each byte"
                )
            }
            Self::TooManyExpressions(limit) => write!(
                formatter,
                "there are more than {limit} regular expressions and searches; join them with `|`"
            ),
            Self::TooManyComparisons(limit) => write!(
                formatter,
                "there are more than {limit} comparisons; write the values of a field as a list, \
                 as in status=404,403"
            ),
            Self::Zone(error) => write!(formatter, "{error}"),
            Self::Stack(name) => {
                write!(
                    formatter,
                    "the histogram cannot be stacked by `{name}`; use a text field of the log"
                )
            }
            Self::GroupByTime => write!(
                formatter,
                "`time` is not a field to group by; group by a field such as status or host"
            ),
            Self::GroupByNumber(field) => {
                write!(formatter, "`{field}` is a number; group by a field such as status or host")
            }
            Self::TooManyGroupFields(limit) => {
                write!(formatter, "a group may have {limit} fields at most")
            }
            Self::Measure(error) => write!(formatter, "{error}"),
            Self::TooManyMeasures(limit) => {
                write!(formatter, "a group may have {limit} measures at most")
            }
        }
    }
}

impl std::error::Error for QueryError {}

/// An invalid condition of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCondition {
    /// The condition's number in [`Query::conditions`](weir_view::Query::conditions).
    pub number: usize,
    /// The condition.
    pub text: String,
    /// The error, with its position in the text.
    pub error: ConditionError,
}

impl InvalidCondition {
    /// Returns the position of the error, in characters.
    pub fn place(&self) -> ConditionPlace {
        let range = self.error.char_range(&self.text);
        ConditionPlace { condition: self.number, start: range.start, end: range.end }
    }
}

impl fmt::Display for InvalidCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, error, .. } = self;
        write!(formatter, "{error}\n{}", error.excerpt(text))
    }
}
