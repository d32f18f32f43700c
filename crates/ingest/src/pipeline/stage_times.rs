//! How the parser threads spend their time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time that the parser threads of a pipeline have spent so far, summed over all threads. It is
/// measured per block and per wait, never per line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Reading files that the parsers read themselves, and cutting their blocks.
    pub read: Duration,
    /// Parsing.
    pub parse: Duration,
    /// Appending parsed blocks in their order.
    pub append: Duration,
    /// Waiting for blocks to parse.
    pub wait_for_blocks: Duration,
    /// Waiting for the turn of a block, for an eviction, or for consumers of the data set.
    pub wait_to_append: Duration,
}

/// An activity of a parser thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Read,
    Parse,
    Append,
    WaitForBlocks,
    WaitToAppend,
}

/// Collects [`StageTimes`] from concurrent threads.
#[derive(Debug)]
pub(crate) struct StageClock {
    origin: Instant,
    read_ns: AtomicU64,
    parse_ns: AtomicU64,
    append_ns: AtomicU64,
    wait_for_blocks: Mutex<Waits>,
    wait_to_append: Mutex<Waits>,
}

/// The waits of one kind, over all threads. Waits in progress count too, because one may last
/// forever.
#[derive(Debug, Default)]
struct Waits {
    /// The total time of the waits that have ended.
    ended: Duration,
    /// The number of waits in progress.
    open: u32,
    /// The sum of the start times of the waits in progress, each since the origin of the clock.
    starts_sum: Duration,
}

impl Default for StageClock {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            read_ns: AtomicU64::new(0),
            parse_ns: AtomicU64::new(0),
            append_ns: AtomicU64::new(0),
            wait_for_blocks: Mutex::default(),
            wait_to_append: Mutex::default(),
        }
    }
}

impl StageClock {
    /// Begins a wait at `now`. [`Self::add`] with the same stage and time ends it.
    pub(crate) fn begin_wait(&self, stage: Stage, now: Instant) {
        if let Some(waits) = self.waits(stage) {
            let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.open += 1;
            waits.starts_sum += now.saturating_duration_since(self.origin);
        }
    }

    /// Adds the time since `begun` to a stage. Returns the current time, at which the next stage
    /// begins.
    pub(crate) fn add(&self, stage: Stage, begun: Instant) -> Instant {
        let now = Instant::now();
        let time = now - begun;
        let sum = match stage {
            Stage::Read => &self.read_ns,
            Stage::Parse => &self.parse_ns,
            Stage::Append => &self.append_ns,
            Stage::WaitForBlocks | Stage::WaitToAppend => {
                self.end_wait(stage, begun, time);
                return now;
            }
        };
        sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        now
    }

    fn end_wait(&self, stage: Stage, begun: Instant, time: Duration) {
        if let Some(waits) = self.waits(stage) {
            let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.open = waits.open.saturating_sub(1);
            waits.starts_sum =
                waits.starts_sum.saturating_sub(begun.saturating_duration_since(self.origin));
            waits.ended += time;
        }
    }

    fn waits(&self, stage: Stage) -> Option<&Mutex<Waits>> {
        match stage {
            Stage::WaitForBlocks => Some(&self.wait_for_blocks),
            Stage::WaitToAppend => Some(&self.wait_to_append),
            Stage::Read | Stage::Parse | Stage::Append => None,
        }
    }

    pub(crate) fn times(&self) -> StageTimes {
        let time = |ns: &AtomicU64| Duration::from_nanos(ns.load(Ordering::Relaxed));
        let waited = |waits: &Mutex<Waits>| {
            let waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            // Read under the lock: a wait that began after this time would have a negative length.
            let now = self.origin.elapsed();
            waits.ended + (now * waits.open).saturating_sub(waits.starts_sum)
        };
        StageTimes {
            read: time(&self.read_ns),
            parse: time(&self.parse_ns),
            append: time(&self.append_ns),
            wait_for_blocks: waited(&self.wait_for_blocks),
            wait_to_append: waited(&self.wait_to_append),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Stage, StageClock};

    #[test]
    fn a_wait_counts_from_its_beginning() {
        let clock = StageClock::default();
        let begun = Instant::now();
        for _ in 0..2 {
            clock.begin_wait(Stage::WaitForBlocks, begun);
        }
        let waited = || clock.times().wait_for_blocks;
        let deadline = begun + Duration::from_secs(20);
        while waited() < Duration::from_millis(20) && Instant::now() < deadline {
            std::thread::yield_now();
        }
        // Two threads wait at the same time.
        let (least, both) = (begun.elapsed(), waited());
        assert!(both >= least && both <= 2 * begun.elapsed(), "{both:?} {least:?}");
        clock.add(Stage::WaitForBlocks, begun);
        clock.add(Stage::WaitForBlocks, begun);
        let ended = waited();
        assert!(ended >= both, "{ended:?} {both:?}");
        assert_eq!(waited(), ended, "no thread waits any more");
        assert_eq!(clock.times().wait_to_append, Duration::ZERO);
    }
}
