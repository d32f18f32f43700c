//! What a grouping asks for.

use std::sync::Arc;

use super::derived_values::DerivedValues;
use super::spans::TimeSpans;
use crate::schema::ColumnId;

/// What records are grouped by, and what is computed for each group besides records, bytes and
/// errors.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, GroupKey, GroupedNumber, Grouping};
///
/// // The 95th percentile of the time of each path.
/// let number = GroupedNumber { column: Field::RequestTime.column(), sums: false, quantiles: true };
/// let keys = vec![GroupKey::Column(Field::Path.column())];
/// let grouping = Grouping { numbers: vec![number], ..Grouping::by(keys) };
/// assert!(grouping.has_column_ids());
/// ```
#[derive(Debug, Clone)]
pub struct Grouping {
    /// The keys, one at least. A group is a combination of their values.
    pub keys: Vec<GroupKey>,
    /// The values of the key that is derived, which have to be learnt before rows are added.
    pub derived: Option<Arc<DerivedValues>>,
    /// The spans of the key that is the time. Records outside of all have no value.
    pub spans: Option<TimeSpans>,
    /// The number columns whose sums or quantiles are computed.
    pub numbers: Vec<GroupedNumber>,
    /// A text column whose distinct values are counted in each group.
    pub distinct: Option<ColumnId>,
    /// Whether the visitors of each group and their visits are counted, as [`crate::Visitors`] does.
    pub visitors: bool,
    /// Whether the first and the last time of each group are computed.
    pub times: bool,
    /// The largest number of combinations with a group of their own. Records of the others are
    /// counted together. Has no effect on groups by one text column, whose values are bounded.
    pub groups_max: usize,
    /// The largest number of distinct values that are counted exactly, in all groups together. Beyond
    /// it, the counts are estimated from a sample of the values.
    pub distinct_max: usize,
    /// The same for the half hours in which visitors were seen.
    pub half_hours_max: usize,
}

/// What records are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKey {
    /// The values of a text column; records without the column form a group, too.
    Column(ColumnId),
    /// The class of the status.
    StatusClass,
    /// The values of [`Grouping::derived`].
    Derived,
    /// The spans of [`Grouping::spans`].
    Span,
}

/// The measures of a number column that are computed for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupedNumber {
    /// The column.
    pub column: ColumnId,
    /// Whether the sum, the count and the maximum are computed.
    pub sums: bool,
    /// Whether quantiles are computed.
    pub quantiles: bool,
}

/// Two are equal if their groups are numbered alike.
impl PartialEq for Grouping {
    fn eq(&self, other: &Self) -> bool {
        let has_same_ids = match (&self.derived, &other.derived) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        has_same_ids
            && self.spans == other.spans
            && self.keys == other.keys
            && self.numbers == other.numbers
            && self.distinct == other.distinct
            && self.visitors == other.visitors
            && self.times == other.times
            && self.groups_max == other.groups_max
            && self.distinct_max == other.distinct_max
            && self.half_hours_max == other.half_hours_max
    }
}

impl Eq for Grouping {}

impl Grouping {
    /// Groups by these keys, without any measure besides records, bytes and errors.
    pub fn by(keys: Vec<GroupKey>) -> Self {
        Self {
            keys,
            derived: None,
            spans: None,
            numbers: Vec::new(),
            distinct: None,
            visitors: false,
            times: false,
            groups_max: 1 << 20,
            distinct_max: 1 << 24,
            half_hours_max: 1 << 22,
        }
    }

    /// Returns whether the numbers of the groups are the ids of one column's values, or of the
    /// status classes: their records, bytes and errors are those of the column's list.
    pub fn has_column_ids(&self) -> bool {
        matches!(self.keys[..], [GroupKey::Column(_) | GroupKey::StatusClass])
    }
}
