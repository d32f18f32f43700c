//! The memory that the connections of a listener share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::{ChunkPool, LineMemory};
use crate::options::{ActiveMode, FeedOptions};

/// The budgets for buffers, for partial lines, and in unlimited mode for chunks that wait for the
/// sink.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) chunks: Arc<ChunkPool>,
    /// Shared by all listeners of a feed.
    pub(crate) lines: Arc<LineMemory>,
    ahead_bytes: AtomicUsize,
}

impl SharedMemory {
    pub(crate) fn new(mode: ActiveMode, lines: Arc<LineMemory>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let chunks_max = match mode {
            // Each thread reads into one chunk while another one is written.
            ActiveMode::Passive => 2 * cores + 2,
            _ => FeedOptions::CHUNKS_AHEAD_MAX,
        };
        let chunks = ChunkPool::new(FeedOptions::CHUNK_BYTES, chunks_max);
        Self { chunks, lines, ahead_bytes: AtomicUsize::new(0) }
    }

    /// Counts `bytes` more that wait for the sink. Returns false, and counts nothing, if the total
    /// would exceed `cap_bytes`.
    pub(crate) fn reserve_ahead(&self, bytes: usize, cap_bytes: usize) -> bool {
        let is_below_cap =
            self.ahead_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= cap_bytes;
        if !is_below_cap {
            self.release_ahead(bytes);
        }
        is_below_cap
    }

    /// Subtracts bytes that no longer wait.
    pub(crate) fn release_ahead(&self, bytes: usize) {
        self.ahead_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
