//! From sources to segments: bytes come in by a [`SourceWriter`], are cut into blocks,
//! parsed on all cores and appended in order.
//!
//! A [`Pipeline`] owns the threads and the [`DataSet`]. Its queue is bounded in bytes: a
//! source that is faster than the parsers waits, in a thread or in a task. What a source
//! is told about its progress is what is parsed, never what was merely received.

mod pipeline;
mod source;

pub use pipeline::{DataSet, Keep, MachineClock, Moment, Pipeline, PipelineOptions, Slot, Stopped};
pub use source::{
    ARCHIVE_HEAD_BYTES, Broken, Compression, Course, Fault, FaultKind, Follower, FormatChoice,
    Head, Input, MemberLimit, PushDecoder, ReadArchive, ReadError, SourceEnd, SourceProgress,
    SourceSample, SourceSnapshot, SourceWriter, Text, can_follow, compression_of, find_inputs,
    first_time, is_archive, read_archive, read_inputs, read_stream, with_year,
};
