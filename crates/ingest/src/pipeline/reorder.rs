//! Blocks that were parsed before their turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::{PendingSegment, RequestCounts};

use crate::progress::{BlockCounts, SourceProgress};

/// A parsed block on its way into the data set.
#[derive(Debug)]
pub(super) struct ParsedBlock {
    pub(super) source: Arc<SourceProgress>,
    pub(super) offset_end: u64,
    pub(super) counts: BlockCounts,
    /// Its requests by group, if they are counted.
    pub(super) requests: Vec<RequestCounts>,
    /// Whether its lines had just been written.
    pub(super) is_live: bool,
    /// A segment for each format of its lines; `None` if the block was dropped because its source
    /// was cancelled.
    pub(super) segments: Option<Vec<PendingSegment>>,
}

/// Puts parsed blocks back into the order of their tickets.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    next: u64,
    waiting: BTreeMap<u64, ParsedBlock>,
}

impl ReorderBuffer {
    /// Adds the block of a ticket.
    pub(super) fn insert(&mut self, ticket: u64, block: ParsedBlock) {
        self.waiting.insert(ticket, block);
    }

    /// Number of blocks that wait for the one before them.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next block, if it has been parsed.
    pub(super) fn pop(&mut self) -> Option<ParsedBlock> {
        let block = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(block)
    }
}
