//! The lines of sources that are read again, for rules that look at whole lines: from the files on
//! the server's disk, and from a page that sends its files again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use weir_ingest::{
    DataSet, FileSpan, FormatChoice, Intake, PackedFile, Records, SourceEnd, SourceOptions,
    SourceProgress, SourceWriter, VisitedBlock, read_packed_file,
};
use weir_query::{LineReplay, SelectedLines, SourceLines, SourceLinesError};
use weir_rules::{Events, Rule};
use weir_sync::Lock;

use crate::event_sink::EventSink;
use crate::file::{
    CountedSource, FeedError, FileReceiver, FileToReplay, Purpose, ReplayFeed, UnpackDestination,
    UnpackLimits,
};
use crate::read_back::unreadable_reason;
use crate::session::{MEMBERS_MAX, Session};
use crate::turns::Cancellation;

/// The sources of a data set in their order, up to the lines that are parsed so far, and where
/// these are.
#[derive(Debug, Default)]
pub(crate) struct SourceFiles {
    files: Vec<SourceFile>,
    /// Why some lines are gone, as a clause.
    gone: Option<String>,
}

/// Where the lines of a source are, or those of all files in an archive.
#[derive(Debug)]
enum SourceFile {
    /// In files on the disk.
    OnDisk { source: CountedSource, spans: Vec<FileSpan> },
    /// In a packed file or an archive on the disk.
    Packed { sources: Vec<CountedSource>, file: Arc<PackedFile> },
    /// In a file that a page has.
    Uploaded(FileToReplay),
}

impl SourceFiles {
    /// The sources of a page that cannot send its files, with the reason as a clause.
    pub(crate) fn gone(why: &str) -> Self {
        Self { files: Vec::new(), gone: Some(why.to_owned()) }
    }

    pub(crate) fn find(session: &Session, data: &DataSet) -> Self {
        let mut uploads = HashMap::new();
        for file in session.files() {
            let numbers = file.sources().into_iter().map(|source| source.number());
            uploads.extend(numbers.map(|number| (number, file.clone())));
        }
        let mut found = Self::default();
        let mut of_uploads = HashSet::new();
        let mut packed: HashMap<*const PackedFile, usize> = HashMap::new();
        for source in data.sources() {
            if let Some(spans) = source.file_spans() {
                // An archive itself has no lines.
                if !spans.is_empty() {
                    let source = CountedSource::new(source);
                    found.files.push(SourceFile::OnDisk { source, spans });
                }
            } else if let Some(file) = source.packed_file() {
                let at = *packed.entry(Arc::as_ptr(file)).or_insert(found.files.len());
                if at == found.files.len() {
                    let (sources, file) = (Vec::new(), file.clone());
                    found.files.push(SourceFile::Packed { sources, file });
                }
                if let SourceFile::Packed { sources, .. } = &mut found.files[at] {
                    sources.push(CountedSource::new(source));
                }
            } else if let Some(upload) = uploads.get(&source.number()) {
                if of_uploads.insert(upload.id().to_owned()) {
                    found.files.push(SourceFile::Uploaded(FileToReplay::of(upload)));
                }
            } else {
                let remedy = &session.remedies().lines_gone;
                found.gone = Some(format!("{}. {remedy}", unreadable_reason(&source)));
            }
        }
        found
    }

    /// Returns the files that a page has to send, unless other lines are gone anyway.
    pub(crate) fn uploaded(&self) -> impl Iterator<Item = &FileToReplay> {
        let files = self.files.iter().filter(|_| self.gone.is_none());
        files.filter_map(|file| match file {
            SourceFile::OnDisk { .. } | SourceFile::Packed { .. } => None,
            SourceFile::Uploaded(file) => Some(file),
        })
    }
}

/// Reads the lines of sources again.
pub(crate) struct SourceReader<'a> {
    pub(crate) session: &'a Session,
    pub(crate) files: &'a SourceFiles,
    /// Where the files come from that a page sends.
    pub(crate) feed: Option<&'a CancellableFeed>,
    /// The most memory that the replays may take, in bytes.
    pub(crate) memory_bytes_max: usize,
    pub(crate) should_stop: &'a AtomicBool,
}

/// The files that a page sends, until the answer is no longer wanted.
#[derive(Debug)]
pub(crate) struct CancellableFeed {
    pub(crate) feed: ReplayFeed,
    pub(crate) cancellation: Arc<Cancellation>,
}

impl SourceLines for SourceReader<'_> {
    fn replay(
        &self,
        lines: &SelectedLines,
        replays: &mut [LineReplay<'_>],
    ) -> Result<(), SourceLinesError> {
        if let Some(gone) = &self.files.gone {
            return Err(SourceLinesError::Gone(gone.clone()));
        }
        let rules: Vec<&dyn Rule> = replays.iter().map(|replay| replay.rule).collect();
        let intake = Arc::new(SourceIntake::new(self.session.jobs()));
        let mut is_full = false;
        let consume = |block: VisitedBlock<'_, Vec<Events>>| {
            if let Some(number) = intake.number_of(block.source) {
                let replays = replays.iter_mut().zip(&block.output);
                for (LineReplay { replay, tally, .. }, events) in replays {
                    tally.add(events.tally());
                    for event in events.iter() {
                        replay.take(number, block.lines_before + event.line + 1, &event);
                    }
                }
            }
            let memory_bytes: usize = replays.iter().map(|one| one.replay.memory_bytes()).sum();
            is_full = memory_bytes > self.memory_bytes_max;
            match is_full || self.should_stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let read = || {
            let read = self.read(lines, &intake);
            if read.is_err() {
                intake.records.cancel();
            }
            read
        };
        let read = intake.records.run(|| EventSink::new(&rules, lines), consume, read);
        if self.should_stop.load(Ordering::Relaxed) {
            return Err(SourceLinesError::Abandoned);
        }
        if is_full {
            let why = format!(
                "the replay takes more than {} MiB, the memory limit of the data set",
                self.memory_bytes_max >> 20
            );
            return Err(self.gone(&why));
        }
        read?;
        intake.check(lines).map_err(|name| self.not_again(&name, &FeedError::Changed))
    }
}

impl SourceReader<'_> {
    /// Reads the files of all sources.
    fn read(
        &self,
        lines: &SelectedLines,
        intake: &Arc<SourceIntake>,
    ) -> Result<(), SourceLinesError> {
        let format = match lines {
            SelectedLines::All => &FormatChoice::Unread,
            SelectedLines::Of { .. } => self.session.format(),
        };
        for file in &self.files.files {
            match file {
                SourceFile::OnDisk { source, spans } => {
                    intake.expect(std::slice::from_ref(source));
                    let options = SourceOptions::new(source.name(), format.clone());
                    self.read_spans(source.name(), spans, intake.open(options))?;
                }
                SourceFile::Packed { sources, file } => {
                    intake.expect(sources);
                    let read = read_packed_file(&**intake, file, format);
                    read.map_err(|error| self.not_again(file.name(), &error))?;
                }
                SourceFile::Uploaded(file) => {
                    intake.expect(&file.sources);
                    let options = SourceOptions::new(&file.name, format.clone());
                    let writer = intake.open(options.bytes_total(Some(file.bytes)));
                    let limits = Arc::new(UnpackLimits::new(MEMBERS_MAX));
                    let (intake, format) = (intake.clone(), format.clone());
                    let destination = UnpackDestination { intake, format, limits };
                    let receiver = FileReceiver::new(writer, destination, Purpose::Parse);
                    self.receive(file, receiver)?;
                }
            }
        }
        Ok(())
    }

    fn read_spans(
        &self,
        name: &str,
        spans: &[FileSpan],
        mut writer: SourceWriter,
    ) -> Result<(), SourceLinesError> {
        for span in spans {
            let mut has_stopped = false;
            let take = |bytes: &[u8]| {
                let should_stop = self.should_stop.load(Ordering::Relaxed);
                has_stopped = should_stop || writer.write_all(bytes).is_err();
                !has_stopped
            };
            span.read(take).map_err(|error| self.not_again(name, &error))?;
            if has_stopped {
                return Err(SourceLinesError::Abandoned);
            }
        }
        writer.finish(SourceEnd::Done).map_err(|_| SourceLinesError::Abandoned)
    }

    /// Waits until the page has sent a file and its lines are read.
    fn receive(&self, file: &FileToReplay, receiver: FileReceiver) -> Result<(), SourceLinesError> {
        let Some(CancellableFeed { feed, cancellation }) = self.feed else {
            return Err(self.not_again(&file.name, &FeedError::Lost));
        };
        let received = cancellation.unless_cancelled(feed.receive(file, receiver));
        match Handle::current().block_on(received) {
            None => Err(SourceLinesError::Abandoned),
            Some(received) => received.map_err(|error| self.not_again(&file.name, &error)),
        }
    }

    fn not_again(&self, name: &str, error: &dyn std::fmt::Display) -> SourceLinesError {
        self.gone(&format!("{name} cannot be read again: {error}"))
    }

    fn gone(&self, reason: &str) -> SourceLinesError {
        SourceLinesError::Gone(format!("{reason}. {}", self.session.remedies().lines_gone))
    }
}

/// Opens the sources that are read again, and knows which ones they are.
#[derive(Debug)]
struct SourceIntake {
    records: Records,
    sources: Lock<SourcesAgain>,
}

#[derive(Debug, Default)]
struct SourcesAgain {
    /// The sources of the current file that were not opened again.
    expected: VecDeque<CountedSource>,
    /// By the number of a source that is read again: what it is, and the source that it was. `None`
    /// for a file in an archive that was left out.
    opened: Vec<(Arc<SourceProgress>, Option<CountedSource>)>,
    /// The name of a source that was not opened again.
    missing: Option<String>,
}

impl SourceIntake {
    fn new(jobs: usize) -> Self {
        Self { records: Records::new(jobs), sources: Lock::default() }
    }

    /// Begins a file that has these sources.
    fn expect(&self, sources: &[CountedSource]) {
        let mut state = self.sources.lock();
        let left = std::mem::replace(&mut state.expected, sources.iter().cloned().collect());
        let missing = left.front().map(|source| source.name().to_owned());
        state.missing = state.missing.take().or(missing);
    }

    /// Returns the number in the data set of a source that is read again. `None` if the data set does
    /// not have it.
    fn number_of(&self, source: &SourceProgress) -> Option<u32> {
        let state = self.sources.lock();
        let (_, before) = state.opened.get(source.number() as usize)?;
        before.as_ref().and_then(CountedSource::number)
    }

    /// Checks that the same was read of all sources as before.
    ///
    /// # Errors
    /// With the name of one of which it was not.
    fn check(&self, lines: &SelectedLines) -> Result<(), String> {
        self.expect(&[]);
        let state = self.sources.lock();
        let counts_records = matches!(lines, SelectedLines::Of { .. });
        let changed = state.opened.iter().find_map(|(again, before)| {
            let before = before.as_ref()?;
            (!before.is_same(&again.read_counts(), counts_records)).then(|| before.name())
        });
        match changed.or(state.missing.as_deref()) {
            Some(name) => Err(name.to_owned()),
            None => Ok(()),
        }
    }
}

impl Intake for SourceIntake {
    fn open(&self, options: SourceOptions) -> SourceWriter {
        // No other source is opened in between.
        let mut state = self.sources.lock();
        let writer = self.records.open(options);
        let again = writer.progress().clone();
        let at = state.expected.iter().position(|source| source.name() == again.name());
        let before = at.and_then(|at| state.expected.remove(at));
        state.opened.push((again, before));
        writer
    }

    fn is_watched(&self) -> bool {
        false
    }
}
