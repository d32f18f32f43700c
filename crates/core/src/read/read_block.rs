//! Blocks that are read but not sealed.
//!
//! Both types own the unpacked columns of a block, and a guard that keeps a sweep from freeing ids
//! which the block may refer to. They hold nothing of the block itself: its buffer can be used
//! again as soon as it is read.

use std::borrow::Cow;

use super::target_columns::TargetIds;
use super::text_column::LateId;
use crate::block::Block;
use crate::column::{Numbers, Times};
use crate::field::Field;
use crate::format::{LineParser, Mismatch, unparsed_reason};
use crate::record::Record;
use crate::values::InFlightGuard;

/// A block whose lines were read, with ids that only its reader knows.
///
/// [`BlockReader::resolve`](super::BlockReader::resolve) makes it a [`ResolvedBlock`].
///
/// For a block in one format:
/// `lines = records + empty_lines + unparsed_lines + too_long_lines + directives`.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let limits = BlockLimits { line_bytes_max: 20, ..BlockLimits::default() };
/// let mut reader = BlockReader::new(format, limits, &mut values);
/// let text = b"::1 200\n\nthis line is longer than twenty bytes\n";
/// let read = reader.read(&Block::new(text.to_vec()), 0);
/// assert_eq!((read.lines, read.records), (3, 1));
/// assert_eq!((read.empty_lines, read.too_long_lines), (1, 1));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug)]
pub struct ReadBlock {
    /// The number of lines in the block, including skipped ones.
    ///
    /// Those that the cutter skipped before the block are counted too.
    pub lines: u64,
    /// The number of lines that match the format.
    pub records: u64,
    /// The number of lines that are empty or have only blanks, perhaps inside their wrapper.
    pub empty_lines: u64,
    /// The number of lines that do not match the format.
    ///
    /// Neither empty lines nor lines over the length limit are among them.
    pub unparsed_lines: u64,
    /// The number of lines over the length limit.
    pub too_long_lines: u64,
    /// The first few lines that do not match the format.
    ///
    /// At most [`UnparsedLine::PER_BLOCK_MAX`], so a file in an unknown format costs no more memory
    /// than another.
    pub samples: Vec<UnparsedLine>,
    pub(super) source: u32,
    pub(super) block_offset: u64,
    pub(super) ids: OwnIds,
    pub(super) late: LateIds,
    pub(super) columns: Columns,
    pub(super) guard: InFlightGuard,
    pub(super) first_offset_s: Option<i32>,
}

/// A block whose values all have shared ids.
///
/// [`BlockReader::seal`](super::BlockReader::seal) makes it a segment.
///
/// The only way to get one is to resolve a [`ReadBlock`], so a segment never has an id that the
/// data set does not know.
#[derive(Debug)]
pub struct ResolvedBlock(pub(super) ReadBlock);

/// The number of the reader's own ids in each column when the block was read.
///
/// Ids below these numbers are those of the block and of the blocks before it.
#[derive(Debug, Default)]
pub(super) struct OwnIds {
    pub(super) text: Vec<usize>,
    pub(super) target: TargetIds,
}

/// The late ids of a block in the columns that had a remainder when it was read.
#[derive(Debug, Default)]
pub(super) struct LateIds {
    /// By the reader's text columns.
    pub(super) text: Vec<Option<Vec<LateId>>>,
    pub(super) target: [Option<Vec<LateId>>; 2],
}

/// The columns of a block while it is read.
///
/// All have an element for each row, except those of numbers and times that the format lacks, which
/// are empty.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The reader's own ids by row, for each of its text columns.
    pub(super) text: Vec<Vec<u32>>,
    /// The reader's own ids of the request targets, by row.
    pub(super) targets: Vec<u32>,
    /// The numbers by row, for each of the reader's number columns; [`Numbers::ABSENT`] if absent.
    pub(super) numbers: Vec<Vec<u64>>,
    /// Instants by row, see [`Times::encode_instant`]; [`Numbers::ABSENT`] if absent.
    pub(super) instants: Vec<u64>,
    /// Zone offsets by row, see [`Times::encode_offset`]; [`Numbers::ABSENT`] if absent.
    pub(super) offsets: Vec<u64>,
    pub(super) line_starts: Vec<u32>,
}

/// A line that does not match the format, as a sample for a person.
///
/// A block has at most [`UnparsedLine::PER_BLOCK_MAX`] samples; the others are only counted. The
/// text is the log's own bytes: a program that shows it must remove control characters.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Format, UnparsedLine, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let read = reader.read(&Block::new(b"?\n".repeat(100)), 0);
/// assert_eq!(read.unparsed_lines, 100);
/// assert_eq!(read.samples.len(), UnparsedLine::PER_BLOCK_MAX);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnparsedLine {
    /// The line's number in the block, from 0. Lines that were skipped before the block count.
    pub line: u64,
    /// The offset of the first byte that does not match.
    ///
    /// In bytes from the line's start. It may lie beyond the truncated text.
    pub at: usize,
    /// The name of the format and what it expects at that offset. If the format of the log is not
    /// known, this is the format that comes nearest.
    pub reason: String,
    /// The line, truncated to [`UnparsedLine::BYTES_MAX`].
    pub text: Vec<u8>,
}

impl UnparsedLine {
    /// The largest length of a sample, enough to recognise the kind of line.
    pub const BYTES_MAX: usize = 1 << 10;
    /// The largest number of samples per block, about what fits on a screen.
    pub const PER_BLOCK_MAX: usize = 8;

    /// A sample of a line of a block, which does not match. If the format hides addresses, they are
    /// hidden in it too.
    pub(super) fn new(parser: &LineParser, number: u64, bytes: &[u8], mismatch: Mismatch) -> Self {
        let (mut at, mut reason) = unparsed_reason(parser, bytes, mismatch);
        let mut text = Cow::Borrowed(bytes);
        if let Some(mask) = parser.format().address_mask() {
            // A line that is cut could end with a part of an address, so it is cut afterwards.
            text = mask.hide(bytes);
            at = mask.hide(&bytes[..at.min(bytes.len())]).len();
            reason = String::from_utf8_lossy(&mask.hide(reason.as_bytes())).into_owned();
        }
        let text = text[..text.len().min(Self::BYTES_MAX)].to_vec();
        Self { line: number, at, reason, text }
    }
}

impl Columns {
    /// Clears the columns for the next block.
    pub(super) fn clear(&mut self, text: usize, numbers: usize) {
        self.text.resize_with(text, Vec::new);
        self.text.iter_mut().for_each(Vec::clear);
        self.targets.clear();
        self.numbers.resize_with(numbers, Vec::new);
        self.numbers.iter_mut().for_each(Vec::clear);
        self.instants.clear();
        self.offsets.clear();
        self.line_starts.clear();
    }
}

impl ReadBlock {
    pub(super) fn new(block: &Block, source: u32, columns: Columns, guard: InFlightGuard) -> Self {
        Self {
            lines: block.too_long_lines,
            records: 0,
            empty_lines: 0,
            unparsed_lines: 0,
            too_long_lines: block.too_long_lines,
            samples: Vec::new(),
            source,
            block_offset: block.offset,
            ids: OwnIds::default(),
            late: LateIds::default(),
            columns,
            guard,
            first_offset_s: None,
        }
    }

    /// Adds the numbers of a few records, one column at a time.
    pub(super) fn push_numbers(&mut self, fields: &[Field], records: &[Record<'_>]) {
        for (field, column) in fields.iter().zip(&mut self.columns.numbers) {
            let Some(index) = field.number_index() else { continue };
            extend(column, records, |record| record.number_at(index));
        }
    }

    /// Adds the times of a few records.
    pub(super) fn push_times(&mut self, records: &[Record<'_>]) {
        let instant = |record: &Record<'_>| Some(Times::encode_instant(record.time?.unix_ns));
        let offset = |record: &Record<'_>| Some(Times::encode_offset(record.time?.offset_s));
        extend(&mut self.columns.instants, records, instant);
        extend(&mut self.columns.offsets, records, offset);
        if self.first_offset_s.is_none() {
            let first = records.iter().find_map(|record| record.time);
            self.first_offset_s = first.map(|time| time.offset_s);
        }
    }

    /// Returns whether further unparsed lines are only counted, not sampled.
    pub(super) fn has_samples_enough(&self) -> bool {
        self.samples.len() >= UnparsedLine::PER_BLOCK_MAX
    }

    /// Counts the line that was read last as unparsed, and keeps a sample if there is room.
    #[cold]
    pub(super) fn push_unparsed(&mut self, sample: impl FnOnce(u64) -> UnparsedLine) {
        self.unparsed_lines += 1;
        if !self.has_samples_enough() {
            self.samples.push(sample(self.lines - 1));
        }
    }

    /// Counts lines as unparsed that were left at first, and keeps the first samples of all.
    pub(super) fn push_left(&mut self, lines: u64, samples: impl Iterator<Item = UnparsedLine>) {
        self.unparsed_lines += lines;
        self.samples.extend(samples.take(UnparsedLine::PER_BLOCK_MAX));
        self.samples.sort_by_key(|sample| sample.line);
        self.samples.truncate(UnparsedLine::PER_BLOCK_MAX);
    }
}

#[inline]
fn extend(
    column: &mut Vec<u64>,
    records: &[Record<'_>],
    number: impl Fn(&Record<'_>) -> Option<u64>,
) {
    column.extend(records.iter().map(|record| number(record).unwrap_or(Numbers::ABSENT)));
}
