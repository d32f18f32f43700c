//! The work on answers and live views of a data set.

use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use weir_observe::WaitClock;

/// Counts the live connections, the views sent to them, and the time of this.
#[derive(Debug, Default)]
pub(crate) struct ViewWork {
    connections: AtomicUsize,
    views: AtomicU64,
    bytes: AtomicU64,
    evaluating: Arc<WaitClock>,
    sending: Arc<WaitClock>,
}

/// The work on answers and live views since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewCounts {
    /// The number of live connections: pages that show a data set.
    pub connections: usize,
    /// The number of views that were sent.
    pub views: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The time of all threads that computed answers, for views and other questions.
    pub evaluating: Duration,
    /// The time in which views waited until their readers had taken them.
    pub sending: Duration,
}

impl Add for ViewCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            views: self.views + other.views,
            bytes: self.bytes + other.bytes,
            evaluating: self.evaluating + other.evaluating,
            sending: self.sending + other.sending,
        }
    }
}

impl ViewWork {
    /// Counts a live connection until the returned value is dropped.
    pub(crate) fn connect(self: &Arc<Self>) -> LiveConnection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        LiveConnection(self.clone())
    }

    /// Counts time as evaluation until the returned value is dropped.
    pub(crate) fn evaluate(&self) -> impl Drop + use<> {
        WaitClock::time(self.evaluating.clone())
    }

    /// Counts time as sending until the returned value is dropped.
    pub(crate) fn send(&self) -> impl Drop + use<> {
        WaitClock::time(self.sending.clone())
    }

    /// Adds a view that a reader has taken.
    pub(crate) fn add_view(&self, bytes: usize) {
        // The bytes first, so that `counts` never returns a view without its bytes.
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.views.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn counts(&self) -> ViewCounts {
        ViewCounts {
            connections: self.connections.load(Ordering::Relaxed),
            views: self.views.load(Ordering::Acquire),
            bytes: self.bytes.load(Ordering::Relaxed),
            evaluating: self.evaluating.total(),
            sending: self.sending.total(),
        }
    }
}

/// A live connection, which counts until it is dropped.
#[derive(Debug)]
pub(crate) struct LiveConnection(Arc<ViewWork>);

impl Drop for LiveConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::ViewWork;

    #[test]
    fn work_counts_from_its_beginning() {
        let work = Arc::<ViewWork>::default();
        let begun = Instant::now();
        let (connection, sending) = (work.connect(), [work.send(), work.send()]);
        while work.counts().sending < Duration::from_millis(10)
            && begun.elapsed() < Duration::from_secs(60)
        {
            std::thread::yield_now();
        }
        let both = work.counts();
        assert!(both.sending >= Duration::from_millis(10), "{both:?}");
        assert!(both.sending <= 2 * begun.elapsed(), "{both:?}");
        drop(sending);
        work.add_view(100);
        let ended = work.counts();
        assert!(ended.sending >= both.sending, "{ended:?}");
        assert_eq!((ended.connections, ended.views, ended.bytes), (1, 1, 100));
        drop(connection);
        let left = work.counts();
        assert_eq!((left.connections, left.sending), (0, ended.sending), "nothing runs any more");
        assert_eq!(left.evaluating, Duration::ZERO);
    }
}
