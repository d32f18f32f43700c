//! Reads blocks into segments.

use std::sync::Arc;

use super::codes::Codes;
use super::dictionary::ABSENT;
use super::numbers::Numbers;
use super::seen::{BATCH, SeenValues};
use super::segment::{Segment, encode_offset, encode_time};
use super::values::{ColumnId, Values};
use crate::block::{Block, BlockLimits};
use crate::field::Field;
use crate::format::{Format, LineParser, Mismatch};
use crate::line::{Line, Lines};
use crate::record::Record;

/// Reads blocks of one format, in three steps that let many readers share one [`Values`]:
///
/// 1. [`Self::read`] parses a block on its own, with ids of its own for the values it meets;
/// 2. [`Self::resolve`] finds the shared ids of the values that are new to this reader.
///    Done in the order of the blocks, it makes the shared ids the same however many
///    readers there are. It takes time only for new values;
/// 3. [`Self::seal`] packs the block's columns with the shared ids.
///
/// Several blocks may be read before the first is resolved; blocks are resolved in the order
/// in which they were read. A reader that [`Self::is_large`] should be given no more until
/// all of them are sealed: it forgets values then, and only then.
#[derive(Debug)]
pub struct BlockReader {
    parser: LineParser,
    line_bytes_max: usize,
    /// One for each text column that the format fills.
    columns: Vec<TextColumn>,
    /// The number columns that the format fills.
    numbers: Vec<Field>,
    /// Read and not sealed.
    unsealed: usize,
    /// [`SEEN_BYTES_MAX`], but in tests.
    seen_bytes_max: usize,
    /// The memory of a sealed block, to be used again: fresh memory costs a page fault
    /// every 4 KiB.
    spare: Option<Columns>,
}

/// A text column of a format: the values this reader met, and their shared ids.
#[derive(Debug)]
struct TextColumn {
    /// Where the record has it, see [`Record::text_at`].
    record_index: usize,
    column: ColumnId,
    seen: SeenValues,
    /// Shared ids by own id; shorter than `seen` while values are not resolved.
    shared: Vec<u32>,
}

/// A block that was read, on its way to become a [`Segment`].
#[derive(Debug)]
pub struct ReadBlock {
    /// Lines in the block, skipped ones included.
    pub lines: u64,
    /// Lines that fit.
    pub records: u64,
    /// Lines that did not.
    pub unmatched: u64,
    /// Lines over the length limit.
    pub too_long: u64,
    /// The first few lines that did not fit.
    pub samples: Vec<UnmatchedLine>,
    source: u32,
    block_offset: u64,
    /// How many own ids each column had when the block was read.
    ids: Vec<usize>,
    columns: Columns,
    first_offset_s: Option<i32>,
    time_range_ns: Option<(i64, i64)>,
}

/// The columns of a block while it is read.
#[derive(Debug, Default)]
struct Columns {
    /// Own ids by row, for each of the reader's text columns.
    text: Vec<Vec<u32>>,
    /// By row, for each of the reader's number columns; [`ABSENT_NUMBER`] where absent.
    numbers: Vec<Vec<u64>>,
    line_starts: Vec<u32>,
}

/// Stands for an absent number. Numbers that are packed lie below it.
const ABSENT_NUMBER: u64 = u64::MAX;

/// A line that did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedLine {
    /// The line's number in the block, from 0; lines that were skipped before the block
    /// count.
    pub line: u64,
    /// Where it stopped fitting, in bytes from 0.
    pub at: usize,
    /// What was expected there.
    pub reason: String,
    /// The line, cut to [`UnmatchedLine::BYTES_MAX`].
    pub text: Vec<u8>,
}

impl UnmatchedLine {
    /// Enough to see what kind of line it is.
    pub const BYTES_MAX: usize = 1 << 10;
    /// Samples kept of one block: as many as a screen shows.
    pub const PER_BLOCK_MAX: usize = 8;
}

/// What a reader may remember of values, in bytes: a limit on what every thread keeps beside
/// the shared dictionary.
const SEEN_BYTES_MAX: usize = 64 << 20;

impl BlockReader {
    /// A reader of blocks in `format`, whose extra fields get columns in `values`.
    pub fn new(format: Arc<Format>, limits: BlockLimits, values: &mut Values) -> Self {
        let known = Field::TEXT
            .iter()
            .enumerate()
            .filter(|(_, field)| format.fills(**field))
            .map(|(index, _)| TextColumn::new(index, ColumnId(index as u16)));
        let mut columns: Vec<TextColumn> = known.collect();
        for (index, name) in format.extra_fields().iter().enumerate() {
            let column = values.add_column(name);
            columns.push(TextColumn::new(Field::TEXT.len() + index, column));
        }
        let numbers =
            [Field::Time, Field::Bytes, Field::RequestTime, Field::UpstreamTime].into_iter();
        Self {
            numbers: numbers.filter(|field| format.fills(*field)).collect(),
            parser: LineParser::new(format),
            line_bytes_max: limits.line_bytes_max,
            columns,
            unsealed: 0,
            seen_bytes_max: SEEN_BYTES_MAX,
            spare: None,
        }
    }

    /// Parses a block of source number `source`.
    pub fn read(&mut self, block: &Block, source: u32) -> ReadBlock {
        self.unsealed += 1;
        let columns = self.spare.take().unwrap_or_default();
        let mut read = ReadBlock::new(block, source, columns);
        read.columns.clear(self.columns.len(), self.numbers.len() + 1);
        let mut record = Record::new();
        let mut batch = vec![Vec::with_capacity(BATCH); self.columns.len()];
        for line in Lines::new(block.bytes()) {
            read.lines += 1;
            if line.bytes.len() > self.line_bytes_max {
                read.too_long += 1;
                continue;
            }
            match self.parser.parse(line.bytes, &mut record) {
                Ok(()) => {
                    for (values, column) in batch.iter_mut().zip(&self.columns) {
                        values.push(record.text_at(column.record_index));
                    }
                    read.push_numbers(&self.numbers, &record, line.start);
                    if read.columns.line_starts.len().is_multiple_of(BATCH) {
                        self.intern(&mut batch, &mut read);
                    }
                }
                Err(mismatch) => self.note_unmatched(&mut read, line, mismatch),
            }
        }
        self.intern(&mut batch, &mut read);
        read.ids = self.columns.iter().map(|column| column.seen.ids()).collect();
        read.records = read.columns.line_starts.len() as u64;
        read
    }

    /// Turns a batch of values into ids.
    fn intern(&mut self, batch: &mut [Vec<Option<&[u8]>>], read: &mut ReadBlock) {
        for ((column, values), ids) in
            self.columns.iter_mut().zip(batch).zip(&mut read.columns.text)
        {
            column.seen.intern_batch(values, ids);
            values.clear();
        }
    }

    #[cold]
    fn note_unmatched(&self, read: &mut ReadBlock, line: Line<'_>, mismatch: Mismatch) {
        read.unmatched += 1;
        if read.samples.len() < UnmatchedLine::PER_BLOCK_MAX {
            let shown = line.bytes.len().min(UnmatchedLine::BYTES_MAX);
            read.samples.push(UnmatchedLine {
                line: read.lines - 1,
                at: mismatch.at,
                reason: self.parser.explain(mismatch),
                text: line.bytes[..shown].to_vec(),
            });
        }
    }

    /// Finds the shared ids of the values that were new to this reader in `read`.
    pub fn resolve(&mut self, read: &ReadBlock, values: &mut Values) {
        values.note_offset(read.first_offset_s);
        for (column, ids) in self.columns.iter_mut().zip(&read.ids) {
            column.resolve(*ids, values);
        }
    }

    /// Packs the columns of a block that was resolved.
    pub fn seal(&mut self, mut read: ReadBlock) -> Segment {
        self.unsealed -= 1;
        let mut text = Vec::new();
        for (column, ids) in self.columns.iter().zip(&mut read.columns.text) {
            let index = usize::from(column.column.0);
            if text.len() <= index {
                text.resize(index + 1, None);
            }
            text[index] = column.seal(ids);
        }
        let line_starts = &read.columns.line_starts;
        let segment = Segment {
            rows: line_starts.len(),
            source: read.source,
            block_offset: read.block_offset,
            text,
            bytes: self.seal_numbers(&read, Field::Bytes),
            request_time_ns: self.seal_numbers(&read, Field::RequestTime),
            upstream_time_ns: self.seal_numbers(&read, Field::UpstreamTime),
            time: self.seal_numbers(&read, Field::Time),
            offset: pack(read.columns.numbers.last()),
            time_range_ns: read.time_range_ns,
            line_start: Codes::pack(line_starts.iter().map(|start| u64::from(*start))),
        };
        self.spare = Some(read.columns);
        if self.unsealed == 0 && self.is_large() {
            self.forget();
        }
        segment
    }

    /// `None` where the format lacks the field or no row has it.
    fn seal_numbers(&self, read: &ReadBlock, field: Field) -> Option<Numbers> {
        let index = self.numbers.iter().position(|candidate| *candidate == field)?;
        pack(read.columns.numbers.get(index))
    }

    /// The memory of the values this reader remembers, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(TextColumn::memory_bytes).sum()
    }

    /// True where it remembers so many values that it should forget some.
    pub fn is_large(&self) -> bool {
        self.memory_bytes() > self.seen_bytes_max
    }

    /// Forgets the columns with more than their share of values.
    #[cold]
    fn forget(&mut self) {
        let share = self.seen_bytes_max / self.columns.len().max(1);
        for column in self.columns.iter_mut().filter(|column| column.memory_bytes() > share) {
            *column = TextColumn::new(column.record_index, column.column);
        }
    }
}

impl TextColumn {
    fn new(record_index: usize, column: ColumnId) -> Self {
        let seen = SeenValues::new();
        let shared = vec![ABSENT];
        Self { record_index, column, seen, shared }
    }

    fn memory_bytes(&self) -> usize {
        self.seen.memory_bytes() + self.shared.capacity() * size_of::<u32>()
    }

    fn resolve(&mut self, ids: usize, values: &mut Values) {
        for id in self.shared.len()..ids {
            self.shared.push(values.intern(self.column, self.seen.value(id)));
        }
    }

    /// `None` where no row has the field.
    fn seal(&self, ids: &mut [u32]) -> Option<Codes> {
        // Looked up once, in place: packing goes over the codes more than once.
        for id in &mut *ids {
            *id = self.shared[*id as usize];
        }
        let codes = Codes::pack(ids.iter().map(|id| u64::from(*id)));
        let absent = Codes::Constant { code: u64::from(ABSENT), rows: ids.len() };
        (codes != absent).then_some(codes)
    }
}

fn pack(numbers: Option<&Vec<u64>>) -> Option<Numbers> {
    let present = |number: &u64| (*number != ABSENT_NUMBER).then_some(*number);
    Numbers::pack(numbers?.iter().map(present))
}

impl Columns {
    /// Empties them for the next block.
    fn clear(&mut self, text: usize, numbers: usize) {
        self.text.resize_with(text, Vec::new);
        self.text.iter_mut().for_each(Vec::clear);
        self.numbers.resize_with(numbers, Vec::new);
        self.numbers.iter_mut().for_each(Vec::clear);
        self.line_starts.clear();
    }
}

impl ReadBlock {
    fn new(block: &Block, source: u32, columns: Columns) -> Self {
        Self {
            lines: block.too_long,
            records: 0,
            unmatched: 0,
            too_long: block.too_long,
            samples: Vec::new(),
            source,
            block_offset: block.offset,
            ids: Vec::new(),
            columns,
            first_offset_s: None,
            time_range_ns: None,
        }
    }

    /// The offset of the time goes behind the number columns.
    #[inline]
    fn push_numbers(&mut self, fields: &[Field], record: &Record<'_>, line_start: usize) {
        self.columns.line_starts.push(line_start as u32);
        for (field, column) in fields.iter().zip(&mut self.columns.numbers) {
            let number = match field {
                Field::Time => record.time.map(|time| encode_time(time.unix_ns)),
                Field::Bytes => record.bytes,
                Field::RequestTime => record.request_time_ns,
                _ => record.upstream_time_ns,
            };
            column.push(number.unwrap_or(ABSENT_NUMBER));
        }
        if let (Some(time), Some(offsets)) = (record.time, self.columns.numbers.last_mut()) {
            offsets.push(encode_offset(time.offset_s));
            self.first_offset_s.get_or_insert(time.offset_s);
            let (first, last) = self.time_range_ns.unwrap_or((time.unix_ns, time.unix_ns));
            self.time_range_ns = Some((first.min(time.unix_ns), last.max(time.unix_ns)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::BlockReader;
    use crate::block::{Block, BlockLimits};
    use crate::column::{Segment, Values};
    use crate::field::Field;
    use crate::format::Format;

    /// Blocks with old values and new ones.
    fn blocks() -> Vec<Block> {
        let line = |n: usize| format!("{} /{} {}\n", n % 7, n * n % 1_009, 200 + n % 3);
        let block =
            |n: usize| Block::new((n * 300..n * 300 + 500).map(line).collect::<String>().into());
        (0..40).map(block).collect()
    }

    fn reader(values: &mut Values) -> BlockReader {
        let format = Format::parse("$remote_addr $request_uri $status").expect("a good format");
        BlockReader::new(Arc::new(format), BlockLimits::default(), values)
    }

    fn texts(segment: &Segment, values: &Values) -> Vec<Option<Vec<u8>>> {
        let columns = [Field::Client, Field::Path, Field::Status].map(Values::column);
        let text = |row: usize, column| {
            let id = segment.text(column)?.get(row) as u32;
            values.dictionary(column).value(id).map(<[u8]>::to_vec)
        };
        (0..segment.rows())
            .flat_map(|row| columns.into_iter().flatten().map(move |column| text(row, column)))
            .collect()
    }

    #[test]
    fn what_it_forgets_makes_no_difference() {
        let (mut values, mut expected_values) = (Values::new(1 << 20), Values::new(1 << 20));
        let mut forgetful = reader(&mut values);
        let mut expected = reader(&mut expected_values);
        forgetful.seen_bytes_max = 20_000;
        let mut was_large = 0;
        for blocks in blocks().chunks(3) {
            // Read ahead, as a thread does that waits for its turn.
            let read: Vec<_> = blocks.iter().map(|block| forgetful.read(block, 0)).collect();
            was_large += usize::from(forgetful.is_large());
            for (read, block) in read.into_iter().zip(blocks) {
                forgetful.resolve(&read, &mut values);
                let segment = forgetful.seal(read);
                let read = expected.read(block, 0);
                expected.resolve(&read, &mut expected_values);
                let expected = expected.seal(read);
                assert_eq!(texts(&segment, &values), texts(&expected, &expected_values));
                assert_eq!(segment.text, expected.text, "the ids are the same");
            }
            assert!(!forgetful.is_large(), "it forgets when all is sealed");
        }
        assert!(was_large > 3 && !expected.is_large());
    }
}
