//! Exports records for other programs.
//!
//! [`RowExport`] exports what a data set holds, sorted by line, while it changes. [`SegmentExport`]
//! exports segments as they come, which need not be kept.

mod columns;
mod encoder;
mod line_places;
mod row_cursor;
mod row_export;
mod segment_export;
mod segment_text;
mod text_writers;
mod threads;

use std::fmt;

use weir_core::UnknownField;
use weir_export::EncodeError;

use crate::question::QueryError;

pub use columns::ExportColumns;
pub use line_places::{LinePlace, LinePlaces};
pub use row_export::RowExport;
pub use segment_export::{ExportCounts, SegmentExport};

/// A format of exported records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header and a record for each row (RFC 4180).
    Csv,
    /// One JSON object per row, each on its own line.
    JsonLines,
    /// A Parquet file, see [`weir_export::ParquetWriter`].
    Parquet,
    /// A stream of Arrow messages, see [`weir_export::ArrowWriter`].
    Arrow,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Csv, Self::JsonLines, Self::Parquet, Self::Arrow];

    /// Returns the name in requests and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// Returns the file name extension without a dot, as registered with the media type. `arrow` is
    /// the extension of another format, Arrow's random access file.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Arrow => "arrows",
            _ => self.name(),
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::JsonLines => "application/x-ndjson",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    /// Returns whether the bytes are text, which a terminal can show.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::JsonLines)
    }

    /// Returns the format with this [name](Self::name).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// An export cannot begin or continue.
#[derive(Debug)]
pub enum ExportError {
    /// The query is not valid for this data.
    Query(QueryError),
    /// The records have no such column.
    Column(UnknownField),
    /// The rows cannot be encoded. No content of a log causes this.
    Encode(EncodeError),
    /// The work was stopped.
    Stopped,
}

impl fmt::Display for ExportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(error) => error.fmt(formatter),
            Self::Column(error) => error.fmt(formatter),
            Self::Encode(error) => error.fmt(formatter),
            Self::Stopped => formatter.write_str("the export was stopped"),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<QueryError> for ExportError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

impl From<UnknownField> for ExportError {
    fn from(error: UnknownField) -> Self {
        Self::Column(error)
    }
}

impl From<EncodeError> for ExportError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}
