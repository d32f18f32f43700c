//! The report: the answer to one query over one data set.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::{Field, YearOrigin};

use crate::blocks::BlocksReport;
use crate::comparison::Comparison;
use crate::differences::Differences;
use crate::group::{Group, Tally};
use crate::kind::{KindCount, RecordKind};
use crate::number::is_zero;
use crate::robots::Robots;
use crate::row_value::RowValue;
use crate::sources::{IncompleteSource, ReportSource};
use crate::visitors::Visitors;
use crate::words::DURATION_TITLES;

/// The statistics of the records that match a filter.
///
/// `lines = records + empty_lines + unparsed_lines + too_long_lines + directive_lines` always holds.
/// `records` counts the parsed lines of all kinds. A report is about the records of one `kind`.
/// `matching` counts those of them that match the filter, and all members after `bytes_read` are only
/// about these.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Report {
    /// The number of lines of all kinds.
    pub lines: u64,
    /// The number of parsed lines.
    pub records: u64,
    /// The kind of records that the report is about.
    #[serde(default)]
    pub kind: RecordKind,
    /// The number of records of each kind in the data set.
    #[serde(default)]
    pub kinds: Vec<KindCount>,
    /// The number of records of the kind that match the filter.
    pub matching: u64,
    /// The number of lines that do not match the format.
    pub unparsed_lines: u64,
    /// The number of lines over the length limit, which are skipped.
    pub too_long_lines: u64,
    /// The number of lines without a text.
    #[serde(default)]
    pub empty_lines: u64,
    /// The number of lines that describe others, such as `#Fields:` of W3C.
    #[serde(default)]
    pub directive_lines: u64,
    /// The number of bytes read from the sources, after decompression.
    pub bytes_read: u64,
    /// The sum of the response sizes of the matching records, in bytes.
    pub bytes_sent: u64,
    /// The number of matching records with a status of 400 to 599.
    pub errors: u64,
    /// The format of the lines.
    pub format: Format,
    /// The number of records in each format, in descending order. `records` is their sum.
    #[serde(default)]
    pub formats: Vec<FormatCount>,
    /// The time range of the matching records.
    pub time: TimeRange,
    /// Matching records over time; `null` if the format has no time or nothing matches.
    pub histogram: Option<Histogram>,
    /// The overlaid records, with the same buckets as `histogram`; `null` if the query has no
    /// overlay, or if one of the kinds has no matching record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub overlay: Option<Histogram>,
    /// The number of distinct values of each field. A lower bound if the field is in `estimated`.
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
    /// The fields whose lists or quantiles are estimates, because memory ran out for them. All
    /// fields if `filter_estimated`.
    pub estimated: Vec<String>,
    /// For each list with a remainder, the maximum number of records of a value without its own
    /// count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<BTreeMap<String, u64>>"))]
    pub unlisted_max: BTreeMap<String, u64>,
    /// Whether memory ran out for values that the filter depends on, so that all numbers are
    /// estimates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub filter_estimated: bool,
    /// The sums without meaning, because no format of the log has their field: `bytes_sent`,
    /// `errors`. They are 0 here and in all lists, and are not shown to people.
    #[serde(default)]
    pub absent: Vec<String>,
    /// The fields of the conditions that no format of this kind has, so that no record of the kind
    /// has a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub missing_fields: Vec<String>,
    /// The sources. Not in a view, which has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub sources: Vec<ReportSource>,
    /// The sources that were not read completely, so that the numbers lack the rest. Left out if
    /// all were, or are still being read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<IncompleteSource>>"))]
    pub incomplete: Vec<IncompleteSource>,
    /// The records of each value of the field to group by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub group: Option<Group>,
    /// The changes since the previous period, if the query compares periods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub compare: Option<Comparison>,
    /// The blocks in the logs, in `weir report --json`, if there are blocks beside requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub blocks: Option<BlocksReport>,
    /// How the matching records differ from the others, in `weir report --json --different`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub different: Option<Differences>,
    /// The visitors of the requests by day, in `weir report --json --visitors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub visitors: Option<Visitors>,
    /// The clients that behave as robots, in `weir report --json --robots`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub robots: Option<Robots>,
    /// The reports about the other kinds of records, in `weir report --json`, which answers for all
    /// kinds at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub other_kinds: Vec<Report>,
}

impl Report {
    /// Returns the number of records of the report's kind, whether or not they match the filter.
    pub fn records_of_kind(&self) -> u64 {
        let own = self.kinds.iter().filter(|count| count.kind == self.kind);
        own.map(|count| count.records).sum()
    }

    /// Returns the durations that the records have, with their titles.
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

    /// Returns whether the records have a sum: `bytes_sent` or `errors`.
    pub fn has_sum(&self, name: &str) -> bool {
        !self.absent.iter().any(|absent| absent == name)
    }
}

/// A log format: its name and its definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Format {
    /// A known name such as `COMBINED`, `custom` for a pasted definition, or `mixed` if the
    /// sources of a data set have different formats.
    pub name: String,
    /// The definition in nginx's or Apache's own notation, or the JSON keys that are read. For
    /// mixed formats, a line with the name and the definition of each.
    pub definition: String,
    /// The definition for `--format` of a known format with values after its lines or parts before
    /// them, in which the values can be given other names. Left out for other formats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub suggestion: Option<String>,
    /// The name of the field whose address is the client, if it is not that of the connection, such
    /// as `http_x_forwarded_for`. Otherwise left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub client_field: Option<String>,
}

/// The number of records in one format.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FormatCount {
    /// The format's name.
    pub name: String,
    /// The number of records in it, regardless of the filter.
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
    /// The offsets from UTC of the times of the log, if they are several. Unless another zone was
    /// asked for, `zone` is one that has all of them, or else the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<Vec<String>>", optional))]
    pub offsets: Vec<String>,
    /// Where the year comes from, if the times of the log are written without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub year_from: Option<YearSource>,
}

/// Where the year of times comes from that are written without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum YearSource {
    /// It was stated.
    Stated,
    /// A day in the name of the file.
    Name,
    /// The first time of the log that goes on after this one, in a rotated set.
    NextLog,
    /// A 29 February in the log: the latest leap year before its last change.
    LeapDay,
    /// The time at which the file was last written.
    Written,
    /// The time at which the log was read.
    Read,
}

impl YearSource {
    /// What a person should know of a year that may be wrong; `None` for the others.
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            Self::Stated => None,
            Self::Name => Some("by the day in the file's name"),
            Self::NextLog => Some("by the next log of its rotated set"),
            Self::LeapDay => Some("the last leap year, by its 29 February"),
            Self::Written => Some("that of the file's last change"),
            Self::Read => Some("the latest that is not in the future"),
        }
    }
}

impl From<YearOrigin> for YearSource {
    fn from(origin: YearOrigin) -> Self {
        match origin {
            YearOrigin::Stated => Self::Stated,
            YearOrigin::Name => Self::Name,
            YearOrigin::NextLog => Self::NextLog,
            YearOrigin::LeapDay => Self::LeapDay,
            YearOrigin::Written => Self::Written,
            YearOrigin::Clock => Self::Read,
        }
    }
}

/// Counts over time, in steps of the calendar of the chosen zone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Histogram {
    /// The length of a bucket in seconds of local time. A calendar month counts as 30 days and a
    /// calendar year as 365.
    pub step_s: u64,
    /// The field by which the buckets are stacked: `status_class` or a field's name.
    pub field: String,
    /// The values of `field` that occur, in stacking order: status classes in their own order,
    /// other values in descending order.
    pub groups: Vec<String>,
    /// The end of the last bucket, RFC 3339.
    pub until: String,
    /// All buckets of the time range of the conditions, including empty ones. A missing start or
    /// end is that of all records of the kind, whether or not they match.
    pub buckets: Vec<Bucket>,
    /// The number of matching records that are in no bucket, because their times are before 1990 and
    /// others are not: a clock was not set. Left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<u64>"))]
    pub left_out: u64,
    /// The number of all records of the kind in each bucket, matching or not; left out if the query
    /// has no condition other than on the time.
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
    /// The number of matching records in the bucket.
    pub count: u64,
    /// The same, by value of the histogram's field. Values that do not occur are left out.
    pub by: BTreeMap<String, u64>,
}

/// One value of a top list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TopRow {
    /// The value.
    #[serde(flatten)]
    pub value: RowValue,
    /// The sums of the matching records with this value.
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
