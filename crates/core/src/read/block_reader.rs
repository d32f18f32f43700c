//! Reads blocks into segments.
//!
//! The three steps exist because they need different access. Parsing needs none, so it runs on all
//! cores at once. Finding shared ids of new values needs exclusive access to the values and the
//! order of the blocks; it is the only step that threads wait for. Packing needs neither. Which
//! step a block has done is its type.
//!
//! Records are filled in batches of 64 and then divided into columns, one column at a time:
//! interning a column of a batch hides the latency of memory, see [`crate::values`].

mod left;
mod memory;
mod resolving;
mod sealing;

use std::sync::Arc;

use super::derived_columns::{DerivedColumn, derived_columns};
use super::left_lines::LeftLines;
use super::read_block::{Columns, ReadBlock, UnparsedLine};
use super::target_columns::{self, TargetColumns};
use super::text_column::TextColumn;
use super::unwrapped::UnwrappedBlock;
use crate::block::{Block, BlockLimits};
use crate::column::Segment;
use crate::field::Field;
use crate::format::{Format, LineParser, Mismatch, PackedRecords};
use crate::line::{IndexedLine, Line, Lines, StructuralIndex};
use crate::record::Record;
use crate::schema::RecordKind;
use crate::values::{BATCH, Generations, InFlightGuard, Values};

/// Reads blocks of one format, in three steps that let many readers share one [`Values`]:
///
/// 1. [`Self::read`] parses a block without the shared values, with ids of its own for the values
///    that it meets, and returns a [`ReadBlock`];
/// 2. [`Self::resolve`] finds the shared ids of the values that are new to this reader, and
///    returns a [`crate::ResolvedBlock`]. If blocks are resolved in their order, the shared ids do
///    not depend on the number of readers. The step takes time only for new values, and for few of
///    them after [`Self::look_up`]. When the memory limit is reached, it also counts the values
///    without an id, of which frequent ones get one ([`crate::LateValues`]);
/// 3. [`Self::seal`] packs the columns with the shared ids, and returns a
///    [`crate::PendingSegment`].
///
/// [`Self::read_segment`] does all three for a caller that owns the values.
///
/// Several blocks may be read before the first is resolved. A block must be resolved and sealed by
/// the reader that read it, in the order of reading. If [`Self::is_large`] returns true, the caller
/// should seal all blocks before it reads more: only then can the reader forget values.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Field, Format, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr $status $body_bytes_sent")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
///
/// let block = Block::new(b"192.0.2.7 200 17\nnot a record\n".to_vec());
/// let read = reader.read(&block, 0);
/// assert_eq!((read.lines, read.records, read.unparsed_lines), (2, 1, 1));
///
/// let resolved = reader.resolve(read, || &mut values);
/// let segment = reader.seal(resolved).into_segment();
/// assert_eq!(segment.number(Field::Bytes, 0), Some(17));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Failures
///
/// None: no block makes a step fail, and no content makes it panic. Lines that are not in the
/// format are counted. A column whose values exceed the memory limit of [`Values`] gets the
/// remainder in their place.
///
/// # Example with two readers
///
/// The steps of two readers may run on two threads. Only `resolve` must happen in the order of the
/// blocks:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{Block, BlockLimits, BlockReader, Field, Format, Values};
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut readers =
///     [0, 1].map(|_| BlockReader::new(format.clone(), BlockLimits::default(), &mut values));
/// let blocks = [&b"::1 200\n"[..], b"::2 200\n"].map(|lines| Block::new(lines.to_vec()));
///
/// let [first, second] = [0, 1].map(|at| readers[at].read(&blocks[at], 0));
/// let first = readers[0].resolve(first, || &mut values);
/// readers[1].look_up(&second, &values);
/// let second = readers[1].resolve(second, || &mut values);
/// let segments = [readers[1].seal(second), readers[0].seal(first)];
///
/// let status = Field::Status.column();
/// assert_eq!(values.dictionary(status).ids(), 3); // absent, remainder, and 200
/// assert!(segments.iter().all(|pending| pending.segment().text(status).is_some()));
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug)]
pub struct BlockReader {
    parser: LineParser,
    line_bytes_max: usize,
    /// The text columns that the format fills with a value of their own.
    columns: Vec<TextColumn>,
    /// The index of each column's value in a record; see [`Record::text_at`].
    record_indices: Vec<usize>,
    /// The columns that are derived from the request's target.
    target: Option<TargetColumns>,
    /// The columns that are derived from others. Their values are the last of `columns`.
    derived: Vec<DerivedColumn>,
    /// The name of the source of the next block, if a column is derived from it.
    source_name: String,
    /// The kind of the format's records.
    kind: RecordKind,
    /// The number columns that the format fills.
    numbers: Vec<Field>,
    has_time: bool,
    /// The index of the current block, if the format uses one.
    structural_index: StructuralIndex,
    /// The memory for the decoded values of a block, if the format has some.
    decoded: Vec<u8>,
    /// Whether the shared values have the zone offset of the first time.
    has_noted_offset: bool,
    generations: Generations,
    /// The generation of the ids that the reader remembers.
    generation: u64,
    /// Keeps that generation from ending while a block is read but not sealed.
    guard: Option<InFlightGuard>,
    /// Whether a new generation has begun, so that the reader must forget its ids.
    is_outdated: bool,
    /// The number of blocks that are read but not sealed.
    unsealed: usize,
    /// [`REMEMBERED_BYTES_MAX`], except in tests.
    remembered_bytes_max: usize,
    /// The buffers of a sealed block, for reuse: fresh memory costs a page fault every 4 KiB.
    spare: Option<Columns>,
}

/// The limit of the values that a reader remembers, in bytes. Each thread needs this memory in
/// addition to the shared dictionaries.
///
/// A reader that forgets a value has to find its shared id again, which costs time but changes no
/// result.
const REMEMBERED_BYTES_MAX: usize = 64 << 20;

impl BlockReader {
    /// Returns a reader of blocks in `format`. Adds a column to `values` for each extra field.
    ///
    /// `limits` should be those of the cutter that makes the blocks: the reader skips and counts
    /// the lines over `line_bytes_max` that the cutter left in a block. The reader belongs to
    /// `values`, and must not be used with those of another data set.
    pub fn new(format: Arc<Format>, limits: BlockLimits, values: &mut Values) -> Self {
        let is_part =
            |field: &Field| format.has_request_target() && target_columns::FIELDS.contains(field);
        let (mut columns, mut record_indices) = (Vec::new(), Vec::new());
        for (index, field) in Field::TEXT.iter().enumerate() {
            if format.fills(*field) && !is_part(field) {
                columns.push(TextColumn::new(field.column()));
                record_indices.push(index);
            }
        }
        for (index, name) in format.logged_extra_fields().iter().enumerate() {
            columns.push(TextColumn::new(values.add_text_column(name)));
            record_indices.push(Field::TEXT.len() + index);
        }
        let derived = derived_columns(&format, &record_indices, format.has_request_target());
        for part in format.derived() {
            columns.push(TextColumn::new(values.add_derived_column(part.field.name())));
        }
        let numbers = Field::NUMBERS.into_iter().filter(|field| format.fills(*field));
        Self {
            kind: format.kind(),
            numbers: numbers.collect(),
            has_time: format.fills(Field::Time),
            target: format.has_request_target().then(TargetColumns::new),
            derived,
            source_name: String::new(),
            parser: LineParser::of_blocks(format),
            line_bytes_max: limits.line_bytes_max,
            columns,
            record_indices,
            structural_index: StructuralIndex::default(),
            decoded: Vec::new(),
            has_noted_offset: false,
            generation: values.generations.present(),
            generations: values.generations.clone(),
            guard: None,
            is_outdated: false,
            unsealed: 0,
            remembered_bytes_max: REMEMBERED_BYTES_MAX,
            spare: None,
        }
    }

    /// Sets the reference for dates without a year in the following blocks; see
    /// [`Format::with_year_reference`].
    ///
    /// In seconds since 1970; `None` for no reference. For a log that is followed over the turn of
    /// a year.
    pub fn set_year_reference(&mut self, unix_s: Option<i64>) {
        self.parser.set_year_reference(unix_s);
    }

    /// Sets the name of the source of the blocks that are read next.
    ///
    /// Only fields that are derived from it need it.
    pub fn set_source_name(&mut self, name: &str) {
        if self.parser.format().derives_from_source() && self.source_name != name {
            name.clone_into(&mut self.source_name);
            self.derived.iter_mut().for_each(DerivedColumn::forget);
        }
    }

    /// Parses a block of source number `source`.
    ///
    /// All lines must be in the format of this reader: split a block in which the format changes
    /// (see [`crate::FormatTracker`]). Lines over the length limit are counted and skipped. Lines
    /// that do not match are counted, and the first few are sampled. No content makes this fail.
    ///
    /// `source` is a number that the caller chose for the source; the segment carries it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let read = reader.read(&Block::new(b"::1 200\n::1 2x0\n".to_vec()), 0);
    /// let sample = &read.samples[0];
    /// assert_eq!((sample.line, sample.at, &sample.text[..]), (1, 4, &b"::1 2x0"[..]));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn read(&mut self, block: &Block, source: u32) -> ReadBlock {
        self.read_all(block, source, None)
    }

    fn read_all(&mut self, block: &Block, source: u32, left: Option<&mut LeftLines>) -> ReadBlock {
        let mut read = self.begin(block, source);
        let bytes = block.bytes().len();
        match self.parser.fast_path_quotes() {
            _ if self.parser.format().is_packed() => {
                let records = PackedRecords::new(block.bytes()).map(IndexedLine::without_index);
                self.read_lines(records, bytes, &mut read, |_| None, left);
            }
            _ if self.parser.is_escaped() => {
                let unwrapped = UnwrappedBlock::new(block.bytes(), &self.parser);
                self.read_unwrapped(&unwrapped, bytes, &mut read, left);
            }
            Some(quotes) => {
                let mut index = std::mem::take(&mut self.structural_index);
                index.scan(block.bytes());
                let lines = index.lines(block.bytes(), quotes);
                self.read_lines(lines, bytes, &mut read, |_| None, left);
                self.structural_index = index;
            }
            None => {
                let lines = Lines::new(block.bytes()).map(IndexedLine::without_index);
                self.read_lines(lines, bytes, &mut read, |_| None, left);
            }
        }
        self.end(read)
    }

    /// Begins to read lines of a block.
    fn begin(&mut self, block: &Block, source: u32) -> ReadBlock {
        let guard = self.enter();
        self.unsealed += 1;
        self.parser.begin_block();
        let columns = self.spare.take().unwrap_or_default();
        let mut read = ReadBlock::new(block, source, columns, guard);
        read.columns.clear(self.columns.len(), self.numbers.len());
        read
    }

    /// Notes what the lines of a block have brought.
    fn end(&mut self, mut read: ReadBlock) -> ReadBlock {
        for column in &mut self.derived {
            let (columns, text) = (&mut read.columns, &mut self.columns);
            column.fill(columns, text, self.target.as_ref(), &self.source_name);
        }
        read.ids = self.own_ids();
        read.late = self.count_late(&read.columns);
        read.records = read.columns.line_starts.len() as u64;
        read
    }

    /// Reads lines that had to be unwrapped first, of a block of `bytes` bytes.
    fn read_unwrapped(
        &mut self,
        unwrapped: &UnwrappedBlock,
        bytes: usize,
        read: &mut ReadBlock,
        left: Option<&mut LeftLines>,
    ) {
        let lines = unwrapped.lines().map(IndexedLine::without_index);
        self.read_lines(lines, bytes, read, |line| unwrapped.mismatch(line), left);
    }

    /// Reads lines, which have at most `bytes` bytes together. `known` returns the mismatch of a
    /// line that is already known not to match. Lines that do not match are put into `left`, if
    /// there is one, instead of being counted.
    #[inline]
    fn read_lines<'a>(
        &mut self,
        lines: impl Iterator<Item = IndexedLine<'a>>,
        bytes: usize,
        read: &mut ReadBlock,
        known: impl Fn(Line<'a>) -> Option<Mismatch>,
        mut left: Option<&mut LeftLines>,
    ) {
        let mut memory = std::mem::take(&mut self.decoded);
        let mut decoded = self.parser.decode_buffer(&mut memory, bytes);
        let mut records = vec![self.parser.record(); BATCH];
        let mut filled = 0;
        for indexed in lines {
            let line = indexed.line;
            read.lines += 1;
            if line.bytes.len() > self.line_bytes_max {
                read.too_long_lines += 1;
                continue;
            }
            // Hundreds of empty lines take the space of one other line, so they are skipped early.
            if line.bytes.is_empty() {
                read.empty_lines += 1;
                continue;
            }
            if self.parser.read_directive(line.bytes) {
                continue;
            }
            let quote = |index| indexed.quote(index);
            let outcome = match known(line) {
                None => {
                    let record = &mut records[filled];
                    self.parser.parse_indexed(line.bytes, quote, &mut decoded, record)
                }
                Some(mismatch) => Err(mismatch),
            };
            match outcome {
                Ok(()) => {
                    read.columns.line_starts.push(line.start as u32);
                    filled += 1;
                    if filled == BATCH {
                        self.push_records(&records, read);
                        filled = 0;
                    }
                }
                Err(mismatch) if mismatch.is_of_empty_line() => read.empty_lines += 1,
                Err(mismatch) => match &mut left {
                    Some(left) => {
                        left.push(line.start, read.lines - 1, mismatch);
                    }
                    _ => {
                        let parser = &self.parser;
                        read.push_unparsed(|number| {
                            UnparsedLine::new(parser, number, line.bytes, mismatch)
                        });
                    }
                },
            }
        }
        self.push_records(&records[..filled], read);
        self.decoded = memory;
    }

    /// Adds up to [`BATCH`] records, one column at a time.
    fn push_records(&mut self, records: &[Record<'_>], read: &mut ReadBlock) {
        let columns = self.columns.iter_mut().zip(&self.record_indices);
        for ((column, index), ids) in columns.zip(&mut read.columns.text) {
            column.intern_batch(records.iter().map(|record| record.text_at(*index)), ids);
        }
        if let Some(target) = &mut self.target {
            let values = records.iter().map(|record| record.target);
            target.intern_batch(values, &mut read.columns.targets);
        }
        read.push_numbers(&self.numbers, records);
        if self.has_time {
            read.push_times(records);
        }
    }

    /// Reads a block of source number `source` in all steps, for a caller that owns the values and
    /// does not sweep them.
    ///
    /// The simplest way to a segment: for tests, and for one thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Format, Values};
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let empty = reader.read_segment(&Block::new(Vec::new()), 7, &mut values);
    /// assert_eq!((empty.rows(), empty.source()), (0, 7));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn read_segment(&mut self, block: &Block, source: u32, values: &mut Values) -> Segment {
        let read = self.read(block, source);
        let resolved = self.resolve(read, || values);
        self.seal(resolved).into_segment()
    }
}

#[cfg(test)]
mod tests;
