//! The sources of an answer, and whether they were read completely.

use serde::{Deserialize, Serialize};
use weir_core::LogSource;

use crate::report::FormatCount;
use crate::unread::Unread;

/// A source of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportSource {
    /// Its name.
    pub name: String,
    /// The number of records in each format.
    pub formats: Vec<FormatCount>,
    /// The number of bytes read, after decompression.
    pub bytes_read: u64,
    /// The number of lines read.
    pub lines: u64,
    /// The number of parsed lines.
    pub records: u64,
    /// The number of lines that do not match the format.
    pub unparsed_lines: u64,
    /// The number of lines over the length limit, which are skipped.
    pub too_long_lines: u64,
    /// Whether it was read completely. If not, [`Report::incomplete`](crate::Report::incomplete)
    /// has the reason, or it is still being read.
    #[serde(rename = "complete")]
    pub is_complete: bool,
    /// What it is if no line is in a known format. Otherwise left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Unread>,
}

impl ReportSource {
    /// Creates the entry of a source.
    pub fn of<S: LogSource>(source: &S, is_complete: bool) -> Self {
        let counts = source.read_counts();
        Self {
            name: source.name().to_owned(),
            formats: FormatCount::of_sources(std::slice::from_ref(source)),
            bytes_read: counts.bytes_read,
            lines: counts.lines,
            records: counts.records,
            unparsed_lines: counts.unparsed_lines,
            too_long_lines: counts.too_long_lines,
            is_complete,
            unread: None,
        }
    }
}

/// A source that ended before it was read completely, or that could not be opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct IncompleteSource {
    /// Its name.
    pub source: String,
    /// The problem with it, as a sentence.
    pub reason: String,
}

/// The sources of a count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CountedSources {
    /// The sources that could be opened.
    pub sources: Vec<CountedSource>,
    /// The sources that were not read completely. Left out if all were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<IncompleteSource>,
}

/// A source of a count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CountedSource {
    /// Its name.
    pub name: String,
    /// Whether it was read completely.
    #[serde(rename = "complete")]
    pub is_complete: bool,
}
