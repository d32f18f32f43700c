//! Bytes of a source that were received, but cannot be written to it yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes of one source that wait before its writer: because bytes before them are
/// missing, or because they have to be unpacked by another thread. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct EarlyBytes(Arc<AtomicU64>);

/// Bytes that count as waiting until this is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    count: EarlyBytes,
    bytes: u64,
}

impl EarlyBytes {
    /// Counts bytes until the returned value is dropped.
    pub fn hold(&self, bytes: usize) -> HeldBytes {
        let bytes = bytes as u64;
        self.0.fetch_add(bytes, Ordering::Relaxed);
        HeldBytes { count: self.clone(), bytes }
    }

    /// Returns the number of bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.count.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
