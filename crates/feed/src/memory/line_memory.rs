//! The memory budget for the partial lines of all connections together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::options::FeedOptions;

/// A budget in bytes for the parts of partial lines beyond [`FeedOptions::LINE_FREE_BYTES`].
#[derive(Debug)]
pub(crate) struct LineMemory {
    used_bytes: AtomicUsize,
    bytes_max: usize,
}

/// The share of one connection in the budget. Dropping it returns its bytes.
#[derive(Debug)]
pub(crate) struct LineMemoryShare {
    memory: Arc<LineMemory>,
    bytes: usize,
}

impl LineMemory {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { used_bytes: AtomicUsize::new(0), bytes_max })
    }

    pub(crate) fn share(self: &Arc<Self>) -> LineMemoryShare {
        LineMemoryShare { memory: self.clone(), bytes: 0 }
    }
}

impl LineMemoryShare {
    /// Sets the memory of the connection's partial line. Returns false if that exceeds the
    /// budget.
    pub(crate) fn resize(&mut self, line_bytes: usize) -> bool {
        let bytes = line_bytes.saturating_sub(FeedOptions::LINE_FREE_BYTES);
        if bytes == self.bytes {
            return true;
        }
        // One step: a line that counted twice for a moment would refuse the lines of others. A
        // negative difference wraps around, and so does the sum.
        let difference = bytes.wrapping_sub(self.bytes);
        let before = self.memory.used_bytes.fetch_add(difference, Ordering::Relaxed);
        let others = before.saturating_sub(self.bytes);
        self.bytes = bytes;
        bytes == 0 || others + bytes <= self.memory.bytes_max
    }
}

impl Drop for LineMemoryShare {
    fn drop(&mut self) {
        self.memory.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{FeedOptions, LineMemory};

    #[test]
    fn only_long_lines_use_the_budget() {
        const FREE: usize = FeedOptions::LINE_FREE_BYTES;
        let memory = LineMemory::new(100);
        let (mut one, mut other) = (memory.share(), memory.share());
        assert!(one.resize(FREE) && other.resize(FREE));
        assert!(one.resize(FREE + 60));
        assert!(!other.resize(FREE + 60));
        assert!(other.resize(FREE + 40));
        drop(one);
        assert!(other.resize(FREE + 100));
    }

    #[test]
    fn a_line_that_grows_never_counts_twice() {
        const FREE: usize = FeedOptions::LINE_FREE_BYTES;
        let memory = LineMemory::new(130);
        let mut growing = memory.share();
        let mut other = memory.share();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for step in 0..200_000 {
                    assert!(growing.resize(FREE + 60 + step % 2), "the other has 60 at most");
                }
            });
            for step in 0..200_000 {
                assert!(other.resize(FREE + 59 + step % 2), "the growing one has 61 at most");
            }
        });
    }
}
