//! Where several connections that send one file come together.
//!
//! One connection holds the file: it has begun it, and alone writes to its intake. Others join
//! and feed it pieces, each with its offset. What a connection may have waiting here is
//! bounded; beyond that it is not read from, and TCP holds its sender back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections that send one file, at the most.
pub(crate) const CONNECTIONS_MAX: usize = 4;

/// Bytes of one connection that may wait for those before them to come on another, so that
/// all together are no more than the window.
pub(crate) const AHEAD_BYTES_MAX: usize = 16 << 20;

/// A part of the file that came on a joined connection.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    /// The room that it takes of what its connection has.
    _permit: OwnedSemaphorePermit,
}

/// What a joined connection brings.
#[derive(Debug)]
pub(crate) enum Arrival {
    Piece(Piece),
    /// It has gone, with all that it sent taken.
    Left,
    /// It was lost; what was on its way will not come.
    Lost,
}

/// Why a connection cannot join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinError {
    /// No connection holds the file.
    NotBegun,
    /// As many have joined as may.
    TooMany,
}

/// The entrance to a file that a connection holds; closed while none does.
#[derive(Debug, Default)]
pub(crate) struct Junction {
    entrance: Mutex<Option<Entrance>>,
}

#[derive(Debug, Clone)]
struct Entrance {
    sender: UnboundedSender<Arrival>,
    joined: Arc<AtomicUsize>,
}

impl Junction {
    /// Opens the entrance; it closes when the result is dropped.
    pub(crate) fn open(&self) -> Arrivals<'_> {
        let (sender, receiver) = unbounded_channel();
        let joined = Arc::default();
        *self.lock() = Some(Entrance { sender, joined: Arc::clone(&joined) });
        Arrivals { junction: self, receiver, joined }
    }

    pub(crate) fn join(&self) -> Result<Feeder, JoinError> {
        // Under the lock, so that no more join than may.
        let entrance = self.lock();
        let Entrance { sender, joined } = entrance.as_ref().ok_or(JoinError::NotBegun)?.clone();
        if joined.load(Ordering::Relaxed) + 1 >= CONNECTIONS_MAX {
            return Err(JoinError::TooMany);
        }
        joined.fetch_add(1, Ordering::Relaxed);
        let room = Arc::new(Semaphore::new(AHEAD_BYTES_MAX));
        Ok(Feeder { sender, joined, room, end: Arrival::Lost })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Entrance>> {
        self.entrance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What joined connections bring, for the one that holds the file.
#[derive(Debug)]
pub(crate) struct Arrivals<'a> {
    junction: &'a Junction,
    receiver: UnboundedReceiver<Arrival>,
    joined: Arc<AtomicUsize>,
}

impl Arrivals<'_> {
    /// The next arrival. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Arrival {
        match self.receiver.recv().await {
            Some(arrival) => arrival,
            // The junction keeps a sender while this lives.
            None => std::future::pending().await,
        }
    }

    /// True where nothing more can come but by a new connection.
    pub(crate) fn is_alone(&self) -> bool {
        self.joined.load(Ordering::Acquire) == 0 && self.receiver.is_empty()
    }
}

impl Drop for Arrivals<'_> {
    fn drop(&mut self) {
        *self.junction.lock() = None;
    }
}

/// The end of a joined connection. Dropped without [`Self::leave`], it counts as lost.
#[derive(Debug)]
pub(crate) struct Feeder {
    sender: UnboundedSender<Arrival>,
    joined: Arc<AtomicUsize>,
    room: Arc<Semaphore>,
    /// What is told when it is dropped.
    end: Arrival,
}

/// The memory that a piece is counted with: its own, and of what holds it, which for pieces of
/// a few bytes is more.
pub(super) fn room_bytes(bytes: &[u8]) -> usize {
    const HELD_BYTES: usize = 256;
    (bytes.len() + HELD_BYTES).min(AHEAD_BYTES_MAX)
}

impl Feeder {
    /// Brings a piece; waits for room. False where nobody takes it any more.
    pub(crate) async fn feed(&self, offset: u64, bytes: &[u8]) -> bool {
        let room = u32::try_from(room_bytes(bytes)).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.room).acquire_many_owned(room).await else {
            return false;
        };
        let piece = Piece { offset, bytes: bytes.to_vec(), _permit: permit };
        self.sender.send(Arrival::Piece(piece)).is_ok()
    }

    /// Waits until nobody takes pieces any more.
    pub(crate) async fn over(&self) {
        self.sender.closed().await;
    }

    /// The connection brings no more of the file, and has lost nothing.
    pub(crate) fn leave(mut self) {
        self.end = Arrival::Left;
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        // The end goes first, so that nobody finds the last connection gone and not yet heard.
        let _ = self.sender.send(std::mem::replace(&mut self.end, Arrival::Left));
        self.joined.fetch_sub(1, Ordering::Release);
    }
}
