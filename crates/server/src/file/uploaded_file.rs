//! A file that a page uploads to a session, over one connection or several in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use weir_ingest::{SourceEnd, SourceProgress, SourceWriter};
use weir_sync::Lock;

use super::merger::BlockMerger;
use super::receiver::{FileReceiver, Purpose};
use super::unpacker::UnpackDestination;

/// How long a connection that resumes a file waits until the previous owner has noticed its loss.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(2);

/// The beginning of a file, as the page states it.
#[derive(Debug)]
pub(crate) struct FileBegin {
    /// The page's id of the file.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The size in bytes; `None` if the file is growing.
    pub(crate) bytes_total: Option<u64>,
    /// The id of the file whose format it has.
    pub(crate) continues: Option<String>,
    /// The text by which the page recognises the file.
    pub(crate) fingerprint: Option<String>,
    /// The name or the definition of its format.
    pub(crate) format: Option<String>,
}

/// A file of a session. The connection that locks its receiver owns it.
#[derive(Debug)]
pub(crate) struct UploadedFile {
    id: String,
    bytes_total: Option<u64>,
    fingerprint: Option<String>,
    /// The number of bytes received; set when the file has ended.
    length: AtomicU64,
    progress: Arc<SourceProgress>,
    /// The sources of the files in an archive; set when it has ended.
    members: Lock<Vec<Arc<SourceProgress>>>,
    is_interrupted: AtomicBool,
    interruption_count: AtomicU64,
    /// `None` after the file has ended.
    receiver: Arc<Mutex<Option<FileReceiver>>>,
    merger: BlockMerger,
}

/// Ownership of a file. Contains `None` after the file has ended.
pub(crate) type ReceiverGuard = OwnedMutexGuard<Option<FileReceiver>>;

impl UploadedFile {
    pub(crate) fn new(
        begin: &FileBegin,
        writer: SourceWriter,
        destination: UnpackDestination,
        purpose: Purpose,
    ) -> Self {
        let progress = writer.progress().clone();
        let receiver = FileReceiver::new(writer, destination, purpose);
        Self {
            id: begin.id.clone(),
            bytes_total: begin.bytes_total,
            fingerprint: begin.fingerprint.clone(),
            length: AtomicU64::new(0),
            progress,
            members: Lock::default(),
            is_interrupted: AtomicBool::new(false),
            interruption_count: AtomicU64::new(0),
            receiver: Arc::new(Mutex::new(Some(receiver))),
            merger: BlockMerger::default(),
        }
    }

    /// Returns the page's id of the file.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns whether the page may mean this file, of which it repeats the id.
    pub(crate) fn is_same(&self, begin: &FileBegin) -> bool {
        let fingerprints = self.fingerprint.as_ref().zip(begin.fingerprint.as_ref());
        self.bytes_total == begin.bytes_total && fingerprints.is_none_or(|(own, now)| own == now)
    }

    /// Returns the file's size in bytes according to the page; `None` if the file is growing.
    pub(crate) fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Returns the text by which the page recognises the file.
    pub(crate) fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Returns whether more of the file is expected soon. A file that is growing may stay so.
    pub(crate) fn is_arriving(&self) -> bool {
        let is_known = self.bytes_total.is_some() || self.progress.is_packed();
        is_known && self.progress.end().is_none()
    }

    /// Returns the number of bytes received; set when the file has ended.
    pub(crate) fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    pub(crate) fn set_length(&self, bytes: u64) {
        self.length.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn progress(&self) -> &Arc<SourceProgress> {
        &self.progress
    }

    /// Returns the sources of its lines: its own and, if it is an archive that has ended, those of
    /// the files in it.
    pub(crate) fn sources(&self) -> Vec<Arc<SourceProgress>> {
        let mut sources = vec![self.progress.clone()];
        sources.extend_from_slice(&self.members.lock());
        sources
    }

    pub(crate) fn set_members(&self, members: Vec<Arc<SourceProgress>>) {
        *self.members.lock() = members;
    }

    /// Returns whether the file's connection was lost and the file can be resumed.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed) && self.progress.end().is_none()
    }

    pub(crate) fn set_interrupted(&self, is_interrupted: bool) {
        self.is_interrupted.store(is_interrupted, Ordering::Relaxed);
        if is_interrupted {
            self.interruption_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how many times the file's connection was lost.
    pub(crate) fn interruption_count(&self) -> u64 {
        self.interruption_count.load(Ordering::Relaxed)
    }

    /// Takes ownership of the file. Returns `None` if another connection keeps it.
    pub(crate) async fn lock_receiver(&self) -> Option<ReceiverGuard> {
        let guard = self.receiver.clone().lock_owned();
        tokio::time::timeout(TAKE_OVER_WAIT, guard).await.ok()
    }

    /// Returns the merger, through which other connections join the owner.
    pub(crate) fn merger(&self) -> &BlockMerger {
        &self.merger
    }

    /// Ends the file if no connection owns it.
    pub(crate) fn end_unless_owned(&self, end: SourceEnd) {
        if let Ok(mut receiver) = self.receiver.try_lock() {
            *receiver = None;
            self.set_interrupted(false);
            self.progress.set_end(end);
        }
    }

    /// Cancels the file, whether or not a connection owns it.
    pub(crate) fn cancel(&self) {
        self.progress.cancel();
        self.end_unless_owned(SourceEnd::Cancelled);
    }
}
