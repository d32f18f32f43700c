//! Bytes in, answers out: the lines, formats, records, columns, filters and aggregates of
//! access logs.
//!
//! This crate does no I/O, starts no threads, knows no clock and serialises nothing. A
//! [`BlockCutter`] cuts the bytes of a source into [`Block`]s; a [`BlockReader`] reads a
//! block's lines with a [`Format`] into a [`Segment`] of columns, whose distinct values
//! are in the data set's [`Values`]; an [`Evaluation`] answers a [`Question`] over segments.
//!
//! ```
//! use std::sync::Arc;
//! use weir_core::{Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Question, Values};
//!
//! let format = Arc::new(Format::parse(r#"$remote_addr [$time_local] "$request" $status"#)?);
//! let line = b"192.0.2.7 [17/Dec/2025:09:03:01 +0000] \"GET /?a=1 HTTP/1.1\" 404\n";
//!
//! let mut values = Values::new(1 << 20);
//! let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
//! let segment = reader.read_segment(&Block::new(line.to_vec()), 0, &mut values);
//!
//! let mut evaluation = Evaluation::new(&Question::default());
//! evaluation.refresh(&values);
//! evaluation.update(&segment);
//! assert_eq!(evaluation.totals().errors, 1);
//! # Ok::<(), weir_core::FormatError>(())
//! ```

mod aggregate;
mod block;
mod column;
mod field;
mod filter;
mod format;
mod line;
mod read;
mod record;
mod schema;
mod snapshot;
mod value;
mod values;

pub use aggregate::{
    Aggregates, Bucket, CountedRows, Evaluation, EvaluationByKind, Fold, Histogram, ListedColumns,
    PartialAggregates, Quantiles, Question, Recount, Stack, StatusClasses, Tally, TopList, Totals,
};
pub use block::{Block, BlockCutter, BlockLimits};
pub use column::{
    ABSENT, Codes, ColumnRef, Numbers, REMAINDER, RowBits, Segment, Selection, Times,
};
pub use field::{ColumnKind, Field, Unit};
pub use filter::{
    Clause, ClauseError, CompiledFilter, Filter, RecordPredicate, TextTest, TimeBounds, ValueBatch,
};
pub use format::{
    BlockFormats, Candidate, Detection, FollowedFormat, Format, FormatChoice, FormatError,
    FormatFinding, FormatNotes, FormatSpan, FormatTracker, LineMismatch, LineOutcome, LineParser,
    LogReader, Mismatch, TrackerOptions, Wrapper, detect, format_by_name, format_notes,
    known_formats, try_format, with_log_year,
};
pub use line::{Line, Lines};
pub use read::{BlockReader, ReadBlock, ResolvedBlock, UnparsedLine};
pub use record::{FieldAccessor, Record, UnknownField};
pub use schema::{Column, ColumnId, RecordKind, Schema};
pub use snapshot::{LogSource, ReadCounts, SegmentList, Snapshot, SnapshotSegment, Snapshots};
pub use value::{
    AddressBlock, STATUS_CLASS, STATUS_CLASSES, Timestamp, Zone, format_rfc3339, parse_rfc3339,
    status_class,
};
pub use values::{Dictionary, LiveIds, PendingSegment, PendingSweep, Sweep, Values};
