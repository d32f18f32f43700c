//! Parses blocks whose lines may be in several formats.

use std::sync::Arc;

use weir_core::{
    Block, BlockLimits, BlockReader, Format, LeftLines, LineDetector, LineParser, PendingSegment,
    ReadBlock, ResolvedBlock,
};
use weir_observe::mark;

use super::data_set::DataSet;
use crate::progress::BlockCounts;
use crate::queue::{Job, LateCompanions};

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
    companions: Vec<Companion>,
    detector: LineDetector,
}

/// A format of lines that are not in the format of their block.
#[derive(Debug)]
struct Companion {
    parser: LineParser,
    /// The index of the format in the data set, once a line was read in it.
    index: Option<usize>,
}

/// What is left to do for a block when all blocks before it are finished.
#[derive(Debug)]
pub(super) enum Rest {
    /// Nothing.
    Nothing,
    /// To count lines that match no known format.
    InVain(Arc<LateCompanions>, u64),
    /// To read lines whose format depends on the blocks before, of a block that is kept for this.
    Undecided(Box<(Job, ExaminedLines)>),
}

/// Lines that are in none of the formats known so far.
#[derive(Debug)]
pub(super) struct ExaminedLines {
    lines: LeftLines,
    /// The number of companions that they were tried with.
    tried: usize,
    /// The formats of the first of them.
    found: Vec<Option<Arc<Format>>>,
    /// Whether no companion can join that they were not tried with.
    has_ended: bool,
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
        Self {
            data: data.clone(),
            limits,
            readers: Vec::new(),
            companions: Vec::new(),
            detector: LineDetector::default(),
        }
    }

    /// The readers so far.
    pub(super) fn readers(&self) -> impl Iterator<Item = &BlockReader> {
        self.readers.iter().flatten()
    }

    /// Reads a block. The first part is in the block's own format; the others, if there are any,
    /// are in the order of the companions. Returns the block if it is not needed any more.
    pub(super) fn parse(&mut self, job: Job) -> (Vec<PartRead>, Rest, Option<Block>) {
        let (mut parts, left) = self.read(&job);
        self.look_up(&mut parts);
        let Some(((left, tried), late)) = left.zip(job.late_companions.as_ref()) else {
            return (parts, Rest::Nothing, Some(job.block));
        };
        let examined = self.examine(&job, late, (left, tried));
        let Some(in_vain) = examined.in_vain() else {
            return (parts, Rest::Undecided(Box::new((job, examined))), None);
        };
        self.count_unparsed(&job, &mut parts, &examined.lines);
        let rest = match in_vain {
            0 => Rest::Nothing,
            lines => Rest::InVain(late.clone(), lines),
        };
        (parts, rest, Some(job.block))
    }

    /// Done outside the ordered part, so that little remains to be done there.
    fn look_up(&mut self, parts: &mut [PartRead]) {
        let _call = mark!("BlockParser::look_up").enter();
        let values = self.data.values();
        for part in parts {
            if let Some(reader) = &mut self.readers[part.format_index] {
                reader.look_up(&part.value, &values);
            }
        }
    }

    /// Reads a block in its own format and the companions that are known so far. Returns the lines
    /// in none of them, if there are any, with the number of these companions.
    fn read(&mut self, job: &Job) -> (Vec<PartRead>, Option<(LeftLines, usize)>) {
        let _call = mark!("BlockParser::read").enter();
        let Job { block, source_index: source, .. } = job;
        let own = self.reader(job.format_index, &job.format);
        if job.late_companions.is_none() {
            let read = own.read(block, *source);
            return (vec![Part::new(&job.format, job.format_index, read)], None);
        }
        let (read, mut left) = own.read_leaving(block, *source);
        let mut parts = vec![Part::new(&job.format, job.format_index, read)];
        if left.is_empty() {
            return (parts, None);
        }
        let companions = job.companions_so_far();
        for companion in &companions {
            if left.is_empty() {
                break;
            }
            let lines = left.take_matching(block, &mut self.companion(companion).parser);
            if !lines.is_empty() {
                parts.push(self.read_left(job, companion, &lines));
            }
        }
        (parts, Some((left, companions.len())).filter(|(left, _)| !left.is_empty()))
    }

    /// Reads lines of a block that are in a companion.
    fn read_left(&mut self, job: &Job, format: &Arc<Format>, lines: &LeftLines) -> PartRead {
        let index = self.companion_index(format);
        let read = self.reader(index, format).read_left(&job.block, job.source_index, lines);
        Part::new(format, index, read)
    }

    /// Counts lines of a block that are in no format, with samples.
    fn count_unparsed(&mut self, job: &Job, parts: &mut [PartRead], left: &LeftLines) {
        let reader = self.reader(job.format_index, &job.format);
        if let Some(own) = parts.first_mut() {
            reader.count_unparsed(&mut own.value, &job.block, left);
        }
    }

    /// Looks for formats of the lines that are left, as far as this does not need the order of the
    /// blocks.
    fn examine(
        &mut self,
        job: &Job,
        late: &LateCompanions,
        (lines, tried): (LeftLines, usize),
    ) -> ExaminedLines {
        let (examined_max, known) = {
            let search = late.lock();
            let known = search.companions(&job.format, &job.companions).len();
            (search.lines_left(&job.format, &job.companions), known)
        };
        let examined = lines.lines(&job.block).take(examined_max as usize);
        let found = examined.map(|line| self.detector.detect(line.bytes)).collect();
        // The last companion may have joined since the lines were tried.
        let has_ended = examined_max == 0 && known == tried;
        ExaminedLines { lines, tried, found, has_ended }
    }

    /// Does the rest of a block when all blocks before it are finished: further companions of its
    /// source may have joined, and others may join among its lines. Returns the block if it was
    /// kept.
    pub(super) fn finish(&mut self, rest: Rest, parts: &mut Vec<PartRead>) -> Option<Block> {
        match rest {
            Rest::Nothing => None,
            Rest::InVain(late, lines) => {
                late.lock().count_in_vain(lines);
                None
            }
            Rest::Undecided(undecided) => {
                let (job, examined) = *undecided;
                let read_from = parts.len();
                self.decide(&job, examined, parts);
                self.look_up(&mut parts[read_from..]);
                Some(job.block)
            }
        }
    }

    /// Reads the lines whose format depends on the blocks before.
    fn decide(&mut self, job: &Job, examined: ExaminedLines, parts: &mut Vec<PartRead>) {
        let Some(late) = &job.late_companions else { return };
        let ExaminedLines { mut lines, tried, found, .. } = examined;
        let (own, first) = (&job.format, &job.companions);
        let mut search = late.lock();
        let mut companions = search.companions(own, first).split_off(tried);
        let mut found = found.into_iter();
        let mut text = Vec::new();
        let groups = lines.take_groups(&job.block, |line| {
            let found = found.next();
            let mut matches = |format| self.companion(format).parser.matches(line.bytes, &mut text);
            let matching = companions.iter().position(&mut matches);
            if matching.is_some() || search.lines_left(own, first) == 0 {
                return matching;
            }
            let found = found.unwrap_or_else(|| self.detector.detect(line.bytes));
            companions.push(search.examine(own, first, found.as_ref(), late.now_s())?);
            Some(companions.len() - 1)
        });
        drop(search);
        for (companion, lines) in companions.iter().zip(&groups) {
            if !lines.is_empty() {
                parts.push(self.read_left(job, companion, lines));
            }
        }
        self.count_unparsed(job, parts, &lines);
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
        let _call = mark!("BlockParser::resolve").enter();
        let resolve = |Part { format, format_index, value }: PartRead| {
            let reader = self.readers[format_index].as_mut()?;
            let value = reader.resolve(value, || self.data.values_mut());
            Some(Part { format, format_index, value })
        };
        parts.into_iter().filter_map(resolve).collect()
    }

    /// Packs the columns of a block.
    pub(super) fn seal(&mut self, parts: Vec<Part<ResolvedBlock>>) -> Vec<PendingSegment> {
        let _call = mark!("BlockParser::seal").enter();
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
    fn companion(&mut self, format: &Arc<Format>) -> &mut Companion {
        let is_same = |one: &Companion| Arc::ptr_eq(one.parser.format(), format);
        let index = self.companions.iter().position(is_same).unwrap_or_else(|| {
            if self.companions.len() == COMPANIONS_MAX {
                self.companions.clear();
            }
            self.companions
                .push(Companion { parser: LineParser::new(format.clone()), index: None });
            self.companions.len() - 1
        });
        &mut self.companions[index]
    }

    /// The index of a companion in the data set, to which it is added if it is new.
    fn companion_index(&mut self, format: &Arc<Format>) -> usize {
        let data = self.data.clone();
        *self.companion(format).index.get_or_insert_with(|| data.add_format(format))
    }
}

impl<T> Part<T> {
    fn new(format: &Arc<Format>, format_index: usize, value: T) -> Self {
        Self { format: format.clone(), format_index, value }
    }
}

impl ExaminedLines {
    /// The number of lines that were examined in vain, if no line can be in any format. `None` if
    /// that depends on the blocks before.
    fn in_vain(&self) -> Option<u64> {
        let is_in_vain =
            self.found.len() == self.lines.len() && self.found.iter().all(Option::is_none);
        (self.has_ended || is_in_vain).then_some(self.found.len() as u64)
    }
}
