//! Reads sources into segments. A [`SourceWriter`] takes bytes, which are cut into blocks, parsed
//! on all cores and appended in order.
//!
//! A [`Pipeline`] owns the threads and the [`DataSet`]. Its queue is bounded in bytes: a source
//! that is faster than the parsers waits, in a thread or in a task. The progress of a source
//! counts parsed bytes, not received ones.
//!
//! [`Records`] reads the lines of such sources once and keeps nothing; [`scan_text`] searches whole
//! lines, which need no format.
//!
//! ```
//! use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
//!
//! let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
//! let pipeline = Pipeline::start(&PipelineOptions::new(2, Retention::Segments), data.clone());
//! let mut log = pipeline.source("access.log", None, FormatChoice::Detect);
//! // The pieces may have any size: a record is parsed once its line is complete.
//! log.write_all(b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP")?;
//! log.write_all(b"/1.1\" 404 17\n")?;
//! log.finish(SourceEnd::Done)?;
//! pipeline.finish();
//! let snapshot = data.snapshot();
//! assert_eq!(snapshot.sources[0].records, 1);
//! assert_eq!(snapshot.formats[0].name(), "COMMON");
//! # Ok::<(), weir_ingest::StopReason>(())
//! ```

mod allowed_memory;
mod clock;
mod error;
mod file_identity;
mod file_parts;
#[cfg(test)]
mod file_parts_tests;
mod file_reads;
mod file_span;
mod file_sums;
mod first_length;
mod log_year;
mod packed_file;
mod pipeline;
mod place_sums;
mod plain_file;
mod progress;
mod queue;
mod restored_place;
mod scan;
mod source;
mod state;
mod writer;

pub use allowed_memory::{AllowedMemory, MemoryLimiter};
pub use clock::{Clock, SystemClock};
pub use error::{Fault, FaultKind, ReadError, SourceError, StopReason, StreamDefect, StreamError};
pub use file_parts::FilePlace;
pub use file_span::FileSpan;
pub use log_year::LastTime;
pub use packed_file::PackedFile;
pub use pipeline::{
    BlockStart, DataSet, FormatMap, FoundRecord, LineSink, LogLine, LogLines, MachineClock,
    OrderedSegments, Pipeline, PipelineFold, PipelineOptions, ReadTotals, Records, RequestGroup,
    RequestTotals, RequestsBy, RequestsByError, Retention, StageTimes, TotalMemory, VisitedBlock,
    WindowReach,
};
pub use plain_file::{FoundLine, LineFile, PlainFile, ReadBackError};
pub use progress::{
    EarlyBytes, HeldBytes, Phase, SourceEnd, SourceProgress, SourceSample, SourceSnapshot,
};
pub use restored_place::RestoredPlace;
pub use scan::{
    FileRanges, LineBlocks, MemoryBudget, OrderedMerge, OrderedOutput, Part, RangeLines,
    TallyChunk, TallyEntry, ValueTally, is_retryable, run_in_order, scan_text,
};
pub use source::{
    FileSet, FollowOptions, Follower, Head, Input, InputFile, LineJoiner, MemberLimit, ReadUpload,
    Text, can_follow, find_inputs, first_time, is_identified, is_packed, is_table_input,
    is_unfinished, read_inputs, read_packed_file, read_stream, read_upload, table_rows, with_year,
};
pub use state::{State, StateError};
pub use weir_core::FormatChoice;
pub use weir_store::{StoreError, is_stored};
pub use writer::{Intake, RecordWriter, SourceOptions, SourceWriter};
