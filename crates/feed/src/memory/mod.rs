//! The memory of a feed: read buffers and partial lines.

mod chunk_pool;
mod line_memory;

pub(crate) use chunk_pool::{Chunk, ChunkPool};
pub(crate) use line_memory::{LineMemory, LineMemoryShare};
