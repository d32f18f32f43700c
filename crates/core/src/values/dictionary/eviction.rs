//! How values leave a dictionary, and their memory is freed: the steps of a sweep.

use std::ops::Range;

use super::{Chunk, Dictionary, Entry, Span, spread};
use crate::column::{Codes, REMAINDER};
use crate::values::id_bits::IdBits;

impl Dictionary {
    pub(super) fn is_live(&self, id: u32) -> bool {
        self.live.as_ref().is_none_or(|live| live.contains(id as usize))
    }

    /// Protects the value of an id from the sweep.
    pub(in crate::values) fn keep_id(&mut self, id: u32) {
        if let Some(live) = &mut self.live {
            live.insert(id as usize);
        }
    }

    /// Protects all values of a column from the sweep.
    pub(in crate::values) fn keep_codes(&mut self, codes: &Codes) {
        if let Some(live) = &mut self.live {
            live.mark(codes);
        }
    }

    /// Returns whether rows may have the remainder.
    pub(in crate::values) fn has_remainder(&self) -> bool {
        self.is_live(REMAINDER)
    }

    /// Begins to evict all values that are not live.
    pub(in crate::values) fn begin_sweep(&mut self, live: IdBits) {
        self.live = Some(live);
    }

    /// Evicts those of these ids' values that are not live.
    pub(in crate::values) fn sweep(&mut self, ids: Range<usize>) {
        for id in ids.start.max(2)..ids.end.min(self.ids()) {
            let span = self.spans[id - 2];
            if span.is_free() || self.is_live(id as u32) {
                continue;
            }
            let hash = self.hash(self.value(id as u32).unwrap_or_default());
            let is_it = |entry: &Entry| entry.id == id as u32;
            if let Ok(entry) = self.table.find_entry(spread(hash), is_it) {
                entry.remove();
            }
            self.spans[id - 2] = Span::FREE;
            self.freed.push(id as u32);
            self.release(span);
        }
    }

    /// Closes the chunks of which more than a quarter was evicted.
    pub(in crate::values) fn close_sparse(&mut self) {
        let is_sparse = |chunk: &Chunk| chunk.live_bytes < chunk.bytes.len() / 4 * 3;
        if self.chunks.last().is_some_and(is_sparse) {
            self.first_open = self.chunks.len();
        }
        for chunk in &mut self.chunks {
            chunk.is_sparse = is_sparse(chunk);
            if chunk.is_sparse && chunk.live_bytes == 0 {
                self.chunk_bytes -= chunk.bytes.capacity();
                *chunk = Chunk::default();
            }
        }
    }

    /// Moves the values of these ids out of closed chunks. A closed chunk is freed when it is
    /// empty.
    pub(in crate::values) fn evacuate(&mut self, ids: Range<usize>) {
        for id in ids.start.max(2)..ids.end.min(self.ids()) {
            let span = self.spans[id - 2];
            if self.chunks.get(span.chunk as usize).is_none_or(|chunk| !chunk.is_sparse) {
                continue;
            }
            let value = self.value(id as u32).unwrap_or_default().to_vec();
            self.spans[id - 2] = self.store(&value);
            self.release(span);
        }
    }

    /// Ends the sweep: the evicted ids become free for other values.
    pub(in crate::values) fn end_sweep(&mut self) {
        self.live = None;
        for id in &self.freed {
            self.uncounted.remove(id);
        }
        self.free.append(&mut self.freed);
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        // The free ids at the end are dropped. Of the others, the lowest are assigned first.
        let last = self.spans.iter().rposition(|span| !span.is_free()).map_or(0, |last| last + 1);
        self.spans.truncate(last);
        let unneeded = self.free.partition_point(|id| *id as usize >= last + 2);
        self.free.drain(..unneeded);
        // Empty chunks at the end are dropped.
        while self.chunks.last().is_some_and(|chunk| chunk.bytes.capacity() == 0) {
            self.chunks.pop();
        }
        self.first_open = self.first_open.min(self.chunks.len());
    }

    /// Subtracts a value from its chunk, and frees the chunk if it is closed and empty.
    fn release(&mut self, span: Span) {
        let Some(chunk) = self.chunks.get_mut(span.chunk as usize) else { return };
        chunk.live_bytes -= span.length as usize;
        if chunk.live_bytes == 0 && chunk.is_sparse {
            self.chunk_bytes -= chunk.bytes.capacity();
            *chunk = Chunk::default();
        }
    }
}
