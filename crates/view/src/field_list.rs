//! The values of one field with their records.

use serde::{Deserialize, Serialize};

use crate::group::Group;
use crate::kind::RecordKind;

/// Some of the values of a field, each with its records, and the sums over all of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FieldList {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The number of records that match the filter.
    pub matching: u64,
    /// The sum of their response sizes, in bytes.
    pub bytes_sent: u64,
    /// The number of those with a status of 400 to 599.
    pub errors: u64,
    /// The number of distinct values of the matching records.
    pub values: u64,
    /// Whether memory ran out, so that `values` is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub estimated: bool,
    /// The values that were asked for, and the others together.
    pub group: Group,
}
