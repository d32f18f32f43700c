//! Parses blocks whose lines may be in several formats.

use std::sync::Arc;

use weir_core::{
    BlockLimits, BlockReader, Format, LineParser, PendingSegment, ReadBlock, ResolvedBlock,
};

use super::data_set::DataSet;
use crate::progress::BlockCounts;
use crate::queue::Job;

/// Parses the blocks of one thread: each with the reader of its format, and the lines that do not
/// match with those of its companions.
#[derive(Debug)]
pub(super) struct BlockParser {
    data: Arc<DataSet>,
    limits: BlockLimits,
    /// By index of the format in the data set.
    readers: Vec<Option<BlockReader>>,
    /// Parsers that find out which lines are in a format. A reader is made only for a format that
    /// some line is in, because it adds columns to the data set.
    companions: Vec<LineParser>,
}

/// The most parsers of companions that are kept. Each source has its own companions if their times
/// have no year.
const COMPANIONS_MAX: usize = 64;

/// The lines of a block in one format, after one of the steps of a [`BlockReader`].
#[derive(Debug)]
pub(super) struct Part<T> {
    format: Arc<Format>,
    format_index: usize,
    value: T,
}

/// A part that is read but not resolved.
pub(super) type PartRead = Part<ReadBlock>;

impl BlockParser {
    pub(super) fn new(data: &Arc<DataSet>, limits: BlockLimits) -> Self {
        Self { data: data.clone(), limits, readers: Vec::new(), companions: Vec::new() }
    }

    /// The readers so far.
    pub(super) fn readers(&self) -> impl Iterator<Item = &BlockReader> {
        self.readers.iter().flatten()
    }

    /// Reads a block. The first part is in the block's own format; the others, if there are any,
    /// are in the order of the companions.
    pub(super) fn parse(&mut self, job: &Job) -> Vec<PartRead> {
        let mut parts = self.read(job);
        let values = self.data.values();
        for part in &mut parts {
            // Done outside the ordered part, so that little remains to be done there.
            if let Some(reader) = &mut self.readers[part.format_index] {
                reader.look_up(&part.value, &values);
            }
        }
        parts
    }

    fn read(&mut self, job: &Job) -> Vec<PartRead> {
        let Job { block, source_index: source, .. } = job;
        let part = |format: &Arc<Format>, format_index, value| Part {
            format: format.clone(),
            format_index,
            value,
        };
        let own = self.reader(job.format_index, &job.format);
        if job.companions.is_empty() {
            return vec![part(&job.format, job.format_index, own.read(block, *source))];
        }
        let (mut read, mut left) = own.read_leaving(block, *source);
        let mut others = Vec::new();
        for companion in job.companions.iter() {
            if left.is_empty() {
                break;
            }
            let lines = left.take_matching(block, self.companion(companion));
            if !lines.is_empty() {
                let index = self.data.add_format(companion);
                let read = self.reader(index, companion).read_left(block, *source, &lines);
                others.push(part(companion, index, read));
            }
        }
        if !left.is_empty() {
            self.reader(job.format_index, &job.format).count_unparsed(&mut read, block, &left);
        }
        let mut parts = vec![part(&job.format, job.format_index, read)];
        parts.append(&mut others);
        parts
    }

    /// Takes the counts of a block from its parts.
    pub(super) fn counts(parts: &mut [PartRead]) -> BlockCounts {
        let mut counts = BlockCounts::default();
        for Part { format, value: read, .. } in parts {
            counts.lines += read.lines;
            counts.records += read.records;
            counts.unparsed_lines += read.unparsed_lines;
            counts.too_long_lines += read.too_long_lines;
            counts.samples.append(&mut read.samples);
            if read.records > 0 {
                counts.by_format.push((format.clone(), read.records));
            }
        }
        counts
    }

    /// Finds the shared ids of the values of a block.
    pub(super) fn resolve(&mut self, parts: Vec<PartRead>) -> Vec<Part<ResolvedBlock>> {
        let resolve = |Part { format, format_index, value }: PartRead| {
            let reader = self.readers[format_index].as_mut()?;
            let value = reader.resolve(value, || self.data.values_mut());
            Some(Part { format, format_index, value })
        };
        parts.into_iter().filter_map(resolve).collect()
    }

    /// Packs the columns of a block.
    pub(super) fn seal(&mut self, parts: Vec<Part<ResolvedBlock>>) -> Vec<PendingSegment> {
        let seal = |Part { format_index, value, .. }: Part<ResolvedBlock>| {
            Some(self.readers[format_index].as_mut()?.seal(value))
        };
        parts.into_iter().filter_map(seal).collect()
    }

    fn reader(&mut self, index: usize, format: &Arc<Format>) -> &mut BlockReader {
        if self.readers.len() <= index {
            self.readers.resize_with(index + 1, || None);
        }
        let reader = self.readers[index].get_or_insert_with(|| {
            BlockReader::new(format.clone(), self.limits, &mut self.data.values_mut())
        });
        // Two logs of one format may be years apart.
        reader.set_year_reference(format.year_reference());
        reader
    }

    /// The parser of a companion.
    fn companion(&mut self, format: &Arc<Format>) -> &mut LineParser {
        let known = self.companions.iter().position(|one| Arc::ptr_eq(one.format(), format));
        let index = known.unwrap_or_else(|| {
            if self.companions.len() == COMPANIONS_MAX {
                self.companions.clear();
            }
            self.companions.push(LineParser::new(format.clone()));
            self.companions.len() - 1
        });
        &mut self.companions[index]
    }
}
