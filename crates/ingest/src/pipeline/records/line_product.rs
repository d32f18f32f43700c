//! Visits the lines of blocks.

use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::{
    Block, CompanionSearch, FollowedFormat, Format, LineDetector, LineOutcome, LogReader,
    RecordLayout, UnparsedLine,
};
use weir_observe::mark;
use weir_sync::Lock;

use super::Records;
use super::raw_lines::{BYTE_ORDER_MARK, RawLines, bare};
use super::sink::{BlockStart, FoundRecord, LineSink, LogLine, LogLines, VisitedBlock};
use crate::pipeline::product::{BlockPlace, Product, Turn, fail};
use crate::progress::BlockCounts;
use crate::queue::{Job, LateCompanions};

/// Passes the lines of blocks to a sink, and its outputs to a consumer.
pub(super) struct LineProduct<'r, S, C> {
    records: &'r Records,
    sink: S,
    consume: &'r Lock<C>,
    /// The reader of the last span, which is used again if the next has the same formats.
    reader: Option<SpanReader>,
    detector: LineDetector,
}

/// A block whose lines were visited, all or up to the first whose format depends on earlier blocks.
pub(super) struct Visit<O> {
    output: O,
    counts: BlockCounts,
    /// The offset in the block of the next line.
    at: usize,
    /// The search for late formats of the source; `None` if there is none.
    late: Option<EarlySearch>,
    /// The block, if lines are left that have to wait for its turn.
    left: Option<Box<Job>>,
}

/// The search for the formats of a block's lines before its turn.
struct EarlySearch {
    of_source: Arc<LateCompanions>,
    /// A copy of the search, made when the visit began.
    search: CompanionSearch,
    /// Whether the search had ended by then, so that no earlier block can change it.
    is_over: bool,
    lines_in_vain: u64,
}

/// What a line is that matches none of the formats so far.
enum Unmatched {
    /// It is in no format.
    Unparsed,
    /// It is in a format that joins with it.
    Joined(Arc<Format>),
    /// That depends on earlier blocks.
    Undecided,
}

impl<'r, S, C> LineProduct<'r, S, C> {
    pub(super) fn new(records: &'r Records, sink: S, consume: &'r Lock<C>) -> Self {
        Self { records, sink, consume, reader: None, detector: LineDetector::default() }
    }
}

impl<S: LineSink, C> Product for LineProduct<'_, S, C>
where
    C: FnMut(VisitedBlock<'_, S::Output>) -> ControlFlow<()>,
{
    type Parsed = Visit<S::Output>;

    fn parse(&mut self, job: Job) -> (Self::Parsed, Option<Block>) {
        let _call = mark!("LineProduct::parse").enter();
        let late = job.late_companions.as_ref().map(|late| EarlySearch::new(late, &job));
        let mut visit = Visit {
            output: self.sink.output(),
            counts: BlockCounts::default(),
            at: 0,
            late,
            left: None,
        };
        visit.counts.lines = job.block.too_long_lines;
        visit.counts.too_long_lines = job.block.too_long_lines;
        if job.block.bytes().is_empty() {
            return (visit, Some(job.block));
        }
        let may_change = || FollowedFormat::new(job.format.clone()).may_change();
        let block = BlockStart {
            source: &job.source,
            format: &job.format,
            is_format_known: job.is_format_known,
            is_only_format: job.is_format_known && visit.late.is_none() && !may_change(),
        };
        self.sink.begin(&block, &mut visit.output);
        if !self.sink.reads_records() {
            self.take_lines(&job, &mut visit);
            return (visit, Some(job.block));
        }
        let companions = match &visit.late {
            Some(late) => late.search.companions(&job.format, &job.companions),
            None => job.companions.to_vec(),
        };
        if self.read_span(&job, companions, &mut visit, false) {
            return (visit, Some(job.block));
        }
        visit.left = Some(Box::new(job));
        (visit, None)
    }

    fn append(&mut self, place: BlockPlace, mut visit: Self::Parsed, turn: Turn<'_>) -> u64 {
        let source = &place.source;
        if let Some(late) = &visit.late {
            late.of_source.lock().count_in_vain(late.lines_in_vain);
        }
        if let Some(job) = visit.left.take() {
            // Companions may have joined meanwhile.
            self.read_span(&job, job.companions_so_far(), &mut visit, true);
            turn.release(job.block);
        }
        if source.has_gap() || source.is_cancelled() {
            source.note_gap();
        } else {
            let block = VisitedBlock {
                source,
                lines_before: source.read_counts().lines,
                output: visit.output,
            };
            let mut consume = self.consume.lock();
            let flow = consume(block);
            drop(consume);
            source.count(&visit.counts, place.offset_end);
            if flow.is_break() {
                self.records.cancel();
            }
        }
        source.set_parsed(place.offset_end);
        1
    }

    fn append_dropped(&mut self, place: BlockPlace, _: Turn<'_>) -> u64 {
        place.source.note_gap();
        place.source.set_parsed(place.offset_end);
        1
    }

    fn fail_sources(&self) {
        let sources = self.records.sources();
        fail(&sources);
        sources.iter().for_each(|source| source.cancel());
    }
}

impl<S: LineSink, C> LineProduct<'_, S, C> {
    /// Reads the next lines of a block. Returns false if the next line has to wait for the turn of
    /// the block.
    fn read_span(
        &mut self,
        job: &Job,
        companions: Vec<Arc<Format>>,
        visit: &mut Visit<S::Output>,
        has_turn: bool,
    ) -> bool {
        let mut reader = SpanReader::begin(self.reader.take(), &job.format, companions);
        reader.log.set_source_name(job.source.name());
        let has_read_all = self.read(job, &mut reader, visit, has_turn);
        self.reader = Some(reader);
        has_read_all
    }

    fn read(
        &mut self,
        job: &Job,
        reader: &mut SpanReader,
        visit: &mut Visit<S::Output>,
        has_turn: bool,
    ) -> bool {
        if job.format.is_packed() {
            self.read_packed(job, reader, visit);
            return true;
        }
        let line_bytes_max = self.records.limits.line_bytes_max;
        for (start, bytes) in RawLines::new(job.block.bytes(), visit.at) {
            let offset = job.block.offset + start as u64;
            let line = LogLine { bytes, number: job.lines_before + visit.counts.lines, offset };
            let bare = bare(bytes);
            if bare.len() > line_bytes_max {
                visit.counts.too_long_lines += 1;
            } else if self.sink.wants(&line, &mut visit.output)
                && !self.read_line(&line, bare, &mut reader.log, visit)
            {
                match self.find_format(bare, job, visit, has_turn) {
                    Unmatched::Unparsed => {
                        visit.counts.unparsed_lines += 1;
                        keep_sample(&mut visit.counts, bare);
                        self.sink.take(&line, None, &mut visit.output);
                    }
                    Unmatched::Joined(format) => {
                        reader.add(format);
                        self.read_line(&line, bare, &mut reader.log, visit);
                    }
                    Unmatched::Undecided => {
                        visit.at = start;
                        return false;
                    }
                }
            }
            visit.counts.lines += 1;
        }
        true
    }

    /// Reads packed records, which have no lines: the sink gets empty ones.
    fn read_packed(&mut self, job: &Job, reader: &mut SpanReader, visit: &mut Visit<S::Output>) {
        for record in RecordLayout::records(job.block.bytes()) {
            let offset = job.block.offset + record.start as u64;
            let line =
                LogLine { bytes: b"", number: job.lines_before + visit.counts.lines, offset };
            if self.sink.wants(&line, &mut visit.output)
                && !self.read_line(&line, record.bytes, &mut reader.log, visit)
            {
                visit.counts.unparsed_lines += 1;
                self.sink.take(&line, None, &mut visit.output);
            }
            visit.counts.lines += 1;
        }
    }

    /// Reads the bytes of a line and passes it to the sink. Returns false if it is in none of the formats
    /// so far; the sink has not got it then.
    #[inline]
    fn read_line(
        &mut self,
        line: &LogLine<'_>,
        bare: &[u8],
        log: &mut LogReader,
        Visit { output, counts, .. }: &mut Visit<S::Output>,
    ) -> bool {
        log.read(bare, |parser, outcome| match outcome {
            LineOutcome::Record(record) => {
                counts.records += 1;
                let found = FoundRecord { format: parser.format(), record };
                self.sink.take(line, Some(found), output);
                true
            }
            LineOutcome::Unparsed(mismatch) if !mismatch.is_of_empty_line() => false,
            outcome @ (LineOutcome::Directive | LineOutcome::Unparsed(_)) => {
                counts.empty_lines += u64::from(matches!(outcome, LineOutcome::Unparsed(_)));
                self.sink.take(line, None, output);
                true
            }
        })
    }

    /// Searches for the format of a line that matches none of the formats so far.
    #[cold]
    fn find_format(
        &mut self,
        line: &[u8],
        job: &Job,
        visit: &mut Visit<S::Output>,
        has_turn: bool,
    ) -> Unmatched {
        let (own, first) = (&job.format, &job.companions);
        let Some(late) = &mut visit.late else { return Unmatched::Unparsed };
        if !has_turn {
            return late.examine(own, first, line, &mut self.detector);
        }
        let mut search = late.of_source.lock();
        let found = match search.lines_left(own, first) {
            0 => None,
            _ => self.detector.detect(line),
        };
        let joined = search.examine(own, first, found.as_ref(), late.of_source.now_s());
        joined.map_or(Unmatched::Unparsed, Unmatched::Joined)
    }

    /// Passes lines to the sink that need not be read as records.
    fn take_lines(&mut self, job: &Job, Visit { output, counts, .. }: &mut Visit<S::Output>) {
        let (bytes, line_bytes_max) = (job.block.bytes(), self.records.limits.line_bytes_max);
        // Almost every block is like this. NULs and a byte order mark at the end are not a line.
        if bytes.len() <= line_bytes_max
            && memchr::memchr(0, bytes).is_none()
            && !bytes.ends_with(BYTE_ORDER_MARK)
        {
            let first = job.lines_before + counts.lines;
            let lines = LogLines { bytes, first, offset: job.block.offset };
            counts.lines += self.sink.take_lines(&lines, output);
            return;
        }
        for (start, line) in RawLines::new(bytes, 0) {
            if bare(line).len() > line_bytes_max {
                counts.too_long_lines += 1;
            } else {
                let bytes = if line.is_empty() { b"\n" } else { line };
                let first = job.lines_before + counts.lines;
                let lines = LogLines { bytes, first, offset: job.block.offset + start as u64 };
                self.sink.take_lines(&lines, output);
            }
            counts.lines += 1;
        }
    }
}

impl EarlySearch {
    fn new(of_source: &Arc<LateCompanions>, job: &Job) -> Self {
        let search = of_source.lock().clone();
        let is_over = search.lines_left(&job.format, &job.companions) == 0;
        Self { of_source: of_source.clone(), search, is_over, lines_in_vain: 0 }
    }

    /// Examines a line that matches none of the formats so far, as far as that does not depend on
    /// earlier blocks.
    fn examine(
        &mut self,
        own: &Format,
        first: &[Arc<Format>],
        line: &[u8],
        detector: &mut LineDetector,
    ) -> Unmatched {
        if self.is_over {
            return Unmatched::Unparsed;
        }
        let is_examined = self.search.lines_left(own, first) > 0;
        if !is_examined || detector.detect(line).is_some() {
            return Unmatched::Undecided;
        }
        self.search.count_in_vain(1);
        self.lines_in_vain += 1;
        Unmatched::Unparsed
    }
}

/// Reads the lines of a span of a block, in one format and its companions.
#[derive(Debug)]
struct SpanReader {
    log: LogReader,
    own: Arc<Format>,
    companions: Vec<Arc<Format>>,
}

impl SpanReader {
    /// Begins a span. The reader of the span before is used again if it has the same formats.
    fn begin(before: Option<Self>, own: &Arc<Format>, companions: Vec<Arc<Format>>) -> Self {
        if let Some(mut before) = before.filter(|before| before.has(own, &companions)) {
            before.log.begin_span();
            return before;
        }
        let log = LogReader::of_span(own.clone(), &companions);
        Self { log, own: own.clone(), companions }
    }

    fn has(&self, own: &Arc<Format>, companions: &[Arc<Format>]) -> bool {
        let mut pairs = self.companions.iter().zip(companions);
        Arc::ptr_eq(&self.own, own)
            && self.companions.len() == companions.len()
            && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Adds a companion from the next line on.
    fn add(&mut self, companion: Arc<Format>) {
        self.log.add_companion(companion.clone());
        self.companions.push(companion);
    }
}

/// Keeps the start of an unparsed line, if few were kept of the block: they tell what the text is.
fn keep_sample(counts: &mut BlockCounts, bare: &[u8]) {
    if counts.samples.len() < UnparsedLine::PER_BLOCK_MAX {
        let text = bare[..bare.len().min(UnparsedLine::BYTES_MAX)].to_vec();
        let (line, at, reason) = (counts.lines, 0, String::new());
        counts.samples.push(UnparsedLine { line, at, reason, text });
    }
}
