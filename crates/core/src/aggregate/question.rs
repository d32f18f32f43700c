//! Questions about the records of a data set.
//!
//! A question is plain data in terms of columns and ids; the words of a user have been translated
//! before. It is about the rows of one data set, in the segments that the caller chooses: a period
//! is a clause of the filter like any other.

use super::grouping::Grouping;
use crate::field::Field;
use crate::filter::Filter;
use crate::schema::ColumnId;
use crate::value::{STATUS_CLASSES, Zone};

/// A question: a filter, and the aggregates to compute over the records that pass it.
///
/// The columns and the zone belong to one data set: a question is asked about the data set whose
/// [`crate::Values`] its clauses were made with.
///
/// ```
/// use weir_core::{
///     Aggregates, Clause, Field, Filter, ListedColumns, Question, Stack, TextTest, Values, Zone,
/// };
///
/// // Which paths had errors, and when, by method?
/// let values = Values::new(1 << 20);
/// let errors = Clause::text(&values, "status", TextTest::Between(400, 599), false)?;
/// let question = Question {
///     filter: Filter::of(vec![errors]),
///     zone: Some(Zone::utc()),
///     buckets_max: 60,
///     step_s: None,
///     stack: Stack::Column(Field::Method.column()),
///     aggregates: Aggregates {
///         top_lists: ListedColumns::Only(vec![Field::Path.column()]),
///         ..Aggregates::default()
///     },
/// };
/// assert_eq!(question.stack.groups(), Stack::GROUPS_MAX);
/// # Ok::<(), weir_core::ClauseError>(())
/// ```
///
/// # Examples
///
/// Everything is optional:
///
/// ```
/// use weir_core::{ListedColumns, Question, Stack};
///
/// let question = Question::default();
/// assert!(question.filter.clauses.is_empty());
/// assert_eq!(question.aggregates.top_lists, ListedColumns::All);
/// assert_eq!((question.stack, question.stack.groups()), (Stack::StatusClass, 6));
/// ```
#[derive(Debug, Clone)]
pub struct Question {
    /// The records to include.
    pub filter: Filter,
    /// The zone of the histogram. `None` selects the offset of the first record.
    pub zone: Option<Zone>,
    /// The largest number of buckets of the histogram.
    ///
    /// At least 2; smaller numbers count as 2. A chart needs no more than it has pixels.
    pub buckets_max: usize,
    /// The step of the histogram, in seconds, one of [`crate::histogram_steps_s`]. It is longer only if memory
    /// needs it: `buckets_max` is for the steps of `None`, which are those that fit.
    pub step_s: Option<u64>,
    /// The property that divides the histogram's buckets into groups.
    pub stack: Stack,
    /// The aggregates to compute in addition to the totals.
    pub aggregates: Aggregates,
}

impl Default for Question {
    /// Returns a question about all records, with the default aggregates, in the log's own zone.
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            zone: None,
            buckets_max: 400,
            step_s: None,
            stack: Stack::default(),
            aggregates: Aggregates::default(),
        }
    }
}

/// The aggregates that a question asks for in addition to the totals. Others cost nothing.
///
/// # Examples
///
/// ```
/// use weir_core::{Aggregates, Field, ListedColumns};
///
/// let paths = Aggregates {
///     top_lists: ListedColumns::Only(vec![Field::Path.column()]),
///     ..Aggregates::none()
/// };
/// assert!(paths.top_lists.contains(Field::Path.column()));
/// assert!(!paths.top_lists.contains(Field::Query.column()) && !paths.histogram);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregates {
    /// Counts over time.
    pub histogram: bool,
    /// Counts by value.
    ///
    /// The largest part of an answer in time and memory: ask for those that are shown.
    pub top_lists: ListedColumns,
    /// The number columns whose quantiles are computed.
    ///
    /// A column of another kind has no numbers, and so no quantiles.
    pub quantiles: Vec<ColumnId>,
    /// The measures of groups of records.
    pub groups: Option<Grouping>,
}

/// The text columns whose values are counted.
///
/// A column that the data set does not have is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedColumns {
    /// All text columns of the data set.
    All,
    /// Only these columns.
    Only(Vec<ColumnId>),
}

impl Default for Aggregates {
    /// Returns the histogram, a list for every text column, and the quantiles of the durations.
    fn default() -> Self {
        Self {
            histogram: true,
            top_lists: ListedColumns::All,
            quantiles: Field::DURATIONS.map(Field::column).into(),
            groups: None,
        }
    }
}

impl Aggregates {
    /// Returns no aggregates: the answer has only the totals.
    ///
    /// For a count alone, as of a comparison's other period.
    pub fn none() -> Self {
        let (top_lists, quantiles) = (ListedColumns::Only(Vec::new()), Vec::new());
        Self { histogram: false, top_lists, quantiles, groups: None }
    }

    /// Returns whether an answer with these aggregates contains all those of `other` that can be
    /// changed by a difference of rows. Groups are counted from all rows.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let has_lists = match (&self.top_lists, &other.top_lists) {
            (ListedColumns::All, _) => true,
            (ListedColumns::Only(_), ListedColumns::All) => false,
            (ListedColumns::Only(own), ListedColumns::Only(others)) => {
                others.iter().all(|column| own.contains(column))
            }
        };
        has_lists
            && self.histogram >= other.histogram
            && other.quantiles.iter().all(|column| self.quantiles.contains(column))
    }
}

impl ListedColumns {
    /// Returns whether the values of a column are counted.
    pub fn contains(&self, column: ColumnId) -> bool {
        match self {
            Self::All => true,
            Self::Only(columns) => columns.contains(&column),
        }
    }
}

/// The property that divides the buckets of a histogram into groups.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, STATUS_CLASSES, Stack};
///
/// assert_eq!(Stack::default().groups(), STATUS_CLASSES.len());
/// assert_eq!(Stack::Column(Field::Method.column()).groups(), Stack::GROUPS_MAX);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stack {
    /// The class of the status, see [`STATUS_CLASSES`].
    ///
    /// Group `n` is the class `n`.
    #[default]
    StatusClass,
    /// A text column. Each of the first [`Stack::GROUPS_MAX`] values has its own group; the others
    /// share the last one.
    ///
    /// Group `n` is the value with the id `n`, so group 0 is the records without the field. Ids are
    /// given in the order of first appearance, which puts frequent values first.
    Column(ColumnId),
}

impl Stack {
    /// The number of groups of a histogram by column. Lower ids have a group each; the last group
    /// is for all other ids.
    pub const GROUPS_MAX: usize = 256;

    /// Returns the number of groups.
    pub fn groups(self) -> usize {
        match self {
            Self::StatusClass => STATUS_CLASSES.len(),
            Self::Column(_) => Self::GROUPS_MAX,
        }
    }
}
