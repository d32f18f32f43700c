//! The view: what the page draws, a report with the state of its sources.

use serde::{Deserialize, Serialize};

use crate::query::NormalFilter;
use crate::report::{Format, FormatCount, Report};

/// One snapshot of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct View {
    /// The id of the query that this answers; 0 before any was asked.
    pub query: u64,
    /// The filter of the query in its normal form, if the query has conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub filter: Option<NormalFilter>,
    /// True when every source has ended, so that nothing more will change by itself.
    pub complete: bool,
    /// The sources in the order they were begun.
    pub sources: Vec<Source>,
    /// The answer over all that was parsed so far.
    pub report: Report,
    /// Samples of unparsed lines, the first few of each source.
    pub samples: Vec<Sample>,
    /// Bytes that the data set occupies in memory.
    pub memory_bytes: u64,
    /// The ceiling the user set for them.
    pub memory_bytes_max: u64,
    /// The window of a live feed; `null` if all records are kept.
    pub window: Option<Window>,
    /// Sentences the reader of the numbers should know, such as mixed time offsets.
    pub notes: Vec<String>,
}

/// What is kept of a feed that goes on. The report is about these records alone; its
/// `records`, as what the sources count, are all that were ever read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Window {
    /// How far back from the newest record, in seconds; `null` if only the memory limits it.
    pub width_s: Option<f64>,
    /// Number of records in the window, including those that do not match the filter.
    pub records: u64,
}

/// One source of lines and how far it has been read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Source {
    /// Its number in the session, by which it can be removed. No other source ever has it.
    #[serde(default)]
    pub number: u32,
    /// The page's own id of an uploaded file; empty for other sources.
    pub file: String,
    /// What the page has made of the first and the last bytes of an uploaded file, to recognise it;
    /// `null` for other sources.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The file's name as given.
    pub name: String,
    /// How far it is.
    pub state: SourceState,
    /// Bytes of the source that are parsed. For a compressed source, compressed bytes.
    pub bytes_done: u64,
    /// The size of the source if it is known, in the same unit as `bytes_done`.
    pub bytes_total: Option<u64>,
    /// Lines read.
    pub lines: u64,
    /// Lines that were parsed.
    pub records: u64,
    /// Whether its records were never lines, as those of a gateway; `lines` counts the records then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub records_only: bool,
    /// Lines that do not match the format.
    pub unparsed_lines: u64,
    /// Lines over the length limit.
    pub too_long_lines: u64,
    /// The format its lines are read with, once that is known.
    pub format: Option<Format>,
    /// The records of each format, the format with the most records first; usually there is one.
    #[serde(default)]
    pub formats: Vec<FormatCount>,
    /// Share of the first lines that match that format, 0 to 1.
    pub format_share: Option<f64>,
    /// Why it failed or what is odd about it.
    pub message: Option<String>,
}

/// How far a source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Begun, and not at its end.
    #[default]
    Reading,
    /// Read to its end for now, and on as it grows.
    Following,
    /// Waits for what others send; it has no end.
    Listening,
    /// Its connection broke; it can still be taken up again.
    Interrupted,
    /// Read to its end.
    Done,
    /// Ended early; `message` says why. The lines read so far are kept.
    Failed,
    /// Ended by the user. The lines read so far are kept.
    Cancelled,
}

/// A sample of an unparsed line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sample {
    /// Name of the source.
    pub source: String,
    /// Line number in it, from 1.
    pub line: u64,
    /// The column at which the line differs from the format, in bytes from 1.
    pub column: u64,
    /// Why, as a phrase: what was expected there.
    pub reason: String,
    /// The line, cut to 1 KiB, with U+FFFD for bytes that are no UTF-8.
    pub text: String,
}
