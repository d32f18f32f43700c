//! The report: the answer to one query over one data set.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::Field;

use crate::blocks::BlocksReport;
use crate::comparison::Comparison;
use crate::group::{Group, Tally};
use crate::kind::{KindCount, RecordKind};
use crate::row_value::RowValue;
use crate::sources::{IncompleteSource, ReportSource};
use crate::words::DURATION_TITLES;

/// Everything that is known about the records that pass a filter.
///
/// `lines = records + unparsed_lines + too_long_lines + directive_lines` always holds. `records`
/// counts the lines that were parsed, of all kinds. A report is about the records of one `kind`:
/// `matching` counts those of them that match the filter, and all members after `bytes_read` are
/// about these only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Report {
    /// Lines of all kinds.
    pub lines: u64,
    /// Lines that were parsed.
    pub records: u64,
    /// The kind of records that the report is about.
    #[serde(default)]
    pub kind: RecordKind,
    /// The records of each kind that the data set has.
    #[serde(default)]
    pub kinds: Vec<KindCount>,
    /// Records of the kind that match the filter.
    pub matching: u64,
    /// Lines that do not match the format.
    pub unparsed_lines: u64,
    /// Lines over the length limit, which are skipped.
    pub too_long_lines: u64,
    /// Lines that describe others, such as `#Fields:` of W3C.
    #[serde(default)]
    pub directive_lines: u64,
    /// Bytes read from the sources, after decompression.
    pub bytes_read: u64,
    /// Sum of the response sizes of the matching records, in bytes.
    pub bytes_sent: u64,
    /// Matching records with a status of 400 to 599.
    pub errors: u64,
    /// The format the lines were read with.
    pub format: Format,
    /// The records of each format, the format with the most records first. `records` is their sum.
    #[serde(default)]
    pub formats: Vec<FormatCount>,
    /// The time range of the matching records.
    pub time: TimeRange,
    /// Matching records over time; `null` if the format has no time or nothing matches.
    pub histogram: Option<Histogram>,
    /// The records that the query overlays, with the same buckets as `histogram`; `null`
    /// if the query overlays none, or if one of the kinds has no matching record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub overlay: Option<Histogram>,
    /// Number of distinct values by field. If the field is in `estimated`, there are at least as
    /// many.
    pub distinct: BTreeMap<String, u64>,
    /// The most frequent values by field, by count and then by value.
    pub top: BTreeMap<String, Vec<TopRow>>,
    /// Time taken to serve a request; `null` if the format does not log it.
    pub request_time: Option<Quantiles>,
    /// Time the upstream took; `null` if the format does not log it.
    pub upstream_time: Option<Quantiles>,
    /// Time to connect to the upstream; left out if the format does not log it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub upstream_connect_time: Option<Quantiles>,
    /// Time until the head of the upstream's response; left out if the format does not log it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub upstream_header_time: Option<Quantiles>,
    /// Time in the proxy before an upstream was contacted; left out if the format does not log it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub wait_time: Option<Quantiles>,
    /// Time from the head of the response to its last byte; left out if the format does not log it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub body_time: Option<Quantiles>,
    /// Fields whose lists or quantiles are estimates, because memory ran out for them. All fields
    /// if `filter_estimated`.
    pub estimated: Vec<String>,
    /// For each list with a remainder: the largest number of records that a value without an own
    /// count can have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<BTreeMap<String, u64>>"))]
    pub unlisted_max: BTreeMap<String, u64>,
    /// Whether the filter could not be decided for values that came after memory ran out, so that
    /// all numbers are estimates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub filter_estimated: bool,
    /// Sums that say nothing, as no format of the log has their field: `bytes_sent`, `errors`.
    /// They are 0 here and in every list, and are left out where people read them.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Fields in the conditions that no format of this kind has, so that no record of the kind
    /// has a value of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub missing_fields: Vec<String>,
    /// The sources; not in a view, which has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub sources: Vec<ReportSource>,
    /// Sources that were not read whole, so that the numbers lack the rest of them. Left out if
    /// all were, or are still being read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<IncompleteSource>>"))]
    pub incomplete: Vec<IncompleteSource>,
    /// The records of each value of the field that the query groups by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub group: Option<Group>,
    /// What has changed since the period before, if the query compares two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub compare: Option<Comparison>,
    /// What tripped the rules in force: in `weir report --json`, if the log has blocks beside
    /// requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub blocks: Option<BlocksReport>,
    /// Reports about the other kinds of records, where all kinds are answered at once: in
    /// `weir report --json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub other_kinds: Vec<Report>,
}

impl Report {
    /// The records of the report's kind, whether or not they match the filter.
    pub fn records_of_kind(&self) -> u64 {
        let own = self.kinds.iter().filter(|count| count.kind == self.kind);
        own.map(|count| count.records).sum()
    }

    /// The durations that the records have, with their titles.
    pub fn durations(&self) -> impl Iterator<Item = (Field, &'static str, &Quantiles)> {
        DURATION_TITLES.into_iter().filter_map(|(field, title)| {
            let quantiles = match field {
                Field::RequestTime => &self.request_time,
                Field::UpstreamTime => &self.upstream_time,
                Field::UpstreamConnectTime => &self.upstream_connect_time,
                Field::UpstreamHeaderTime => &self.upstream_header_time,
                Field::WaitTime => &self.wait_time,
                Field::BodyTime => &self.body_time,
                _ => &None,
            };
            Some((field, title, quantiles.as_ref()?))
        })
    }

    /// Whether a sum of the records is known: `bytes_sent` or `errors`.
    pub fn has_sum(&self, name: &str) -> bool {
        !self.absent.iter().any(|absent| absent == name)
    }
}

/// A log format: its name and what it was compiled from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Format {
    /// A known name such as `COMBINED`, `custom` for a pasted definition, or `mixed` if the
    /// sources of a data set have different formats.
    pub name: String,
    /// The definition in nginx's or Apache's own notation, or the JSON keys read. Of mixed
    /// formats, a line with the name and the definition of each.
    pub definition: String,
}

/// The number of records in one format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FormatCount {
    /// The format's name.
    pub name: String,
    /// The records in it, whatever the filter.
    pub records: u64,
}

/// First and last time stamp, and the zone in which times are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TimeRange {
    /// RFC 3339, in `zone`.
    pub first: Option<String>,
    /// RFC 3339, in `zone`.
    pub last: Option<String>,
    /// An IANA name, `UTC`, or an offset such as `+03:30`.
    pub zone: String,
}

/// Counts over time, in steps of the calendar of the chosen zone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Histogram {
    /// Length of a bucket in seconds of local time. A calendar month counts as 30 days and a
    /// calendar year as 365.
    pub step_s: u64,
    /// The field by which the buckets are stacked: `status_class` or a field's name.
    pub field: String,
    /// The values of `field` that occur, in stacking order: status classes in their own order,
    /// other values the largest first.
    pub groups: Vec<String>,
    /// The end of the last bucket, RFC 3339.
    pub until: String,
    /// Every bucket of the time that the conditions name, including empty ones. If they name no
    /// start or no end, it is that of all records of the kind, whether or not they match.
    pub buckets: Vec<Bucket>,
    /// All records of the kind in each bucket, matching or not; left out if the query has no
    /// condition but the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub unfiltered: Option<Vec<u64>>,
}

/// One bucket of a histogram.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Bucket {
    /// The bucket's first instant, RFC 3339.
    pub start: String,
    /// Matching records in the bucket.
    pub count: u64,
    /// The same, by value of the histogram's field; values that do not occur are left out.
    pub by: BTreeMap<String, u64>,
}

/// One value of a top list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TopRow {
    /// The value.
    #[serde(flatten)]
    pub value: RowValue,
    /// The matching records with this value.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Quantiles of a duration, in seconds, by the nearest-rank method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quantiles {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}
