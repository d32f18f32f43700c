//! Questions about the records of a data set.

use crate::field::Field;
use crate::filter::Filter;
use crate::schema::ColumnId;
use crate::value::{STATUS_CLASSES, Zone};

/// A question: which records, and what to compute about them.
#[derive(Debug, Clone)]
pub struct Question {
    /// Which records it is about.
    pub filter: Filter,
    /// The zone of the histogram; `None` for the offset of the first record.
    pub zone: Option<Zone>,
    /// The largest number of buckets of the histogram.
    pub buckets_max: usize,
    /// What the buckets of the histogram are divided by.
    pub stack: Stack,
    /// What to compute beside the totals.
    pub aggregates: Aggregates,
}

impl Default for Question {
    /// Everything about every record, in the log's own zone.
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            zone: None,
            buckets_max: 400,
            stack: Stack::default(),
            aggregates: Aggregates::default(),
        }
    }
}

/// The aggregates that a question asks for beside the totals. An answer pays for these alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregates {
    /// Counts over time.
    pub histogram: bool,
    /// Counts by value.
    pub top_lists: ListedColumns,
    /// The number columns whose quantiles are computed.
    pub quantiles: Vec<ColumnId>,
}

/// The text columns whose values are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedColumns {
    /// All of the data set.
    All,
    /// Only these.
    Only(Vec<ColumnId>),
}

impl Default for Aggregates {
    /// The histogram, a list for every text column, and the quantiles of the durations.
    fn default() -> Self {
        let durations = [Field::RequestTime, Field::UpstreamTime];
        Self {
            histogram: true,
            top_lists: ListedColumns::All,
            quantiles: durations.map(Field::column).into(),
        }
    }
}

impl Aggregates {
    /// The totals alone.
    pub fn none() -> Self {
        let (top_lists, quantiles) = (ListedColumns::Only(Vec::new()), Vec::new());
        Self { histogram: false, top_lists, quantiles }
    }

    /// Whether an answer with these aggregates holds all that `other` asks for.
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
    /// Whether the values of a column are counted.
    pub fn contains(&self, column: ColumnId) -> bool {
        match self {
            Self::All => true,
            Self::Only(columns) => columns.contains(&column),
        }
    }
}

/// What divides the buckets of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stack {
    /// The class of the status, see [`STATUS_CLASSES`].
    #[default]
    StatusClass,
    /// A text column. Each of the first [`Stack::GROUPS_MAX`] values has its own group; the others
    /// share the last one.
    Column(ColumnId),
}

impl Stack {
    /// Groups of a histogram by column: ids below this are groups of their own, the last
    /// group holds all others.
    pub const GROUPS_MAX: usize = 256;

    /// The number of groups.
    pub fn groups(self) -> usize {
        match self {
            Self::StatusClass => STATUS_CLASSES.len(),
            Self::Column(_) => Self::GROUPS_MAX,
        }
    }
}
