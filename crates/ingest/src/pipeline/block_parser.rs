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

/// Parses blocks on one thread. Each block is read with the reader of its format. Lines that do not
/// match are tried with its companions: the other formats that occur in the same source.
#[derive(Debug)]
pub(super) struct BlockParser {
    data: Arc<DataSet>,
    limits: BlockLimits,
    /// Indexed by the format's index in the data set.
    readers: Vec<Option<BlockReader>>,
    /// The parsers that test which lines match a companion. A reader is created only once a line
    /// matches, because a reader adds columns to the data set.
    companions: Vec<Companion>,
    detector: LineDetector,
}

/// A further format of a source, for lines that do not match the format of their block.
#[derive(Debug)]
struct Companion {
    parser: LineParser,
    /// The index of the format in the data set; `None` until a line matches.
    index: Option<usize>,
}

/// Work on a block that has to wait until all blocks before it are finished.
#[derive(Debug)]
pub(super) enum RemainingWork {
    None,
    /// Count lines that match no known format.
    CountUnmatched(Arc<LateCompanions>, u64),
    /// Read the lines whose format depends on earlier blocks. The block is kept for this.
    ReadUndecided(Box<(Job, ExaminedLines)>),
}

/// Lines that match none of the formats known so far.
#[derive(Debug)]
pub(super) struct ExaminedLines {
    lines: LeftLines,
    /// The number of companions that were tried on the lines.
    tried: usize,
    /// The format detected for each examined line. Only the first lines are examined.
    found: Vec<Option<Arc<Format>>>,
    /// Whether every companion was tried and no further one can join.
    is_search_over: bool,
}

/// The most companion parsers that are kept. Sources whose times lack a year have companions of
/// their own, so the number of companions is unbounded.
const COMPANION_PARSERS_MAX: usize = 64;

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

    /// Drops the readers with the values that they remember. Each is made again when it is needed.
    pub(super) fn forget(&mut self) {
        self.readers.clear();
    }

    /// Reads a block. The first part is in the block's own format; the others, if any, are in the
    /// order of the companions. Returns the block unless the remaining work needs it.
    pub(super) fn parse(&mut self, job: Job) -> (Vec<PartRead>, RemainingWork, Option<Block>) {
        let (mut parts, left) = self.read(&job);
        self.look_up(&mut parts);
        let Some(((left, tried), late)) = left.zip(job.late_companions.as_ref()) else {
            return (parts, RemainingWork::None, Some(job.block));
        };
        let examined = self.examine(&job, late, (left, tried));
        let Some(unmatched_lines) = examined.unmatched_lines() else {
            return (parts, RemainingWork::ReadUndecided(Box::new((job, examined))), None);
        };
        self.count_unparsed(&job, &mut parts, &examined.lines);
        let remaining = match unmatched_lines {
            0 => RemainingWork::None,
            lines => RemainingWork::CountUnmatched(late.clone(), lines),
        };
        (parts, remaining, Some(job.block))
    }

    /// Looks up the ids of known values. This runs in parallel, so that little work remains for the
    /// ordered step.
    fn look_up(&mut self, parts: &mut [PartRead]) {
        let _call = mark!("BlockParser::look_up").enter();
        let values = self.data.values();
        for part in parts {
            if let Some(reader) = &mut self.readers[part.format_index] {
                reader.look_up(&part.value, &values);
            }
        }
    }

    /// Reads a block in its own format and the companions that are known so far. If lines match
    /// none of them, returns those with the number of companions that were tried.
    fn read(&mut self, job: &Job) -> (Vec<PartRead>, Option<(LeftLines, usize)>) {
        let _call = mark!("BlockParser::read").enter();
        let Job { block, source_index: source, .. } = job;
        let own = self.reader(job.format_index, &job.format);
        own.set_source_name(job.source.name());
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

    /// Reads the lines of a block that match a companion.
    fn read_left(&mut self, job: &Job, format: &Arc<Format>, lines: &LeftLines) -> PartRead {
        let index = self.companion_index(format);
        let reader = self.reader(index, format);
        reader.set_source_name(job.source.name());
        let read = reader.read_left(&job.block, job.source_index, lines);
        Part::new(format, index, read)
    }

    /// Counts the lines of a block that match no format, and keeps samples of them.
    fn count_unparsed(&mut self, job: &Job, parts: &mut [PartRead], left: &LeftLines) {
        let reader = self.reader(job.format_index, &job.format);
        if let Some(own) = parts.first_mut() {
            reader.count_unparsed(&mut own.value, &job.block, left);
        }
    }

    /// Detects the formats of the remaining lines, as far as that does not depend on earlier
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
        let is_search_over = examined_max == 0 && known == tried;
        ExaminedLines { lines, tried, found, is_search_over }
    }

    /// Does the remaining work on a block after all blocks before it. Companions may have joined
    /// its source since, and others may join because of its lines. Returns the block if it was
    /// kept.
    pub(super) fn finish(
        &mut self,
        remaining: RemainingWork,
        parts: &mut Vec<PartRead>,
    ) -> Option<Block> {
        match remaining {
            RemainingWork::None => None,
            RemainingWork::CountUnmatched(late, lines) => {
                late.lock().count_in_vain(lines);
                None
            }
            RemainingWork::ReadUndecided(undecided) => {
                let (job, examined) = *undecided;
                let read_from = parts.len();
                self.read_undecided(&job, examined, parts);
                self.look_up(&mut parts[read_from..]);
                Some(job.block)
            }
        }
    }

    /// Reads the lines whose format depends on earlier blocks.
    fn read_undecided(&mut self, job: &Job, examined: ExaminedLines, parts: &mut Vec<PartRead>) {
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

    /// Sums the counts of a block's parts, and takes their samples.
    pub(super) fn counts(parts: &mut [PartRead]) -> BlockCounts {
        // The first part has the lines in the format of the source.
        let last_format = parts.first().map(|part| part.format.clone());
        let mut counts = BlockCounts { last_format, ..BlockCounts::default() };
        for Part { format, value: read, .. } in parts {
            counts.lines += read.lines;
            counts.records += read.records;
            counts.empty_lines += read.empty_lines;
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

    /// Packs the columns of a block. Lines without a record, such as a header, make no segment.
    pub(super) fn seal(&mut self, parts: Vec<Part<ResolvedBlock>>) -> Vec<PendingSegment> {
        let _call = mark!("BlockParser::seal").enter();
        let seal = |Part { format_index, value, .. }: Part<ResolvedBlock>| {
            Some(self.readers[format_index].as_mut()?.seal(value))
                .filter(|pending| pending.segment().rows() > 0)
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

    /// Returns the parser of a companion, which is created if it is new.
    fn companion(&mut self, format: &Arc<Format>) -> &mut Companion {
        let is_same = |one: &Companion| Arc::ptr_eq(one.parser.format(), format);
        let index = self.companions.iter().position(is_same).unwrap_or_else(|| {
            if self.companions.len() == COMPANION_PARSERS_MAX {
                self.companions.clear();
            }
            self.companions
                .push(Companion { parser: LineParser::new(format.clone()), index: None });
            self.companions.len() - 1
        });
        &mut self.companions[index]
    }

    /// Returns the index of a companion in the data set, and adds it if it is new.
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
    /// Returns the number of examined lines if no line can match any format; `None` if that depends
    /// on earlier blocks.
    fn unmatched_lines(&self) -> Option<u64> {
        let is_unmatched =
            self.found.len() == self.lines.len() && self.found.iter().all(Option::is_none);
        (self.is_search_over || is_unmatched).then_some(self.found.len() as u64)
    }
}
