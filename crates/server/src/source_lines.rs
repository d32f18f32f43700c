//! The lines of sources that are read again from their files, for rules that look at whole lines.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::RecordPredicate;
use weir_ingest::{
    DataSet, FileSpan, FormatChoice, FormatMap, FoundRecord, Intake, LineSink, LogLine, LogLines,
    Records, SourceEnd, SourceOptions, VisitedBlock,
};
use weir_query::{LineReplay, SelectedLines, SourceLines, SourceLinesError};
use weir_rules::{Events, Line, Observer, Rule};

use crate::read_back::unreadable_reason;

/// The lines of a data set, up to those that are parsed so far. They are read from the files on the
/// disk, and nothing of them is kept.
pub(crate) struct FileLines<'a> {
    pub(crate) data: &'a DataSet,
    /// The format of the sources.
    pub(crate) format: &'a FormatChoice,
    pub(crate) jobs: usize,
    pub(crate) should_stop: &'a AtomicBool,
    /// What to do if lines are gone.
    pub(crate) remedy: &'a str,
}

/// A source of the data set, and where its lines are.
struct FileSource {
    number: u32,
    name: String,
    spans: Vec<FileSpan>,
}

impl SourceLines for FileLines<'_> {
    fn replay(
        &self,
        lines: &SelectedLines,
        replays: &mut [LineReplay<'_>],
    ) -> Result<(), SourceLinesError> {
        let sources = self.sources()?;
        let rules: Vec<&dyn Rule> = replays.iter().map(|replay| replay.rule).collect();
        let records = Records::new(self.jobs);
        let consume = |block: VisitedBlock<'_, Vec<LineEvents>>| {
            let source = &sources[block.source.number() as usize];
            for (LineReplay { replay, .. }, found) in replays.iter_mut().zip(&block.output) {
                for (event, offset) in found.events.iter().zip(&found.offsets) {
                    replay.take(source.number, *offset, &event);
                }
            }
            match self.should_stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let read = || {
            let read = self.read(&sources, lines, &records);
            if read.is_err() {
                records.cancel();
            }
            read
        };
        records.run(|| EventSink::new(&rules, lines), consume, read)?;
        match self.should_stop.load(Ordering::Relaxed) {
            true => Err(SourceLinesError::Abandoned),
            false => Ok(()),
        }
    }
}

impl FileLines<'_> {
    fn sources(&self) -> Result<Vec<FileSource>, SourceLinesError> {
        let source = |source: std::sync::Arc<weir_ingest::SourceProgress>| {
            let spans =
                source.file_spans().ok_or_else(|| self.gone(&unreadable_reason(&source)))?;
            Ok(FileSource { number: source.number(), name: source.name().to_owned(), spans })
        };
        self.data.sources().into_iter().map(source).collect()
    }

    /// Reads the files of all sources.
    fn read(
        &self,
        sources: &[FileSource],
        lines: &SelectedLines,
        records: &Records,
    ) -> Result<(), SourceLinesError> {
        let format = match lines {
            SelectedLines::All => &FormatChoice::Unread,
            SelectedLines::Of { .. } => self.format,
        };
        for FileSource { name, spans, .. } in sources {
            let mut writer = records.open(SourceOptions::new(name, format.clone()));
            for span in spans {
                let mut has_stopped = false;
                let take = |bytes: &[u8]| {
                    let should_stop = self.should_stop.load(Ordering::Relaxed);
                    has_stopped = should_stop || writer.write_all(bytes).is_err();
                    !has_stopped
                };
                span.read(take)
                    .map_err(|error| self.gone(&format!("{name} cannot be read again: {error}")))?;
                if has_stopped {
                    return Err(SourceLinesError::Abandoned);
                }
            }
            writer.finish(SourceEnd::Done).map_err(|_| SourceLinesError::Abandoned)?;
        }
        Ok(())
    }

    fn gone(&self, reason: &str) -> SourceLinesError {
        SourceLinesError::Gone(format!("{reason}. {}", self.remedy))
    }
}

/// What a rule counts in the lines of a block.
#[derive(Debug, Default)]
struct LineEvents {
    events: Events,
    /// By event: the offset of its line in the source.
    offsets: Vec<u64>,
}

/// Observes lines on one thread.
struct EventSink<'a> {
    observers: Vec<Box<dyn Observer + 'a>>,
    lines: &'a SelectedLines,
    predicates: FormatMap<RecordPredicate<'a>>,
}

impl<'a> EventSink<'a> {
    fn new(rules: &[&'a dyn Rule], lines: &'a SelectedLines) -> Self {
        let observers = rules.iter().filter_map(|rule| rule.observe_lines()).collect();
        Self { observers, lines, predicates: FormatMap::default() }
    }
}

impl LineSink for EventSink<'_> {
    type Output = Vec<LineEvents>;

    fn output(&mut self) -> Self::Output {
        self.observers.iter().map(|_| LineEvents::default()).collect()
    }

    fn take(
        &mut self,
        line: &LogLine<'_>,
        found: Option<FoundRecord<'_>>,
        output: &mut Self::Output,
    ) {
        if let SelectedLines::Of { filter, columns } = self.lines {
            // As in a scan with conditions, lines that are no records are not selected.
            let Some(FoundRecord { format, record }) = found else { return };
            let new = || RecordPredicate::new(filter, columns, format);
            if !self.predicates.get(format, new).accepts(record) {
                return;
            }
        }
        let record = found.map(|found| found.record);
        let line = Line { number: line.offset, bytes: line.bytes, record };
        for (observer, LineEvents { events, offsets }) in self.observers.iter_mut().zip(output) {
            observer.observe(&line, events);
            offsets.resize(events.len(), line.number);
        }
    }

    fn reads_records(&self) -> bool {
        matches!(self.lines, SelectedLines::Of { .. })
    }

    fn take_lines(&mut self, lines: &LogLines<'_>, output: &mut Self::Output) -> u64 {
        let mut count = 0;
        for (observer, found) in self.observers.iter_mut().zip(output) {
            count = observer.observe_block(lines.bytes, 0, &mut found.events);
            found.add_offsets(lines);
        }
        count
    }
}

impl LineEvents {
    /// Adds the offsets of the events that were found in these lines. Their lines are numbered from
    /// the first of these.
    fn add_offsets(&mut self, lines: &LogLines<'_>) {
        let (mut number, mut start) = (0, 0);
        for event in self.events.iter().skip(self.offsets.len()) {
            while number < event.line {
                let rest = lines.bytes.get(start..).unwrap_or_default();
                let length = rest.iter().position(|byte| *byte == b'\n');
                start += length.map_or(rest.len(), |length| length + 1);
                number += 1;
            }
            self.offsets.push(lines.offset + start as u64);
        }
    }
}
