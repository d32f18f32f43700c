//! The state of a source at one moment.

use std::sync::Arc;

use weir_core::{Format, LogSource, ReadCounts};

use super::{Phase, SourceEnd};

/// A line that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSample {
    /// The line's number in the source, from 1.
    pub line: u64,
    /// The column of the parse failure, in bytes from 1.
    pub column: u64,
    /// The text that the parser expected there.
    pub reason: String,
    /// The line, truncated.
    pub text: Vec<u8>,
}

/// The state of a source at one moment.
#[derive(Debug, Clone)]
pub struct SourceSnapshot {
    /// Its number in the data set, which is never reused.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its size in bytes, if known; the compressed size if it is compressed.
    pub bytes_total: Option<u64>,
    /// Bytes of that size that are done: parsed or, for a compressed source, read.
    pub bytes_done: u64,
    /// Bytes of the lines that are parsed.
    pub bytes_parsed: u64,
    /// Lines read.
    pub lines: u64,
    /// Lines that were parsed into records.
    pub records: u64,
    /// Lines without a text.
    pub empty_lines: u64,
    /// Other lines that could not be parsed.
    pub unparsed_lines: u64,
    /// Lines over the length limit.
    pub too_long_lines: u64,
    /// The format, once it is known.
    pub format: Option<Arc<Format>>,
    /// The records of each format, in the order in which the formats appeared. Usually there is
    /// one.
    pub by_format: Vec<(Arc<Format>, u64)>,
    /// The share of the first lines that the format can parse, 0 to 1; `None` if it was forced.
    pub parsed_share: Option<f64>,
    /// The first few lines that could not be parsed.
    pub samples: Vec<SourceSample>,
    /// How it ended; `None` while it is being read.
    pub end: Option<SourceEnd>,
    /// A note on anything unusual about it.
    pub note: Option<String>,
    /// Its phase, unless it has ended.
    pub phase: Phase,
}

impl SourceSnapshot {
    /// Returns the note on what the log does not tell: the zone of its times, or the unit of a number. It
    /// is part of `note`.
    pub fn format_note(&self) -> Option<String> {
        format_note(&self.by_format)
    }
}

/// Returns the note on formats whose times have no zone, or whose durations have no unit.
pub(super) fn format_note(by_format: &[(Arc<Format>, u64)]) -> Option<String> {
    let are_local = by_format.iter().any(|(format, _)| format.has_local_times());
    let local = are_local.then(|| {
        "its times are local to the machine that wrote them, in a zone that the log does not name; \
         they are taken as UTC"
            .to_owned()
    });
    let mut unitless = by_format.iter().flat_map(|(format, _)| format.unitless_members());
    let unitless = unitless.next().map(|member| {
        format!(
            "its numbers under `{member}` have no unit, so they are a field of that name and no times of \
             requests; name the unit with --format, as in `json:...,request_time={member}(ms)`"
        )
    });
    local.or(unitless)
}

impl LogSource for SourceSnapshot {
    fn read_counts(&self) -> ReadCounts {
        ReadCounts {
            lines: self.lines,
            records: self.records,
            empty_lines: self.empty_lines,
            unparsed_lines: self.unparsed_lines,
            too_long_lines: self.too_long_lines,
            bytes_read: self.bytes_parsed,
        }
    }

    fn format(&self) -> Option<&Arc<Format>> {
        self.format.as_ref()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        Some(self.number)
    }

    fn defect(&self) -> Option<String> {
        match self.end.as_ref()? {
            SourceEnd::Done => None,
            SourceEnd::Failed(error) => Some(error.to_string()),
            SourceEnd::Cancelled => Some("it was cancelled before its end".to_owned()),
        }
    }

    fn records_by_format(&self) -> &[(Arc<Format>, u64)] {
        &self.by_format
    }
}
