//! Where the time of parsers goes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time of the parser threads of a pipeline so far, of all of them together. It is taken for each block
/// and each wait, never for a line.
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
    /// Waiting for the turn of a block, or for those who read the data set.
    pub wait_to_append: Duration,
}

/// What a parser does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Read,
    Parse,
    Append,
    WaitForBlocks,
    WaitToAppend,
}

/// The same times, for concurrent updates; in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct StageClock {
    read: AtomicU64,
    parse: AtomicU64,
    append: AtomicU64,
    wait_for_blocks: AtomicU64,
    wait_to_append: AtomicU64,
}

impl StageClock {
    /// Adds the time since `begun`. Returns the present, with which the next stage begins.
    pub(crate) fn add(&self, stage: Stage, begun: Instant) -> Instant {
        let sum = match stage {
            Stage::Read => &self.read,
            Stage::Parse => &self.parse,
            Stage::Append => &self.append,
            Stage::WaitForBlocks => &self.wait_for_blocks,
            Stage::WaitToAppend => &self.wait_to_append,
        };
        let now = Instant::now();
        sum.fetch_add((now - begun).as_nanos() as u64, Ordering::Relaxed);
        now
    }

    pub(crate) fn times(&self) -> StageTimes {
        let time = |ns: &AtomicU64| Duration::from_nanos(ns.load(Ordering::Relaxed));
        StageTimes {
            read: time(&self.read),
            parse: time(&self.parse),
            append: time(&self.append),
            wait_for_blocks: time(&self.wait_for_blocks),
            wait_to_append: time(&self.wait_to_append),
        }
    }
}
