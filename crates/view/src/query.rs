//! Queries about a data set.

use serde::{Deserialize, Serialize};

use crate::comparison::Compare;
use crate::kind::RecordKind;

/// A filter, and how to show the matching records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(default)]
pub struct Query {
    /// An id chosen by the client, and returned in the answer.
    pub id: u64,
    /// Clauses joined by *and*; without any, every record matches.
    pub clauses: Vec<Clause>,
    /// Typed conditions, see `docs/conditions.md`. They are joined with the clauses by *and*.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub conditions: Vec<String>,
    /// An IANA name, `UTC` or an offset; `null` for the log's own offset.
    pub zone: Option<String>,
    /// The number of rows in each top list.
    pub top: u32,
    /// The field by which the histogram is stacked. For error-log lines, `status_class` means the
    /// level, and for firewall events the action.
    pub stack: String,
    /// The maximum number of buckets in the histogram.
    pub buckets: u32,
    /// The kind of records that the report is about. Without it: requests if the data set has
    /// any, otherwise the kind with the most records.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub kind: Option<RecordKind>,
    /// A kind of records whose histogram is laid over the report's. Firewall events also bring the
    /// blocks in error logs, with a group for each effect on the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub overlay: Option<RecordKind>,
    /// How far the clock of the overlaid records is ahead of the report's, in seconds.
    #[serde(skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<i64>"))]
    pub overlay_ahead_s: i64,
    /// The field to group by: `status_class` or a field's name, but neither the time nor a number.
    /// Several are joined by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub group: Option<String>,
    /// The measures of the groups, such as `clients` or `p95:request_time`; without any, the usual
    /// ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub measures: Vec<String>,
    /// The measure by which the groups are ordered, the largest first; the number of records if none
    /// is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub sort: Option<String>,
    /// The number of records from which a group has a row.
    #[serde(skip_serializing_if = "crate::number::is_zero")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<u64>"))]
    pub min: u64,
    /// The period to compare with the one before it. The report is about that period.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub compare: Option<Compare>,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            id: 0,
            clauses: Vec::new(),
            conditions: Vec::new(),
            zone: None,
            top: 10,
            stack: weir_core::STATUS_CLASS.to_owned(),
            buckets: 400,
            kind: None,
            overlay: None,
            overlay_ahead_s: 0,
            group: None,
            measures: Vec::new(),
            sort: None,
            min: 0,
            compare: None,
        }
    }
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// One condition on one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Clause {
    /// The name of a field; also `time` or `status_class`.
    pub field: String,
    /// How to compare.
    pub op: Operator,
    /// The values to compare with. One has to match; with a negative operator, none may match. For
    /// `time`, all have to match, and each is a date, a time, or a time ago.
    pub values: Vec<String>,
}

/// The filter of a query with typed conditions, in its normal form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NormalFilter {
    /// The clauses, including those converted from conditions.
    pub clauses: Vec<Clause>,
    /// The conditions without an equivalent clause.
    pub conditions: Vec<String>,
}

/// How a clause compares. `docs/protocol.md` has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Operator {
    /// One of the values.
    #[serde(rename = "=")]
    Equal,
    /// None of the values.
    #[serde(rename = "!=")]
    NotEqual,
    /// One of the values, given as hexadecimal bytes.
    #[serde(rename = "=x")]
    EqualHex,
    /// None of the values, given as hexadecimal bytes.
    #[serde(rename = "!=x")]
    NotEqualHex,
    /// Begins with the value.
    #[serde(rename = "^=")]
    Prefix,
    /// Matches the regular expression.
    #[serde(rename = "~")]
    Match,
    /// Does not match the regular expression.
    #[serde(rename = "!~")]
    NotMatch,
    /// Smaller than the number, or earlier than the time.
    #[serde(rename = "<")]
    Less,
    /// At most the number, or not later than the time.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// Greater than the number, or later than the time.
    #[serde(rename = ">")]
    Greater,
    /// At least the number, or not earlier than the time.
    #[serde(rename = ">=")]
    GreaterOrEqual,
}
