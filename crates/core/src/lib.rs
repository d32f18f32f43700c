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
//!
//! # Where to begin
//!
//! | to | use |
//! |---|---|
//! | read a log line by line | [`LogReader`] with [`detect`] or [`Format::parse`] |
//! | test single records | [`RecordPredicate`], [`FieldAccessor`] |
//! | cut a stream into blocks | [`BlockCutter`], then [`FormatTracker`] |
//! | store records as columns | [`BlockReader`], [`Values`], [`Segment`] |
//! | count | [`Question`] and [`Evaluation`], or a [`Fold`] of your own |
//! | count again with another filter | [`Recount`] over a [`Snapshot`] |
//! | export records | [`Segment::columns`], [`Values::dictionary`] |
//!
//! A program that only needs the fields of lines needs neither blocks nor columns:
//!
//! ```
//! use std::sync::Arc;
//! use weir_core::{Field, LineOutcome, Lines, LogReader, detect};
//!
//! let log = b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /a?b HTTP/1.1\" 404 153\n\
//!             192.0.2.8 - - [17/Dec/2025:09:03:02 +0000] \"GET / HTTP/1.1\" 200 5\n";
//! let format = detect(log).best().map(|best| Arc::clone(&best.format)).expect("a known format");
//! let mut reader = LogReader::new(format);
//! let mut paths = Vec::new();
//! for line in Lines::new(log) {
//!     reader.read(line.bytes, |_, outcome| {
//!         if let LineOutcome::Record(record) = outcome {
//!             paths.push(record.text(Field::Path).unwrap_or_default().to_vec());
//!         }
//!     });
//! }
//! assert_eq!(paths, [&b"/a"[..], b"/"]);
//! ```
//!
//! # What holds everywhere
//!
//! - **Input is data.** No content of a log makes a function panic or fail: a line that does not
//!   match is counted, with the place and the reason ([`Mismatch`]). Errors are for what a person
//!   typed: [`FormatError`], [`ClauseError`], [`UnknownField`]. Each is a sentence that says what
//!   to do.
//! - **Values are bytes.** Text is as it was logged: not always UTF-8, not unescaped, and hostile.
//!   A program that shows it escapes it for its output.
//! - **Units.** Instants are nanoseconds since 1970 in an `i64`, durations nanoseconds and sizes
//!   bytes in a `u64`, zone offsets seconds east of UTC. Names carry their unit, as in `first_ns`,
//!   `step_s` and `memory_bytes`.
//! - **Memory is bounded** by numbers that the caller gives: [`BlockLimits`] for lines and blocks,
//!   the limit of [`Values`] for distinct values, `buckets_max` for histograms. What does not fit
//!   is counted under a name of its own, and the answer says that it is an estimate.
//! - **Nothing depends on threads.** Readers and folds are plain values that a caller may run where
//!   it likes; the results are the same for every division of the work.

mod aggregate;
mod block;
mod column;
mod derived;
mod derived_name;
mod field;
mod filter;
mod format;
mod line;
mod pattern;
mod read;
mod record;
mod row_reader;
mod schema;
mod similar_name;
mod snapshot;
mod value;
mod values;

pub use aggregate::{
    Aggregates, Bucket, CountedRows, CountedVisitors, DURATION_BOUNDS_NS, DayVisitors,
    DerivedValues, DurationCounts, DurationSteps, Evaluation, EvaluationByKind, Fold, GroupKey,
    GroupTable, GroupVisitors, GroupedNumber, Grouping, Histogram, ListedColumns, Moment,
    NumberSum, PartialAggregates, Quantiles, Question, REQUEST_METHODS, Recount, RequestCounter,
    RequestCounts, RowGroups, Stack, StatusClasses, Tally, TimeSpans, TopList, Totals,
    VisitorCounter, VisitorCounts, Visitors, histogram_steps_s,
};
pub use block::{Block, BlockCutter, BlockLimits, leading_nuls};
pub use column::{
    ABSENT, Codes, ColumnParts, ColumnRef, Numbers, OffsetDays, REMAINDER, RowBits, Segment,
    SegmentParts, Selection, Times,
};
pub use derived::{
    DERIVED_INPUTS_MAX, Derivation, DerivedCatalog, DerivedField, DerivedInput, DerivedInputs,
    Extract, SourceName, derived_field,
};
pub use derived_name::{DerivedName, cycle_len, derived_names, has_own_order};
pub use field::{ColumnKind, Field, Unit};
pub use filter::{
    Clause, ClauseError, CompiledFilter, Condition, ConditionError, ConditionOperator,
    ConditionValue, DerivedFinder, FieldCondition, Filter, RecordPredicate, TextTest, TimeBounds,
    TimeReader, ValueBatch, ValueForm, excerpt,
};
pub use format::{
    BlockFormats, Candidate, ClientChoice, CompanionSearch, Detection, FollowedFormat, Format,
    FormatChoice, FormatDescription, FormatError, FormatFinding, FormatNotes, FormatSpan,
    FormatTracker, FormatTraits, JoinerWait, LineDetector, LineMismatch, LineOptions, LineOutcome,
    LineParser, LogReader, Mismatch, RecordJoiner, RecordLayout, SuggestedFormat, TextKind,
    TrackerOptions, Wrapper, YearOrigin, YearReference, absent_keys, detect, detect_format,
    format_by_name, format_notes, known_formats, original_lines, record_length, suggest_format,
    try_format, with_log_year,
};
pub use line::{Line, Lines};
pub use pattern::{
    BoundedRegex, CacheReservation, PatternAccount, PatternBudget, PatternRefusal, PatternSize,
    RegexOptions,
};
pub use read::{BlockReader, LeftLines, ReadBlock, ResolvedBlock, UnparsedLine};
pub use record::{FieldAccessor, Record, RecordFields, UnknownField};
pub use row_reader::RowReader;
pub use schema::{Column, ColumnId, RecordKind, Schema};
pub use similar_name::nearest_name;
pub use snapshot::{LogSource, ReadCounts, SegmentList, Snapshot, SnapshotSegment, Snapshots};
pub use value::{
    AddressBlock, AddressMask, Date, QuantityError, QuantityProblem, STATUS_CLASS, STATUS_CLASSES,
    Timestamp, Zone, common_spelling, format_duration, format_rfc3339, parse_duration_ns,
    parse_go_duration_ns, parse_rfc3339, parse_size, push_decimal, push_seconds, status_class,
};
pub use values::{
    ColumnState, DecidedIds, DerivedFrom, Dictionary, FrequentItems, LateValues, LiveIds,
    PendingSegment, PendingSweep, StoredValueError, Sweep, Values,
};
