//! What the lines that have begun take, all connections together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::options::FeedOptions;

/// The memory for long lines that have begun.
#[derive(Debug)]
pub(crate) struct Partials {
    used_bytes: AtomicUsize,
    bytes_max: usize,
}

/// What one connection has of it.
#[derive(Debug)]
pub(crate) struct Partial {
    all: Arc<Partials>,
    bytes: usize,
}

impl Partials {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { used_bytes: AtomicUsize::new(0), bytes_max })
    }

    pub(crate) fn partial(self: &Arc<Self>) -> Partial {
        Partial { all: self.clone(), bytes: 0 }
    }
}

impl Partial {
    /// Says how much the connection holds now; false where that is too much for all.
    pub(crate) fn hold(&mut self, held_bytes: usize) -> bool {
        let bytes = held_bytes.saturating_sub(FeedOptions::LINE_FREE_BYTES);
        if bytes == self.bytes {
            return true;
        }
        let before = self.all.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.all.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let others = before.saturating_sub(self.bytes);
        self.bytes = bytes;
        bytes == 0 || others + bytes <= self.all.bytes_max
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.all.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{FeedOptions, Partials};

    #[test]
    fn only_what_is_long_counts() {
        const FREE: usize = FeedOptions::LINE_FREE_BYTES;
        let all = Partials::new(100);
        let (mut one, mut other) = (all.partial(), all.partial());
        assert!(one.hold(FREE) && other.hold(FREE));
        assert!(one.hold(FREE + 60));
        assert!(!other.hold(FREE + 60));
        assert!(other.hold(FREE + 40));
        drop(one);
        assert!(other.hold(FREE + 100));
    }
}
