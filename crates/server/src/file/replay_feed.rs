//! Hands files that a page sends again to the replay of a rule.
//!
//! A question about rules waits with a [`ReplayFeed`] until a connection begins its replay. The
//! replay then gives a receiver to the connection for one file after the other, as [`FeedTurn`]s.
//! Nothing of the files is kept.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot};
use weir_core::ReadCounts;
use weir_ingest::SourceProgress;
use weir_sync::Lock;
use weir_view::NeededFile;

use super::receiver::FileReceiver;
use super::uploaded_file::{FileBegin, UploadedFile};
use crate::random_id::random_id;
use crate::refusal::Refusal;

/// A file that a page has to send again.
#[derive(Debug, Clone)]
pub(crate) struct FileToReplay {
    /// The page's id of the file.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The number of bytes to send.
    pub(crate) bytes: u64,
    fingerprint: Option<String>,
    /// The sources of its lines.
    pub(crate) sources: Vec<CountedSource>,
}

/// A source, and what was read of it up to a moment.
#[derive(Debug, Clone)]
pub(crate) struct CountedSource {
    progress: Arc<SourceProgress>,
    /// `None` if it is being read, so that the lines of the moment are unknown.
    counts: Option<ReadCounts>,
}

/// The replays of a session whose page sends lines, or is asked to.
#[derive(Debug, Default)]
pub(crate) struct Replays(Lock<Vec<WaitingReplay>>);

/// A replay that no connection has begun.
#[derive(Debug)]
struct WaitingReplay {
    id: String,
    turns: mpsc::Receiver<FeedTurn>,
    begun: Arc<Notify>,
}

/// The replay's end of a feed. Without it no connection can begin the replay.
#[derive(Debug)]
pub(crate) struct ReplayFeed {
    id: String,
    turns: mpsc::Sender<FeedTurn>,
    begun: Arc<Notify>,
    replays: Arc<Replays>,
}

/// The connection's end of a feed. If it is dropped, so are the turns that it has not taken.
#[derive(Debug)]
pub(crate) struct FeedingConnection {
    id: String,
    turns: mpsc::Receiver<FeedTurn>,
}

/// The turn of a file to be sent.
#[derive(Debug)]
pub(crate) struct FeedTurn {
    pub(crate) file: FileToReplay,
    pub(crate) receiver: FileReceiver,
    /// Receives the end. Closed when the replay is no longer wanted.
    pub(crate) done: oneshot::Sender<Result<(), FeedError>>,
}

/// Why a file did not arrive. In a message, the name of the file comes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FeedError {
    /// The connection was lost.
    Lost,
    /// The page cancelled it.
    Cancelled,
    /// Its bytes are not those that were read first.
    Changed,
    Refused(Refusal),
    /// The page did not follow the protocol.
    Violation(Refusal),
}

impl CountedSource {
    /// A source of which the lines up to now are read again. If it has not ended, they may be more
    /// than are counted here.
    pub(crate) fn new(progress: Arc<SourceProgress>) -> Self {
        let counts = progress.end().is_some().then(|| progress.read_counts());
        Self { progress, counts }
    }

    pub(crate) fn name(&self) -> &str {
        self.progress.name()
    }

    /// Returns its number in the data set; `None` if it was removed.
    pub(crate) fn number(&self) -> Option<u32> {
        (!self.progress.is_removed()).then(|| self.progress.number())
    }

    /// Returns whether as much was read as before. Records count if lines were read as records.
    pub(crate) fn is_same(&self, again: &ReadCounts, counts_records: bool) -> bool {
        self.counts.is_none_or(|before| {
            (before.bytes_read, before.lines, before.too_long_lines)
                == (again.bytes_read, again.lines, again.too_long_lines)
                && (!counts_records || before.records == again.records)
        })
    }
}

impl FileToReplay {
    /// Returns what has to be sent so that the lines of a file are read again, up to now.
    pub(crate) fn of(file: &UploadedFile) -> Self {
        let progress = file.progress();
        let counts = progress.read_counts();
        let mut sources: Vec<_> = file.sources().into_iter().map(CountedSource::new).collect();
        if let Some(own) = sources.first_mut() {
            own.counts = Some(counts);
        }
        let bytes = match progress.is_packed() {
            true => file.bytes_total().unwrap_or_else(|| file.length()),
            false => counts.bytes_read,
        };
        let (id, name) = (file.id().to_owned(), progress.name().to_owned());
        let fingerprint = file.fingerprint().map(str::to_owned);
        Self { id, name, bytes, fingerprint, sources }
    }

    /// Returns how the page is asked for the file.
    pub(crate) fn to_view(&self) -> NeededFile {
        NeededFile { file: self.id.clone(), name: self.name.clone(), bytes: self.bytes }
    }

    /// Returns whether the page sends the file that was read first, as far as it says.
    pub(crate) fn is_same(&self, begin: &FileBegin) -> bool {
        let fingerprints = self.fingerprint.as_ref().zip(begin.fingerprint.as_ref());
        begin.bytes_total == Some(self.bytes) && fingerprints.is_none_or(|(own, now)| own == now)
    }
}

impl Replays {
    /// Returns the connection's end of a replay; `None` if there is no such replay, or a connection
    /// has begun it.
    pub(crate) fn begin(&self, id: &str) -> Option<FeedingConnection> {
        let mut waiting = self.0.lock();
        let at = waiting.iter().position(|replay| replay.id == id)?;
        let WaitingReplay { id, turns, begun } = waiting.swap_remove(at);
        begun.notify_one();
        Some(FeedingConnection { id, turns })
    }
}

impl ReplayFeed {
    /// Opens a feed under an id that cannot be guessed.
    pub(crate) fn open(replays: &Arc<Replays>) -> Result<Self, Refusal> {
        let id = random_id()?;
        let begun = Arc::<Notify>::default();
        let (sender, turns) = mpsc::channel(1);
        let waiting = WaitingReplay { id: id.clone(), turns, begun: begun.clone() };
        replays.0.lock().push(waiting);
        Ok(Self { id, turns: sender, begun, replays: replays.clone() })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Waits until a connection begins the replay.
    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Receives a file again, and waits until its lines are read.
    pub(crate) async fn receive(
        &self,
        file: &FileToReplay,
        receiver: FileReceiver,
    ) -> Result<(), FeedError> {
        let (done, outcome) = oneshot::channel();
        let turn = FeedTurn { file: file.clone(), receiver, done };
        // If the connection is gone, the turn is dropped.
        let _ = self.turns.send(turn).await;
        outcome.await.unwrap_or(Err(FeedError::Lost))
    }
}

impl Drop for ReplayFeed {
    fn drop(&mut self) {
        self.replays.0.lock().retain(|replay| replay.id != self.id);
    }
}

impl FeedingConnection {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Waits for the turn of the next file. Returns `None` if the replay has ended.
    pub(crate) async fn next(&mut self) -> Option<FeedTurn> {
        self.turns.recv().await
    }
}

impl fmt::Display for FeedError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost => formatter
                .write_str("the connection that sent its lines again was lost; try the rule again"),
            Self::Cancelled => formatter.write_str("sending its lines again was cancelled"),
            Self::Changed => formatter.write_str(
                "it has changed since it was read; choose the file again, and replace the one before",
            ),
            Self::Refused(Refusal::Stalled(stall_s)) => {
                write!(formatter, "no byte of it arrived for {stall_s} s")
            }
            Self::Refused(refusal) | Self::Violation(refusal) => refusal.fmt(formatter),
        }
    }
}
