//! Merging the blocks of one file that arrive over several connections.
//!
//! One connection owns the file: it has begun it, and alone writes to the receiver. Other
//! connections join and send chunks, each with its offset. Each connection may have only
//! [`AHEAD_BYTES_MAX`] waiting for earlier bytes; beyond that the server does not read from it,
//! and TCP holds back its sender.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of connections that send one file.
pub(crate) const CONNECTIONS_MAX: usize = 4;

/// The maximum of bytes of one connection that wait for earlier bytes from another. All
/// connections together then stay within the window.
pub(crate) const AHEAD_BYTES_MAX: usize = 16 << 20;

/// Bytes of the file from a joined connection: what one read returned.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    /// The chunk's share of [`AHEAD_BYTES_MAX`], returned to its connection on drop.
    _permit: OwnedSemaphorePermit,
}

/// What happened on a joined connection.
#[derive(Debug)]
pub(crate) enum MergeEvent {
    Chunk(Chunk),
    /// It left the file, and everything it sent has been delivered.
    Left,
    /// It was lost; some of its bytes may be missing.
    Lost,
}

/// Why a connection cannot join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinError {
    /// No connection owns the file.
    NotBegun,
    /// [`CONNECTIONS_MAX`] connections send the file already.
    TooMany,
}

/// The place where connections join a file. It is closed unless a connection owns the file.
#[derive(Debug, Default)]
pub(crate) struct BlockMerger {
    /// Copied for each connection that joins; `None` while closed.
    link: Mutex<Option<OwnerLink>>,
}

/// A joined connection's link to the owner of the file.
#[derive(Debug, Clone)]
struct OwnerLink {
    events: UnboundedSender<MergeEvent>,
    joined_count: Arc<AtomicUsize>,
}

impl BlockMerger {
    /// Lets connections join until the returned value is dropped.
    pub(crate) fn open(&self) -> MergeOutput<'_> {
        let (sender, receiver) = unbounded_channel();
        let joined_count = Arc::default();
        *self.lock() = Some(OwnerLink { events: sender, joined_count: Arc::clone(&joined_count) });
        MergeOutput { merger: self, events: receiver, joined_count }
    }

    /// Joins the connection that owns the file.
    pub(crate) fn join(&self) -> Result<MergeInput, JoinError> {
        // The count is checked and raised under the lock, so that it cannot pass the limit.
        let link = self.lock();
        let link = link.as_ref().ok_or(JoinError::NotBegun)?.clone();
        if link.joined_count.load(Ordering::Relaxed) + 1 >= CONNECTIONS_MAX {
            return Err(JoinError::TooMany);
        }
        link.joined_count.fetch_add(1, Ordering::Relaxed);
        let ahead = Arc::new(Semaphore::new(AHEAD_BYTES_MAX));
        Ok(MergeInput { link, ahead, last_event: MergeEvent::Lost })
    }

    fn lock(&self) -> MutexGuard<'_, Option<OwnerLink>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner's end of the merger: the events of all joined connections.
#[derive(Debug)]
pub(crate) struct MergeOutput<'a> {
    merger: &'a BlockMerger,
    events: UnboundedReceiver<MergeEvent>,
    joined_count: Arc<AtomicUsize>,
}

impl MergeOutput<'_> {
    /// Waits for the next event. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> MergeEvent {
        match self.events.recv().await {
            Some(event) => event,
            // Unreachable: the merger keeps a sender while this value lives.
            None => std::future::pending().await,
        }
    }

    /// Whether no connection is joined and no event is waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.joined_count.load(Ordering::Acquire) == 0 && self.events.is_empty()
    }
}

impl Drop for MergeOutput<'_> {
    fn drop(&mut self) {
        *self.merger.lock() = None;
    }
}

/// A joined connection's end of the merger. If it is dropped without [`Self::leave`], the
/// connection counts as lost.
#[derive(Debug)]
pub(crate) struct MergeInput {
    link: OwnerLink,
    /// What is left of [`AHEAD_BYTES_MAX`].
    ahead: Arc<Semaphore>,
    /// Sent on drop.
    last_event: MergeEvent,
}

/// The memory that a chunk is charged with. The fixed part stands for the structures around
/// it, which for chunks of a few bytes need more memory than the bytes.
fn charged_bytes(bytes: &[u8]) -> usize {
    const OVERHEAD_BYTES: usize = 256;
    (bytes.len() + OVERHEAD_BYTES).min(AHEAD_BYTES_MAX)
}

impl MergeInput {
    /// Sends bytes to the owner; waits while [`AHEAD_BYTES_MAX`] are waiting. Returns whether
    /// the owner still receives.
    pub(crate) async fn send(&self, offset: u64, bytes: &[u8]) -> bool {
        let charge = u32::try_from(charged_bytes(bytes)).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.ahead).acquire_many_owned(charge).await else {
            return false;
        };
        let chunk = Chunk { offset, bytes: bytes.to_vec(), _permit: permit };
        self.link.events.send(MergeEvent::Chunk(chunk)).is_ok()
    }

    /// Waits until the owner no longer receives.
    pub(crate) async fn closed(&self) {
        self.link.events.closed().await;
    }

    /// Leaves the file without losing anything.
    pub(crate) fn leave(mut self) {
        self.last_event = MergeEvent::Left;
    }
}

impl Drop for MergeInput {
    fn drop(&mut self) {
        // The event is sent before the count falls, so that `is_idle` cannot be true while it
        // is on its way.
        let _ = self.link.events.send(std::mem::replace(&mut self.last_event, MergeEvent::Left));
        self.link.joined_count.fetch_sub(1, Ordering::Release);
    }
}

/// Keeps the bytes that arrived before the bytes in front of them. For each connection these
/// are at most [`AHEAD_BYTES_MAX`], and one read more.
#[derive(Debug, Default)]
pub(crate) struct ReorderBuffer {
    waiting: BTreeMap<u64, Part>,
    /// The charge for bytes of the owner's connection.
    own_bytes: usize,
}

/// A part of the file. Dropping it frees its share of [`AHEAD_BYTES_MAX`].
#[derive(Debug)]
pub(crate) enum Part {
    /// From the owner's connection.
    Own(Vec<u8>),
    Joined(Chunk),
}

impl Part {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Joined(chunk) => &chunk.bytes,
        }
    }
}

/// The error that two parts of a file overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overlap;

impl ReorderBuffer {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the owner's connection has [`AHEAD_BYTES_MAX`] waiting.
    pub(crate) fn is_own_full(&self) -> bool {
        self.own_bytes >= AHEAD_BYTES_MAX
    }

    /// Keeps bytes of the owner's connection.
    pub(crate) fn insert_own(&mut self, offset: u64, bytes: Vec<u8>) -> Result<(), Overlap> {
        self.own_bytes += charged_bytes(&bytes);
        self.insert(offset, Part::Own(bytes))
    }

    /// Keeps bytes of a joined connection.
    pub(crate) fn insert_joined(&mut self, chunk: Chunk) -> Result<(), Overlap> {
        self.insert(chunk.offset, Part::Joined(chunk))
    }

    /// Removes and returns the part that begins at `offset`. All earlier parts must have been
    /// removed.
    pub(crate) fn take(&mut self, offset: u64) -> Result<Option<Part>, Overlap> {
        let Some(first) = self.waiting.first_entry() else { return Ok(None) };
        if *first.key() < offset {
            return Err(Overlap);
        }
        if *first.key() > offset {
            return Ok(None);
        }
        let part = first.remove();
        if let Part::Own(bytes) = &part {
            self.own_bytes -= charged_bytes(bytes);
        }
        Ok(Some(part))
    }

    fn insert(&mut self, offset: u64, part: Part) -> Result<(), Overlap> {
        match self.waiting.insert(offset, part) {
            None => Ok(()),
            Some(_) => Err(Overlap),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Overlap, ReorderBuffer};

    #[test]
    fn parts_are_returned_once_and_in_order() {
        let mut buffer = ReorderBuffer::default();
        buffer.insert_own(6, b"gh".to_vec()).expect("no overlap");
        buffer.insert_own(3, b"def".to_vec()).expect("no overlap");
        assert!(matches!(buffer.take(0), Ok(None)));
        assert_eq!(buffer.take(3).expect("no overlap").expect("a part").bytes(), b"def");
        assert_eq!(buffer.take(6).expect("no overlap").expect("a part").bytes(), b"gh");
        assert!(buffer.is_empty() && !buffer.is_own_full());
    }

    #[test]
    fn overlaps_are_errors() {
        let mut buffer = ReorderBuffer::default();
        buffer.insert_own(3, b"def".to_vec()).expect("no overlap");
        assert_eq!(buffer.insert_own(3, b"d".to_vec()), Err(Overlap));
        assert!(matches!(buffer.take(4), Err(Overlap)));
    }
}
