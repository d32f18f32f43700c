//! Merges the blocks of one file that arrive over several connections.
//!
//! One connection owns the file: it sent `begin`, and only it writes to the receiver. Other
//! connections join and send chunks with offsets. Bytes are *early* if bytes before them are still
//! missing. Early bytes wait: at most [`AHEAD_BYTES_MAX`] for each connection, and for all of a
//! session the limit of its [`AheadPool`]. Above a limit the server stops reading from the
//! connection, and TCP slows its sender.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_ingest::{EarlyBytes, HeldBytes};
use weir_sync::Lock;

/// The maximum number of connections that send one file.
pub(crate) const CONNECTIONS_MAX: usize = 4;

/// The maximum number of early bytes of one connection. With it, all connections together stay
/// within the window.
pub(crate) const AHEAD_BYTES_MAX: usize = 16 << 20;

/// The limit on early bytes of all files of a session together.
#[derive(Debug, Clone)]
pub(crate) struct AheadPool(Arc<Semaphore>);

/// The minimum and maximum of a pool, and the part of the session's memory limit (1/n) between
/// them.
const POOL_BYTES_MIN: usize = 4 << 20;
const POOL_BYTES_MAX: usize = 256 << 20;
const POOL_SHARE: usize = 8;

/// A pool may have at most 1/n of the memory limit of all sessions. With 16 sessions, all pools
/// together take a quarter of it.
const POOL_SHARE_OF_TOTAL: usize = 64;

impl AheadPool {
    /// Creates the pool of a session with this memory limit, under this limit for all sessions.
    pub(crate) fn new(memory_bytes_max: usize, total_bytes_max: usize) -> Self {
        let bytes = (memory_bytes_max / POOL_SHARE).min(total_bytes_max / POOL_SHARE_OF_TOTAL);
        let bytes = bytes.clamp(POOL_BYTES_MIN, POOL_BYTES_MAX);
        Self(Arc::new(Semaphore::new(bytes)))
    }
}

/// The early bytes of one connection.
#[derive(Debug, Clone)]
pub(crate) struct AheadAccount {
    /// The rest of [`AHEAD_BYTES_MAX`].
    own: Arc<Semaphore>,
    pool: AheadPool,
    /// The count of the source.
    early: EarlyBytes,
}

/// The permission to keep some early bytes. Dropping it returns them.
#[derive(Debug)]
pub(crate) struct AheadPermit {
    _own: Option<OwnedSemaphorePermit>,
    /// `None` for the only chunk of a connection while the pool is empty.
    _pool: Option<OwnedSemaphorePermit>,
    _held: HeldBytes,
}

impl AheadAccount {
    /// Creates the account of a connection that sends the source of `early`.
    pub(crate) fn new(pool: &AheadPool, early: &EarlyBytes) -> Self {
        let own = Arc::new(Semaphore::new(AHEAD_BYTES_MAX));
        Self { own, pool: pool.clone(), early: early.clone() }
    }

    /// Waits until the connection may keep these bytes. Dropping the future reserves nothing.
    ///
    /// If the pool is empty, a connection without early bytes may still keep one chunk. This
    /// prevents a deadlock: a connection sends its bytes in order, so when it sends the bytes that
    /// the others wait for, it has no early bytes waiting.
    pub(crate) async fn reserve(&self, bytes: &[u8]) -> AheadPermit {
        // They count while they wait for permission too.
        let held = self.early.hold(bytes.len());
        let charge = u32::try_from(charged_bytes(bytes)).unwrap_or(u32::MAX);
        // The semaphores are never closed, so acquiring succeeds.
        let own = self.own.clone().acquire_many_owned(charge).await.ok();
        let others = AHEAD_BYTES_MAX as u32 - charge;
        let pool = tokio::select! {
            biased;
            pool = self.pool.0.clone().acquire_many_owned(charge) => pool.ok(),
            _ = self.own.acquire_many(others) => None,
        };
        AheadPermit { _own: own, _pool: pool, _held: held }
    }
}

/// Bytes of the file that one read of a joined connection returned.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    _permit: AheadPermit,
}

/// An event on a joined connection.
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

/// The meeting point of a file's connections. It is closed unless a connection owns the file.
#[derive(Debug, Default)]
pub(crate) struct BlockMerger {
    /// Cloned for each connection that joins; `None` while closed.
    link: Lock<Option<OwnerLink>>,
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
        *self.link.lock() =
            Some(OwnerLink { events: sender, joined_count: Arc::clone(&joined_count) });
        MergeOutput { merger: self, events: receiver, joined_count }
    }

    /// Joins the connection that owns the file, whose early bytes `early` counts.
    pub(crate) fn join(
        &self,
        pool: &AheadPool,
        early: &EarlyBytes,
    ) -> Result<MergeInput, JoinError> {
        // The count is checked and raised under the lock, so that it cannot exceed the limit.
        let link = self.link.lock();
        let link = link.as_ref().ok_or(JoinError::NotBegun)?.clone();
        if link.joined_count.load(Relaxed) + 1 >= CONNECTIONS_MAX {
            return Err(JoinError::TooMany);
        }
        link.joined_count.fetch_add(1, Relaxed);
        let ahead = AheadAccount::new(pool, early);
        Ok(MergeInput { link, ahead, last_event: MergeEvent::Lost })
    }
}

/// The owner's end of the merger, which receives the events of all joined connections.
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

    /// Returns whether no connection is joined and no event is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.joined_count.load(Acquire) == 0 && self.events.is_empty()
    }
}

impl Drop for MergeOutput<'_> {
    fn drop(&mut self) {
        *self.merger.link.lock() = None;
    }
}

/// A joined connection's end of the merger. If it is dropped without [`Self::leave`], the
/// connection counts as lost.
#[derive(Debug)]
pub(crate) struct MergeInput {
    link: OwnerLink,
    ahead: AheadAccount,
    /// Sent on drop.
    last_event: MergeEvent,
}

/// Returns the memory that a chunk is charged with. The fixed part covers the structures around it,
/// which exceed the bytes of tiny chunks. No chunk is larger than the smallest pool.
fn charged_bytes(bytes: &[u8]) -> usize {
    const OVERHEAD_BYTES: usize = 256;
    (bytes.len() + OVERHEAD_BYTES).min(POOL_BYTES_MIN)
}

impl MergeInput {
    /// Sends bytes to the owner, and waits while too many are pending. Returns whether the owner
    /// still receives.
    pub(crate) async fn send(&self, offset: u64, bytes: &[u8]) -> bool {
        let permit = tokio::select! {
            permit = self.ahead.reserve(bytes) => permit,
            () = self.closed() => return false,
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
        // The event is sent before the count falls, so that `is_idle` is not true before it
        // arrives.
        let _ = self.link.events.send(std::mem::replace(&mut self.last_event, MergeEvent::Left));
        self.link.joined_count.fetch_sub(1, Release);
    }
}

/// Keeps early bytes, with their permits, until the bytes before them arrive.
#[derive(Debug, Default)]
pub(crate) struct ReorderBuffer {
    waiting: BTreeMap<u64, Chunk>,
}

impl Chunk {
    /// Creates a chunk of bytes from the connection that owns the file.
    pub(crate) fn of_owner(offset: u64, bytes: Vec<u8>, permit: AheadPermit) -> Self {
        Self { offset, bytes, _permit: permit }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The error for two overlapping parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overlap;

impl ReorderBuffer {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Keeps bytes until the bytes before them were taken.
    pub(crate) fn insert(&mut self, chunk: Chunk) -> Result<(), Overlap> {
        match self.waiting.insert(chunk.offset, chunk) {
            None => Ok(()),
            Some(_) => Err(Overlap),
        }
    }

    /// Removes and returns the part that begins at `offset`. All earlier parts must have been
    /// removed.
    pub(crate) fn take(&mut self, offset: u64) -> Result<Option<Chunk>, Overlap> {
        let Some(first) = self.waiting.first_entry() else { return Ok(None) };
        match first.key().cmp(&offset) {
            Ordering::Less => Err(Overlap),
            Ordering::Equal => Ok(Some(first.remove())),
            Ordering::Greater => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_ingest::EarlyBytes;

    use super::{
        AHEAD_BYTES_MAX, AheadAccount, AheadPool, Chunk, Overlap, POOL_BYTES_MIN, ReorderBuffer,
    };

    async fn chunk(account: &AheadAccount, offset: u64, bytes: &[u8]) -> Chunk {
        Chunk::of_owner(offset, bytes.to_vec(), account.reserve(bytes).await)
    }

    #[tokio::test]
    async fn parts_are_returned_once_and_in_order() {
        let account = AheadAccount::new(&AheadPool::new(0, 0), &EarlyBytes::default());
        let mut buffer = ReorderBuffer::default();
        buffer.insert(chunk(&account, 6, b"gh").await).expect("no overlap");
        buffer.insert(chunk(&account, 3, b"def").await).expect("no overlap");
        assert!(matches!(buffer.take(0), Ok(None)));
        assert_eq!(buffer.take(3).expect("no overlap").expect("a part").bytes(), b"def");
        assert_eq!(buffer.take(6).expect("no overlap").expect("a part").bytes(), b"gh");
        assert!(buffer.is_empty());
        assert_eq!(account.own.available_permits(), AHEAD_BYTES_MAX);
    }

    #[tokio::test]
    async fn overlaps_are_errors() {
        let account = AheadAccount::new(&AheadPool::new(0, 0), &EarlyBytes::default());
        let mut buffer = ReorderBuffer::default();
        buffer.insert(chunk(&account, 3, b"def").await).expect("no overlap");
        assert_eq!(buffer.insert(chunk(&account, 3, b"d").await), Err(Overlap));
        assert!(matches!(buffer.take(4), Err(Overlap)));
    }

    #[tokio::test(start_paused = true)]
    async fn all_connections_share_the_pool_and_each_may_keep_one_piece() {
        let pool = AheadPool::new(0, 0);
        let piece = vec![0; 1 << 20];
        let accounts: Vec<_> =
            (0..100).map(|_| AheadAccount::new(&pool, &EarlyBytes::default())).collect();
        let mut kept = Vec::new();
        for account in &accounts {
            let patience = Duration::from_millis(1);
            while let Ok(permit) = tokio::time::timeout(patience, account.reserve(&piece)).await {
                kept.push((account, permit));
            }
        }
        let pieces = POOL_BYTES_MIN / piece.len() + accounts.len();
        assert!(kept.len() <= pieces, "{} pieces", kept.len());
        // Each connection could send the bytes that the others wait for.
        for account in &accounts {
            assert!(account.own.available_permits() < AHEAD_BYTES_MAX, "it has one piece");
        }
        kept.clear();
        assert_eq!(pool.0.available_permits(), POOL_BYTES_MIN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_has_nothing_left_need_not_wait_for_the_pool() {
        let pool = AheadPool::new(0, 0);
        let [greedy, other] = [
            AheadAccount::new(&pool, &EarlyBytes::default()),
            AheadAccount::new(&pool, &EarlyBytes::default()),
        ];
        let mut all = Vec::new();
        let patience = Duration::from_millis(1);
        let piece = vec![0; 1 << 20];
        while let Ok(permit) = tokio::time::timeout(patience, greedy.reserve(&piece)).await {
            all.push(permit);
        }
        let first = other.reserve(&piece).await;
        let (second, ()) = tokio::join!(other.reserve(&piece), async {
            tokio::time::sleep(patience).await;
            drop(first);
        });
        drop((second, all));
        assert_eq!(pool.0.available_permits(), POOL_BYTES_MIN);
    }
}
