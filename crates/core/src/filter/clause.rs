//! The conditions of a filter.
//!
//! Clauses are data in terms of columns and bytes: numbers are in the unit of their column, times
//! are instants, and addresses are parsed. How a person writes a condition is not their concern.

use std::fmt;

use crate::derived::{DerivedField, DerivedInputs};
use crate::field::Field;
use crate::pattern::{BoundedRegex, PatternBudget, RegexOptions};
use crate::schema::{ColumnId, RecordKind};
use crate::similar_name::names_instead;
use crate::value::{AddressBlock, parse_digits};
use crate::values::{Dictionary, Values};

/// Conditions on a record. A record passes if it is of the kind and meets all clauses.
/// [`crate::Condition`] makes a clause from a text that a person has typed.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Clause, CompiledFilter, Filter, Format, Selection,
///     TextTest, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = Block::new(b"192.0.2.7 200\n192.0.2.8 404\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let test = TextTest::Prefix(b"4".to_vec());
/// let filter = Filter::of(vec![Clause::text(&values, "status", test, false)?]);
/// let mut compiled = CompiledFilter::new(&filter);
/// compiled.refresh(&values);
/// assert_eq!(compiled.select(&segment), Selection::Rows(vec![1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The kind of the records; `None` accepts every kind.
    pub kind: Option<RecordKind>,
    /// The conditions, joined by *and*.
    pub clauses: Vec<Clause>,
}

impl Filter {
    /// Returns a filter with these conditions, for records of every kind.
    ///
    /// Without conditions, every record passes.
    ///
    /// # Examples
    ///
    /// Columns of numbers and times need no names:
    ///
    /// ```
    /// use weir_core::{Clause, Field, Filter};
    ///
    /// let large = Clause::Number {
    ///     column: Field::Bytes.column(),
    ///     ranges: vec![(1_000_000, u64::MAX)],
    /// };
    /// let first_second = Clause::Time { first_ns: 0, last_ns: 999_999_999 };
    /// assert_eq!(Filter::of(vec![large, first_second]).clauses.len(), 2);
    /// ```
    pub fn of(clauses: Vec<Clause>) -> Self {
        Self { kind: None, clauses }
    }

    /// Returns the filter with its conditions on the time only; `None` if it has no others.
    ///
    /// Those are the conditions on the time that every record must meet. One that is negated, or
    /// an alternative to others, is not among them.
    pub fn of_time(&self) -> Option<Self> {
        let mut times = Vec::new();
        let mut has_others = false;
        self.clauses.iter().for_each(|clause| clause.split(&mut times, &mut has_others));
        let clause = |(first_ns, last_ns)| Clause::Time { first_ns, last_ns };
        let clauses = times.into_iter().map(clause).collect();
        has_others.then_some(Self { kind: self.kind, clauses })
    }

    /// Returns the first and the last instant that those conditions accept, in nanoseconds since
    /// 1970.
    pub(super) fn time_range_ns(&self) -> (i64, i64) {
        let mut times = Vec::new();
        self.clauses.iter().for_each(|clause| clause.split(&mut times, &mut false));
        times.into_iter().fold((i64::MIN, i64::MAX), |(first, last), (from, until)| {
            (first.max(from), last.min(until))
        })
    }
}

/// One condition on one field, or a combination of conditions.
///
/// Each is either true or false of a record: `Not` accepts exactly the records that the condition
/// inside of it does not accept, whether or not they have its field.
#[derive(Debug, Clone)]
pub enum Clause {
    /// A condition on a text field. A record without the field passes only if `negated`.
    Text {
        /// The field's column.
        column: ColumnId,
        /// The test of the value.
        test: TextTest,
        /// Whether the values that fail the test pass instead.
        negated: bool,
    },
    /// A condition on a number: it is in one of the ranges, both bounds included. A record without
    /// the number does not pass.
    Number {
        /// The number's column.
        column: ColumnId,
        /// The ranges, in the unit of the column.
        ranges: Vec<(u64, u64)>,
    },
    /// A condition on the time: from the first instant to the last, both included, in nanoseconds
    /// since 1970. A record without a time does not pass.
    Time {
        /// First instant that passes.
        first_ns: i64,
        /// Last instant that passes.
        last_ns: i64,
    },
    /// A condition on a field that is derived from the time. A record without a time passes only if
    /// `negated`.
    TimePart {
        /// The field.
        field: DerivedField,
        /// The test of the derived value.
        test: TextTest,
        /// Whether the values that fail the test pass instead.
        negated: bool,
    },
    /// A condition that some text field meets, whether it is a known field or an extra one.
    AnyText(TextTest),
    /// All of these conditions are met; without any, every record passes.
    All(Vec<Clause>),
    /// One of these conditions is met; without any, no record passes.
    Any(Vec<Clause>),
    /// The condition is not met.
    Not(Box<Clause>),
}

/// A test of a text value, evaluated once per distinct value.
///
/// Values are those of the records: nothing is decoded but JSON strings, or folded in case.
///
/// # Examples
///
/// ```
/// use weir_core::{AddressBlock, TextTest};
///
/// let blocks = vec![AddressBlock::parse("192.0.2.0/24").unwrap()];
/// assert!(TextTest::InBlocks(blocks, Vec::new()).passes(b"192.0.2.77"));
/// assert!(TextTest::Between(400, 499).passes(b"404"));
/// assert!(!TextTest::Between(400, 499).passes(b"-"));
/// assert!(TextTest::matches(r"\.php$")?.passes(b"/login.php"));
/// assert!(TextTest::matches("(").is_err());
/// # Ok::<(), weir_core::ClauseError>(())
/// ```
#[derive(Debug, Clone)]
pub enum TextTest {
    /// The value is one of these.
    OneOf(Vec<Vec<u8>>),
    /// The value starts with this prefix.
    Prefix(Vec<u8>),
    /// The expression matches somewhere in the value.
    Matches(BoundedRegex),
    /// The value is an address in one of these blocks, or one of the values.
    InBlocks(Vec<AddressBlock>, Vec<Vec<u8>>),
    /// The value is a whole number between two bounds, both included.
    Between(u64, u64),
    /// One of these tests passes.
    Any(Vec<TextTest>),
    /// There is a value, which may be empty.
    Present,
    /// The field that is derived from the value has one that passes.
    Derived(DerivedField, Box<TextTest>),
}

/// The largest size of a compiled regular expression, in bytes. A megabyte is enough for any
/// expression that a person types, and rejects `(\w{1000}){1000}`.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// The largest cache of a regular expression, in bytes, for each thread that matches with it, in
/// each direction. If it is full again and again, matching goes on without it, more slowly.
const REGEX_CACHE_BYTES_MAX: usize = 256 << 10;

impl TextTest {
    /// Returns a search for a regular expression, in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// If the expression is invalid or too large.
    pub fn matches(expression: &str) -> Result<Self, ClauseError> {
        Self::matches_within(expression, &PatternBudget::default())
    }

    /// Returns a search for a regular expression that is compiled within a budget.
    pub(super) fn matches_within(
        expression: &str,
        patterns: &PatternBudget,
    ) -> Result<Self, ClauseError> {
        let options = RegexOptions {
            program_bytes_max: REGEX_BYTES_MAX,
            cache_bytes_max: REGEX_CACHE_BYTES_MAX,
            ..RegexOptions::default()
        };
        BoundedRegex::new(expression, options, patterns)
            .map(Self::Matches)
            .map_err(|error| ClauseError::Regex(error.to_string()))
    }

    /// Returns a search for a text, without regard to upper and lower case.
    ///
    /// # Errors
    /// If the text is too long: some thousand characters.
    pub fn contains(text: &str) -> Result<Self, ClauseError> {
        Self::contains_within(text, &PatternBudget::default())
    }

    /// Returns a search for a text as [`Self::contains`] does, compiled within a budget.
    pub(super) fn contains_within(
        text: &str,
        patterns: &PatternBudget,
    ) -> Result<Self, ClauseError> {
        Self::matches_within(&format!("(?i){}", regex::escape(text)), patterns)
    }

    /// Returns whether the value passes.
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
            Self::Present => true,
            Self::Derived(field, test) => {
                passes_derived(field, test, &DerivedInputs::of_texts(&[Some(value)]))
            }
        }
    }

    /// Returns whether every value passes, so that it need not be known.
    pub(super) fn is_about_any_value(&self) -> bool {
        match self {
            Self::Present => true,
            Self::Any(tests) => tests.iter().any(Self::is_about_any_value),
            _ => false,
        }
    }

    /// Returns whether this is the same test. Expressions are compared by their text, because
    /// [`Self::matches`] compiles all of them with the same options.
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
            (Self::Present, Self::Present) => true,
            (Self::Derived(own, own_test), Self::Derived(other, test)) => {
                own == other && own_test.is_same(test)
            }
            _ => false,
        }
    }

    /// Returns whether the test certainly decides alike about all values outside the dictionary.
    pub(super) fn is_about_known_values(&self, dictionary: &Dictionary) -> bool {
        match self {
            _ if self.is_about_any_value() => true,
            Self::OneOf(values) => values.iter().all(|value| dictionary.is_complete(value)),
            Self::Any(tests) => tests.iter().all(|test| test.is_about_known_values(dictionary)),
            _ => false,
        }
    }
}

/// Returns whether the value that is derived from the inputs passes; there may be none.
pub(super) fn passes_derived(
    field: &DerivedField,
    test: &TextTest,
    inputs: &DerivedInputs<'_>,
) -> bool {
    let mut value = Vec::new();
    field.derive(inputs, &mut value) && test.passes(&value)
}

impl Clause {
    /// Adds the ranges of time that the condition requires, and notes whether it requires more.
    fn split(&self, times: &mut Vec<(i64, i64)>, has_others: &mut bool) {
        match self {
            Self::Time { first_ns, last_ns } => times.push((*first_ns, *last_ns)),
            Self::All(clauses) => clauses.iter().for_each(|one| one.split(times, has_others)),
            _ => *has_others = true,
        }
    }

    /// Returns a condition on the text field with this name, known or extra.
    ///
    /// # Errors
    /// If the data set has no such field.
    pub fn text(
        values: &Values,
        name: &str,
        test: TextTest,
        negated: bool,
    ) -> Result<Self, ClauseError> {
        let column = values.schema().text_column_by_name(name).ok_or_else(|| {
            ClauseError::UnknownField { name: name.to_owned(), known: known_names(values) }
        })?;
        Ok(Self::Text { column, test, negated })
    }
}

/// The names of all fields that a condition may name.
pub(super) fn known_names(values: &Values) -> Vec<String> {
    let text = values.schema().text_columns().map(|(_, name)| name);
    let others = Field::NUMBERS.iter().chain([&Field::Time]).map(|field| field.name());
    text.chain(others).map(str::to_owned).collect()
}

/// The reason that a condition is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClauseError {
    /// The data has no field with this name.
    UnknownField {
        /// The unknown name.
        name: String,
        /// The names of the existing fields.
        known: Vec<String>,
    },
    /// The regular expression is invalid; the text explains the error and its position.
    Regex(String),
}

impl fmt::Display for ClauseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownField { name, known } => {
                let instead = names_instead(name, known, "the fields are");
                write!(formatter, "there is no field `{name}`; {instead}")
            }
            Self::Regex(message) => write!(formatter, "{message}"),
        }
    }
}

impl std::error::Error for ClauseError {}
