//! The queue between the reader and the worker of a connection.

use tokio::sync::OwnedSemaphorePermit;

use crate::memory::Chunk;

/// A chunk on its way from the reader to the worker.
pub(crate) struct QueuedChunk {
    pub(crate) chunk: Chunk,
    /// Dropped after the chunk is written, which allows another read. `None` in unlimited mode.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}
