//! What a caller makes of lines.

use std::sync::Arc;

use weir_core::{Format, Record};

use crate::progress::SourceProgress;

/// Makes something of the lines of blocks, on one thread.
///
/// The lines of a block come in their order, and all of them belong to one source. Consecutive
/// blocks may be of different sources, and a thread sees only some of the blocks.
pub trait LineSink {
    /// What becomes of a block.
    type Output: Send;

    /// The output of a block before its lines.
    fn output(&mut self) -> Self::Output;

    /// Begins a block that has lines.
    fn begin(&mut self, _block: &BlockStart<'_>, _output: &mut Self::Output) {}

    /// Whether a line is to be read as a record. If not, the sink does not get it, and it counts
    /// neither as a record nor as an unparsed line.
    fn wants(&mut self, _line: &LogLine<'_>, _output: &mut Self::Output) -> bool {
        true
    }

    /// Takes the next line. `found` is its record, unless the line is empty, a directive, or in none
    /// of the formats of its source.
    fn take(
        &mut self,
        line: &LogLine<'_>,
        found: Option<FoundRecord<'_>>,
        output: &mut Self::Output,
    );

    /// Whether lines are read as records. If not, the sink gets them by [`Self::take_lines`].
    fn reads_records(&self) -> bool {
        true
    }

    /// Takes whole lines. Returns how many there are.
    fn take_lines(&mut self, _lines: &LogLines<'_>, _output: &mut Self::Output) -> u64 {
        0
    }
}

/// What is known of a block before its lines are read.
#[derive(Debug, Clone, Copy)]
pub struct BlockStart<'a> {
    /// The source.
    pub source: &'a Arc<SourceProgress>,
    /// The format in which lines are tried first. A placeholder while no format is found.
    pub format: &'a Arc<Format>,
    /// Whether the format is found.
    pub is_format_known: bool,
    /// Whether no line of the source can be in another format, because this one is forced and has no
    /// directives that change it.
    pub is_only_format: bool,
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// The line without its line feed. NUL bytes before it do not belong to it; a byte order mark
    /// and a CR at its end do, although its record has neither.
    pub bytes: &'a [u8],
    /// Its number in the block, from 0; in the source if [`Records`](super::Records) number lines.
    pub number: u64,
    /// The offset of its first byte in the source.
    pub offset: u64,
}

/// Some lines of a log that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLines<'a> {
    /// The lines, each with its line feed; the last one of a source may lack it.
    pub bytes: &'a [u8],
    /// The number of the first line; see [`LogLine::number`].
    pub first: u64,
    /// The offset of their first byte in the source.
    pub offset: u64,
}

/// The record of a line, in the format that the line is in.
#[derive(Debug, Clone, Copy)]
pub struct FoundRecord<'a> {
    /// The format: that of the block, or a companion.
    pub format: &'a Arc<Format>,
    /// The record.
    pub record: &'a Record<'a>,
}

/// A block after its visit, in the order of the blocks.
#[derive(Debug)]
pub struct VisitedBlock<'a, O> {
    /// The source. All blocks before it are in its counts; this one is not.
    pub source: &'a SourceProgress,
    /// The number of lines of the source before this block.
    pub lines_before: u64,
    /// What the sink made of the lines.
    pub output: O,
}
