//! Buffers to read into. There are only so many, which is what bounds a feed's memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Buffers of one size that are used again.
#[derive(Debug)]
pub(crate) struct Pool {
    chunk_bytes: usize,
    permits: Arc<Semaphore>,
    /// Buffers that were used before: fresh memory costs a page fault every 4 KiB.
    spare: Mutex<Vec<Vec<u8>>>,
    spare_max: usize,
}

/// A buffer, and what was read into it.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// All of it is initialised; what counts is `buffer[..filled]`.
    pub(crate) buffer: Vec<u8>,
    pub(crate) filled: usize,
    /// Datagrams in it.
    pub(crate) datagrams: u64,
    /// Those among them that were too long to be taken whole.
    pub(crate) datagrams_cut: u64,
    pool: Arc<Pool>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Pool {
    pub(crate) fn new(chunk_bytes: usize, chunks_max: usize) -> Arc<Self> {
        Arc::new(Self {
            chunk_bytes,
            permits: Arc::new(Semaphore::new(chunks_max)),
            spare: Mutex::default(),
            spare_max: chunks_max,
        })
    }

    /// A buffer, when there is one.
    pub(crate) async fn take(self: &Arc<Self>) -> Chunk {
        // The semaphore is never closed.
        let permit = self.permits.clone().acquire_owned().await.ok();
        self.chunk(permit)
    }

    /// A buffer beyond the bound; whoever takes it has a bound of its own.
    pub(crate) fn take_unbounded(self: &Arc<Self>) -> Chunk {
        self.chunk(None)
    }

    fn chunk(self: &Arc<Self>, permit: Option<OwnedSemaphorePermit>) -> Chunk {
        let spare = self.lock().pop();
        let buffer = spare.unwrap_or_else(|| vec![0; self.chunk_bytes]);
        let pool = self.clone();
        Chunk { buffer, filled: 0, datagrams: 0, datagrams_cut: 0, pool, _permit: permit }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chunk {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Memory that it takes, in bytes. Beside what was read that is the chunk itself, its place in
    /// a queue and the allocator's share: a sender may send nothing but empty datagrams.
    pub(crate) fn memory_bytes(&self) -> usize {
        const ITSELF_BYTES: usize = 256;
        self.buffer.len() + ITSELF_BYTES
    }

    /// Gives up the room that was not filled, where that is most of it.
    pub(crate) fn shrink(&mut self) {
        if self.filled < self.buffer.len() / 2 {
            self.buffer.truncate(self.filled);
            self.buffer.shrink_to_fit();
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut spare = self.pool.lock();
        if spare.len() < self.pool.spare_max && self.buffer.len() == self.pool.chunk_bytes {
            spare.push(std::mem::take(&mut self.buffer));
        }
    }
}
