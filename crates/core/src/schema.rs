//! The columns that records have.

/// The number of a text column in a data set: the fields that every format may fill first, then
/// the fields that formats added, in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u16);
