//! A session: a data set, its id, its files and its users.

mod export_lengths;
mod presence;
mod sharing;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use weir_core::{PatternAccount, PatternBudget};
use weir_ingest::{DataSet, FormatChoice, Pipeline, ReadTotals, TotalMemory};
use weir_query::KnownDerived;
use weir_sync::Lock;

use crate::file::{
    AheadPool, FileBegin, Purpose, Replays, UnpackDestination, UnpackLimits, UploadedFile,
};
use crate::memory_return::MemoryReturn;
use crate::options::{Remedies, ServerOptions};
use crate::refusal::Refusal;
use crate::turns::{ServerTurns, SessionTurns};
pub(crate) use export_lengths::ExportLengths;
use presence::Presence;
pub(crate) use presence::{Access, Lifetime};
pub(crate) use sharing::{MadeView, SharedAnswer};
use sharing::{SharedAnswers, ViewMemory};

/// The maximum number of files in one session. Each is a line on the page and in every view.
const FILES_MAX: usize = 1_000;

/// The maximum number of files in all archives of one session. Each is a line on the page too.
pub(crate) const MEMBERS_MAX: usize = 10_000;

/// Compiled patterns of rules may take 1/n of a memory limit, beside the data.
const PATTERN_SHARE: usize = 4;

/// How often a refused question looks whether there is room for its patterns.
const PATTERN_ROOM_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the account of the patterns under a memory limit.
pub(crate) fn pattern_account(memory_bytes_max: usize) -> Arc<PatternAccount> {
    Arc::new(PatternAccount::new(memory_bytes_max / PATTERN_SHARE))
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndCause {
    /// A request ended it, it was unused, or another session displaced it.
    Request,
    /// The server is being stopped.
    Stop,
}

#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    /// Its number among all sessions of the process.
    number: u64,
    created: Duration,
    zone: Option<String>,
    jobs: usize,
    format: FormatChoice,
    remedies: Remedies,
    memory_return: Arc<MemoryReturn>,
    /// The memory limit of all sessions together.
    memory: TotalMemory,
    /// `None` after the session has ended.
    pipeline: Lock<Option<Arc<Pipeline>>>,
    files: Lock<Vec<Arc<UploadedFile>>>,
    unpack_limits: Arc<UnpackLimits>,
    ahead: AheadPool,
    replays: Arc<Replays>,
    turns: SessionTurns,
    answers: SharedAnswers,
    known_derived: KnownDerived,
    view_memory: Arc<ViewMemory>,
    export_lengths: ExportLengths,
    /// The memory of the patterns of rules, in this session and in all.
    patterns: [Arc<PatternAccount>; 2],
    presence: watch::Sender<Presence>,
    /// `None` until the session has ended.
    end_cause: watch::Sender<Option<EndCause>>,
}

impl Session {
    pub(crate) fn new(
        id: String,
        options: &ServerOptions,
        lifetime: Lifetime,
        turns: &ServerTurns,
        memory: &TotalMemory,
        reads: &ReadTotals,
    ) -> Self {
        let settings = options.pipeline();
        let data = DataSet::new(settings.retention, settings.memory_bytes_max, &[]);
        data.count_in(memory);
        data.add_reads_to(reads);
        data.keep_sums();
        if let Some(catalog) = &options.derived {
            data.derive_with(catalog.clone());
        }
        let view_memory = ViewMemory::new(&data, memory);
        let pipeline = Arc::new(Pipeline::start(&settings, data));
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            number,
            created: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            zone: options.zone.clone(),
            jobs: options.jobs,
            format: options.format.clone(),
            remedies: options.remedies.clone(),
            memory_return: MemoryReturn::new(options.return_memory),
            memory: memory.clone(),
            pipeline: Lock::new(Some(pipeline)),
            files: Lock::default(),
            unpack_limits: Arc::new(UnpackLimits::new(MEMBERS_MAX)),
            ahead: AheadPool::new(settings.memory_bytes_max, memory.bytes_max()),
            replays: Arc::default(),
            turns: SessionTurns::new(turns, number, options.answer_time_max),
            answers: SharedAnswers::default(),
            known_derived: KnownDerived::default(),
            view_memory,
            export_lengths: ExportLengths::default(),
            patterns: [pattern_account(settings.memory_bytes_max), turns.patterns.clone()],
            presence: watch::Sender::new(Presence::new(lifetime)),
            end_cause: watch::Sender::new(None),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the path of its page.
    pub(crate) fn path(&self) -> String {
        let folder = if self.is_served() { "d" } else { "s" };
        format!("/{folder}/{}", self.id)
    }

    /// Returns when it was created, in milliseconds since 1970.
    pub(crate) fn started_unix_ms(&self) -> u64 {
        u64::try_from(self.created.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns when it was created, since 1970.
    pub(crate) fn created(&self) -> Duration {
        self.created
    }

    /// Returns its number among all sessions of the process, which is not secret.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the time zone of queries that name none.
    pub(crate) fn zone(&self) -> Option<&String> {
        self.zone.as_ref()
    }

    /// Returns the number of threads that answer a query.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Returns the limit on early bytes of uploads.
    pub(crate) fn ahead(&self) -> &AheadPool {
        &self.ahead
    }

    /// Returns the replays that wait for lines or read them.
    pub(crate) fn replays(&self) -> &Arc<Replays> {
        &self.replays
    }

    /// Returns the turns in which questions are checked and answered.
    pub(crate) fn turns(&self) -> &SessionTurns {
        &self.turns
    }

    /// Returns the answers that live connections share.
    pub(crate) fn answers(&self) -> &SharedAnswers {
        &self.answers
    }

    /// Returns the values of derived fields that lists have asked for.
    pub(crate) fn known_derived(&self) -> &KnownDerived {
        &self.known_derived
    }

    /// Returns the memory of unsent answers.
    pub(crate) fn view_memory(&self) -> &Arc<ViewMemory> {
        &self.view_memory
    }

    /// Returns the way to give the memory that it no longer needs back to the system.
    pub(crate) fn memory_return(&self) -> &Arc<MemoryReturn> {
        &self.memory_return
    }

    /// Returns the budget of the patterns of a question, which ends when the flag is set.
    pub(crate) fn pattern_budget(&self, stop: &Arc<AtomicBool>) -> PatternBudget {
        PatternBudget::new(self.patterns.to_vec(), stop.clone())
    }

    /// Waits until patterns may take this much more, in bytes.
    pub(crate) async fn pattern_room(&self, bytes: usize) {
        // Looked at now and then: few questions wait, and people do not wait for each second.
        while !self.patterns.iter().all(|account| account.has_room(bytes)) {
            tokio::time::sleep(PATTERN_ROOM_INTERVAL).await;
        }
    }

    /// Returns the lengths of the last exports.
    pub(crate) fn export_lengths(&self) -> &ExportLengths {
        &self.export_lengths
    }

    /// Returns the format of the sources that name none.
    pub(crate) fn format(&self) -> &FormatChoice {
        &self.format
    }

    /// Returns the sentences that say what to do about the limits of an answer.
    pub(crate) fn remedies(&self) -> &Remedies {
        &self.remedies
    }

    /// Returns the pipeline; `None` after the session has ended.
    pub(crate) fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.pipeline.lock().clone()
    }

    /// Returns the data set, or an error after the session has ended.
    pub(crate) fn data(&self) -> Result<Arc<DataSet>, Refusal> {
        self.pipeline().map(|pipeline| pipeline.data().clone()).ok_or(Refusal::SessionEnded)
    }

    /// Returns why sources had to stop for lack of memory.
    pub(crate) fn memory_refusal(&self) -> Refusal {
        match self.data() {
            Ok(data) if data.is_full() => Refusal::MemoryFull(data.memory_bytes_max()),
            Ok(_) => Refusal::TotalMemoryFull(self.memory.bytes_max()),
            Err(ended) => ended,
        }
    }

    /// Notifies live views that a source's state has changed.
    pub(crate) fn touch(&self) {
        if let Ok(data) = self.data() {
            data.touch();
        }
    }

    /// Returns the name of its first source, for messages.
    pub(crate) fn name(&self) -> String {
        let sources = self.data().map(|data| data.sources()).unwrap_or_default();
        sources.first().map_or_else(String::new, |source| source.name().to_owned())
    }

    /// Waits until the session is ended.
    pub(crate) async fn ended(&self) {
        let _ = self.end_cause.subscribe().wait_for(Option::is_some).await;
    }

    /// Returns the file that the page begins or resumes.
    pub(crate) fn open_file(
        &self,
        begin: &FileBegin,
        purpose: Purpose,
        format: &FormatChoice,
    ) -> Result<Arc<UploadedFile>, Refusal> {
        let mut files = self.lock_files();
        if let Some(file) = files.iter().find(|file| file.id() == begin.id) {
            return if file.is_same(begin) { Ok(file.clone()) } else { Err(Refusal::FileChanged) };
        }
        if files.len() >= FILES_MAX {
            return Err(Refusal::TooManyFiles(FILES_MAX));
        }
        let pipeline = self.pipeline().ok_or(Refusal::SessionEnded)?;
        let source = pipeline.source(&begin.name, begin.bytes_total, format.clone());
        let limits = self.unpack_limits.clone();
        let destination = UnpackDestination { intake: pipeline, format: format.clone(), limits };
        let file = Arc::new(UploadedFile::new(begin, source, destination, purpose));
        files.push(file.clone());
        Ok(file)
    }

    /// Removes the source with this number and all of its records. If it is an archive or an
    /// unfinished upload, it ends too.
    pub(crate) fn remove_source(&self, number: u32) -> Result<(), Refusal> {
        if !self.data()?.remove_source(number) {
            return Err(Refusal::UnknownSource);
        }
        let mut files = self.lock_files();
        let is_removed = |file: &Arc<UploadedFile>| file.progress().number() == number;
        if let Some(at) = files.iter().position(is_removed) {
            files.remove(at).cancel();
        }
        Ok(())
    }

    /// Returns the uploaded files, in the order in which they were begun.
    pub(crate) fn files(&self) -> Vec<Arc<UploadedFile>> {
        self.lock_files().clone()
    }

    /// Returns the limits on packed files.
    pub(crate) fn unpack_limits(&self) -> &Arc<UnpackLimits> {
        &self.unpack_limits
    }

    /// Returns why the session ended, for its remaining users.
    pub(crate) fn end_refusal(&self) -> Refusal {
        match *self.end_cause.borrow() {
            Some(EndCause::Stop) => Refusal::Stopping,
            Some(EndCause::Request) | None => Refusal::SessionEnded,
        }
    }

    /// Ends the session with its sources, threads and connections. Its memory is freed after all of
    /// them have noticed.
    pub(crate) fn end(&self, cause: EndCause) {
        let pipeline = self.pipeline.lock().take();
        self.end_cause.send_replace(Some(cause));
        for file in self.lock_files().drain(..) {
            file.cancel();
        }
        if let Some(pipeline) = pipeline {
            pipeline.cancel();
        }
    }

    fn lock_files(&self) -> MutexGuard<'_, Vec<Arc<UploadedFile>>> {
        self.files.lock()
    }
}
