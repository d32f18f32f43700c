//! How the parser threads spend their time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_observe::WaitClock;

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
#[derive(Debug, Default)]
pub(crate) struct StageClock {
    read_ns: AtomicU64,
    parse_ns: AtomicU64,
    append_ns: AtomicU64,
    wait_for_blocks: WaitClock,
    wait_to_append: WaitClock,
}

impl StageClock {
    /// Begins a wait at `now`. [`Self::add`] with the same stage and time ends it.
    pub(crate) fn begin_wait(&self, stage: Stage, now: Instant) {
        if let Some(waits) = self.waits(stage) {
            waits.begin(now);
        }
    }

    /// Adds the time since `begun` to a stage. Returns the current time, at which the next stage
    /// begins.
    pub(crate) fn add(&self, stage: Stage, begun: Instant) -> Instant {
        let now = Instant::now();
        let sum = match stage {
            Stage::Read => &self.read_ns,
            Stage::Parse => &self.parse_ns,
            Stage::Append => &self.append_ns,
            Stage::WaitForBlocks | Stage::WaitToAppend => {
                if let Some(waits) = self.waits(stage) {
                    waits.end(begun, now);
                }
                return now;
            }
        };
        sum.fetch_add((now - begun).as_nanos() as u64, Ordering::Relaxed);
        now
    }

    fn waits(&self, stage: Stage) -> Option<&WaitClock> {
        match stage {
            Stage::WaitForBlocks => Some(&self.wait_for_blocks),
            Stage::WaitToAppend => Some(&self.wait_to_append),
            Stage::Read | Stage::Parse | Stage::Append => None,
        }
    }

    pub(crate) fn times(&self) -> StageTimes {
        let time = |ns: &AtomicU64| Duration::from_nanos(ns.load(Ordering::Relaxed));
        StageTimes {
            read: time(&self.read_ns),
            parse: time(&self.parse_ns),
            append: time(&self.append_ns),
            wait_for_blocks: self.wait_for_blocks.total(),
            wait_to_append: self.wait_to_append.total(),
        }
    }
}
