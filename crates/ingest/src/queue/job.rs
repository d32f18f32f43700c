//! The items of the queue: blocks, and sources that the parsers read themselves.

use std::sync::Arc;

use weir_core::{Block, Format};

use super::late_companions::LateCompanions;
use crate::file_reads::UnreadBlock;
use crate::progress::SourceProgress;

/// A block to parse.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) source: Arc<SourceProgress>,
    pub(crate) source_index: u32,
    pub(crate) format: Arc<Format>,
    /// The index of the format among those of the data set.
    pub(crate) format_index: usize,
    /// Whether the format is known. If not, `format` is a placeholder.
    pub(crate) is_format_known: bool,
    /// Further formats to try, in this order, on lines that do not match `format`.
    pub(crate) companions: Arc<[Arc<Format>]>,
    /// The companions that joined later; `None` if the format is forced or not known.
    pub(crate) late_companions: Option<Arc<LateCompanions>>,
    pub(crate) block: Block,
    /// Where its bytes are, if they are still to be read.
    pub(crate) unread: Option<UnreadBlock>,
    /// The number of lines of the source before the block, if they are counted.
    pub(crate) lines_before: u64,
    /// Whether its lines were written just before they were read.
    pub(crate) is_live: bool,
}

impl Job {
    /// Reads the bytes of the block, unless it has them. Returns whether it had to.
    pub(crate) fn read(&mut self) -> bool {
        let Some(unread) = self.unread.take() else { return false };
        if let Err(torn_at) = unread.read_into(&mut self.block) {
            self.source.note_torn(torn_at);
        }
        true
    }

    /// Returns all companions known so far. Earlier blocks may still add others.
    pub(crate) fn companions_so_far(&self) -> Vec<Arc<Format>> {
        match &self.late_companions {
            Some(late) => late.lock().companions(&self.format, &self.companions),
            None => self.companions.to_vec(),
        }
    }
}

/// A source that the parsers read themselves, one parser at a time: a core parses what it has
/// just read while that is still in its cache.
pub(crate) trait PullSource: Send {
    /// Reads the next blocks, in their order. Returns none at the end of the source, after its
    /// owner has been notified. `buffer` is a buffer of the parser, to read into.
    fn pull(&mut self, buffer: Option<Vec<u8>>) -> Vec<Job>;
}

/// A job with its number in the order of all blocks.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) number: u64,
    pub(crate) job: Job,
}

/// The next task of a worker.
pub(crate) enum Task {
    /// Parse this block, then [release](super::BlockQueue::release) its memory.
    Parse(Ticket),
    /// Pull the next blocks from this source, then
    /// [return it](super::BlockQueue::complete_pull).
    Pull(Box<dyn PullSource>),
    /// Append the oldest block that this worker has parsed: it is its turn.
    TakeTurn,
    /// Free what only the parsing of the next block needs: none has come for a while.
    Rest,
    /// Stop: no more blocks will be pushed.
    End,
}
