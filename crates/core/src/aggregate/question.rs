//! What is asked.

use crate::filter::Filter;
use crate::schema::ColumnId;
use crate::value::{STATUS_CLASSES, Zone};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Which records it is about.
    pub filter: Filter,
    /// The zone of the histogram; `None` for the offset of the first record.
    pub zone: Option<Zone>,
    /// The most buckets the histogram may have.
    pub buckets_max: usize,
    /// What divides the histogram's buckets.
    pub stack: Stack,
}

impl Default for Question {
    /// About every record, in the log's own zone.
    fn default() -> Self {
        Self { filter: Filter::default(), zone: None, buckets_max: 400, stack: Stack::default() }
    }
}

/// What divides the buckets of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stack {
    /// The class of the status, see [`STATUS_CLASSES`].
    #[default]
    StatusClass,
    /// A text column. The first [`Stack::GROUPS_MAX`] values have groups of their own, the
    /// others share the last one.
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
