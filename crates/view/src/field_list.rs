//! The values of one field with their records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::group::{Group, Tally};
use crate::kind::RecordKind;
use crate::measure::MeasureValue;

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
    /// For each of those values, its records in each span of the time; empty if no span was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<Vec<u64>>>"))]
    pub over_time: Vec<Vec<u64>>,
}

/// The records in spans of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Series {
    /// The spans, in order.
    pub spans: Vec<SpanRow>,
    /// How many records took how long, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub map: Option<DurationMap>,
}

/// The records of each span by a duration, on a logarithmic scale. Records without it are in no step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct DurationMap {
    /// The bounds of the steps in seconds, ascending. A step holds the durations from its bound up to
    /// the next one, which is not included. Empty if no record has the duration.
    pub bounds_s: Vec<f64>,
    /// For each span the records of each step.
    pub counts: Vec<Vec<u64>>,
}

/// The records in a span of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SpanRow {
    /// Their sums.
    #[serde(flatten)]
    pub tally: Tally,
    /// The other measures that were asked for, by name; `null` if no record has the number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "typescript",
        ts(optional, as = "Option<BTreeMap<String, Option<MeasureValue>>>")
    )]
    pub measures: BTreeMap<String, Option<MeasureValue>>,
}
