//! From sources to segments: a [`SourceWriter`] takes bytes, which are cut into blocks, parsed on
//! all cores and appended in order.
//!
//! A [`Pipeline`] owns the threads and the [`DataSet`]. Its queue is bounded in bytes: a source
//! that is faster than the parsers waits, in a thread or in a task. The progress of a source
//! counts parsed bytes, not received ones.
//!
//! A [`TextScan`] reads the lines of a text once and stores nothing.

mod clock;
mod error;
mod pipeline;
mod progress;
mod queue;
mod scan;
mod source;
mod writer;

pub use clock::{Clock, SystemClock};
pub use error::{Fault, FaultKind, ReadError, SourceError, StopReason, StreamError};
pub use pipeline::{
    DataSet, MachineClock, OrderedSegments, Pipeline, PipelineFold, PipelineOptions, Retention,
};
pub use progress::{Phase, SourceEnd, SourceProgress, SourceSample, SourceSnapshot};
pub use scan::{
    FileRanges, FormatBinding, LineBlocks, MemoryBudget, OrderedOutput, RangeLines, RecordReader,
    ScannedText, TallyEntry, TextPart, TextScan, ValueTally, is_retryable, run_in_order,
};
pub use source::{
    ARCHIVE_HEAD_BYTES, Compression, Follower, Head, Input, MemberLimit, PushDecoder, ReadArchive,
    Text, can_follow, compression_of, find_inputs, first_time, is_archive, read_archive,
    read_inputs, read_stream, with_year,
};
pub use weir_core::FormatChoice;
pub use writer::{SourceOptions, SourceWriter};
