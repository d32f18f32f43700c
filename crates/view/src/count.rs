//! Counts of lines and records.

use serde::Serialize;

use crate::group::Group;
use crate::kind::RecordKind;
use crate::number::is_zero;
use crate::row_value::RowValue;
use crate::sources::{CountedSources, IncompleteSource};

/// The numbers of lines of several files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// The files, in the order in which they were named.
    pub files: Vec<FileLines>,
    /// The number of lines of all files.
    pub lines: u64,
    /// The files that were not read completely. Left out if all were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteSource>,
}

/// The number of lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileLines {
    /// The file's name.
    pub file: String,
    /// The number of lines.
    pub lines: u64,
}

/// The number of records of a kind that meet the conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordCount {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The number of records.
    pub count: u64,
    /// The sources.
    #[serde(flatten)]
    pub read: CountedSources,
}

/// The numbers of records of a kind by the values of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValueCounts {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The field's name.
    pub field: String,
    /// The number of records that are only counted together, because memory ran out before their
    /// values appeared.
    pub remainder: u64,
    /// The maximum number of records of a value without a count.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted_max: u64,
    /// The number of all records.
    pub count: u64,
    /// The values, the most frequent first.
    pub values: Vec<ValueCount>,
    /// The sources.
    #[serde(flatten)]
    pub read: CountedSources,
}

/// The number of records with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValueCount {
    /// The number of records.
    pub count: u64,
    /// The value.
    #[serde(flatten)]
    pub value: RowValue,
}

/// The numbers of records of a kind by the values of two fields. If there is a remainder, all
/// numbers except `remainder` and `count` are lower bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountTable {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The values of the second field, the most frequent first.
    pub columns: Vec<ColumnTotal>,
    /// The other values of the second field; `None` if all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_columns: Option<OtherColumns>,
    /// The name of the second field.
    pub columns_field: String,
    /// The number of records that are only counted together, because memory ran out before their
    /// values appeared.
    pub remainder: u64,
    /// The maximum number of records of a pair of values without a count.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted_max: u64,
    /// The number of all records.
    pub count: u64,
    /// The values of the first field, the most frequent first.
    pub rows: Vec<TableRow>,
    /// The other values of the first field; `None` if all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_rows: Option<OtherRows>,
    /// The name of the first field.
    pub rows_field: String,
    /// The sources.
    #[serde(flatten)]
    pub read: CountedSources,
}

/// A column of a [`CountTable`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnTotal {
    /// The number of records with the value.
    pub total: u64,
    /// The value.
    #[serde(flatten)]
    pub value: RowValue,
}

/// A row of a [`CountTable`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// The number of records in each column.
    pub counts: Vec<u64>,
    /// The number of records in the columns that are not listed; `None` if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<u64>,
    /// The number of records in all columns, listed or not.
    pub total: u64,
    /// The row's value.
    #[serde(flatten)]
    pub value: RowValue,
}

/// The columns of a [`CountTable`] that are not listed, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OtherColumns {
    /// The number of values.
    pub values: u64,
    /// The number of records with one of them.
    pub total: u64,
}

/// The rows of a [`CountTable`] that are not listed, together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherRows {
    /// The number of values.
    pub values: u64,
    /// The number of records in each column.
    pub counts: Vec<u64>,
    /// See [`TableRow::others`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<u64>,
    /// The number of records in all columns, listed or not.
    pub total: u64,
}

/// The numbers of records of a kind by the values of three fields or more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CombinationCounts {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The number of records that are only counted together, because memory ran out before their
    /// values appeared.
    pub remainder: u64,
    /// The maximum number of records of a combination without a count.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted_max: u64,
    /// The number of all records.
    pub count: u64,
    /// The combinations, the most frequent first.
    pub combinations: Vec<Combination>,
    /// The sources.
    #[serde(flatten)]
    pub read: CountedSources,
}

/// The records of each value of a field, or of each combination of values of several, with measures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredCounts<'a> {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The number of all records.
    pub count: u64,
    /// The values.
    #[serde(flatten)]
    pub group: &'a Group,
    /// The sources.
    #[serde(flatten)]
    pub read: CountedSources,
}

/// The number of records with a combination of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Combination {
    /// The number of records.
    pub count: u64,
    /// The values, in the order of the fields.
    pub values: Vec<RowValue>,
    /// The maximum number of records with these values that are counted in the remainder instead.
    #[serde(skip_serializing_if = "is_zero")]
    pub uncounted_max: u64,
}
