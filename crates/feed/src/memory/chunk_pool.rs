//! Reusable read buffers. Their number bounds the memory of a listener.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_sync::Lock;

/// A pool of buffers of one size.
#[derive(Debug)]
pub(crate) struct ChunkPool {
    chunk_bytes: usize,
    permits: Arc<Semaphore>,
    /// Returned buffers. They are reused because new memory costs a page fault for every 4 KiB.
    spare: Lock<Vec<Vec<u8>>>,
    spare_max: usize,
}

/// A buffer and the bytes that were read into it. Dropping it returns the buffer to its pool.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Initialised to its whole length; the received bytes are `buffer[..filled]`.
    pub(crate) buffer: Vec<u8>,
    pub(crate) filled: usize,
    /// The number of datagrams in it.
    pub(crate) datagrams: u64,
    /// The number of those datagrams that were truncated because they were too long.
    pub(crate) datagrams_cut: u64,
    pool: Arc<ChunkPool>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ChunkPool {
    pub(crate) fn new(chunk_bytes: usize, chunks_max: usize) -> Arc<Self> {
        Arc::new(Self {
            chunk_bytes,
            permits: Arc::new(Semaphore::new(chunks_max)),
            spare: Lock::default(),
            spare_max: chunks_max,
        })
    }

    /// Waits for a free buffer and takes it.
    pub(crate) async fn take(self: &Arc<Self>) -> Chunk {
        // The semaphore is never closed.
        let permit = self.permits.clone().acquire_owned().await.ok();
        self.chunk(permit)
    }

    /// Takes a buffer that does not count against the limit. The caller has its own limit.
    pub(crate) fn take_unbounded(self: &Arc<Self>) -> Chunk {
        self.chunk(None)
    }

    fn chunk(self: &Arc<Self>, permit: Option<OwnedSemaphorePermit>) -> Chunk {
        let spare = self.spare.lock().pop();
        let buffer = spare.unwrap_or_else(|| vec![0; self.chunk_bytes]);
        let pool = self.clone();
        Chunk { buffer, filled: 0, datagrams: 0, datagrams_cut: 0, pool, _permit: permit }
    }
}

impl Chunk {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Returns the memory that the chunk takes, in bytes. A sender may send only empty datagrams,
    /// so this includes the chunk itself, its queue entry and the allocator's overhead.
    pub(crate) fn memory_bytes(&self) -> usize {
        const OVERHEAD_BYTES: usize = 256;
        self.buffer.len() + OVERHEAD_BYTES
    }

    /// Frees the unused part of the buffer if it is more than half.
    pub(crate) fn shrink(&mut self) {
        if self.filled < self.buffer.len() / 2 {
            self.buffer.truncate(self.filled);
            self.buffer.shrink_to_fit();
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut spare = self.pool.spare.lock();
        if spare.len() < self.pool.spare_max && self.buffer.len() == self.pool.chunk_bytes {
            spare.push(std::mem::take(&mut self.buffer));
        }
    }
}
