//! The distinct values of one text field.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::live_ids::IdBits;
use crate::column::{Codes, REMAINDER};

/// The distinct values of one field, each with a dense id in the order of first
/// appearance. Ids 0 and 1 stand for
/// [`ABSENT`](crate::ABSENT) and [`REMAINDER`].
///
/// The hash is seeded at random, so that a hostile log cannot cause collisions. The ids do not
/// depend on it.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    state: RandomState,
    table: HashTable<Entry>,
    /// Where each value lies, from id 2 on.
    spans: Vec<Span>,
    /// The values' bytes. A chunk never grows beyond its capacity, so nothing is copied.
    chunks: Vec<Chunk>,
    chunk_bytes: usize,
    /// Chunks before this one take no more values.
    first_open: usize,
    /// Ids whose values were evicted, free for new values; the lowest is the last.
    free: Vec<u32>,
    /// During a sweep: the ids whose values stay. See [`super::sweep`].
    live: Option<IdBits>,
    /// Ids that this sweep has evicted so far.
    freed: Vec<u32>,
}

#[derive(Debug, Clone, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Bytes of values that were not evicted.
    live_bytes: usize,
    /// Its values move to others.
    is_sparse: bool,
}

/// A slot of the hash table. The hash is compared before the bytes are fetched.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    id: u32,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    chunk: u32,
    start: u32,
    length: u32,
}

impl Span {
    /// The span of an id whose value was evicted.
    const FREE: Self = Self { chunk: u32::MAX, start: 0, length: 0 };

    fn is_free(self) -> bool {
        self.chunk == u32::MAX
    }
}

/// What an entry costs beside its bytes: table slot, its control byte, their spare room,
/// and the span.
const ENTRY_BYTES: usize = 2 * (size_of::<Entry>() + 1) + size_of::<Span>();

impl Dictionary {
    /// Chunks start small, for the many fields that have few values, and double up to this.
    const CHUNK_BYTES_MAX: usize = 1 << 20;
    const CHUNK_BYTES_MIN: usize = 1 << 10;

    /// An empty dictionary.
    pub fn new() -> Self {
        Self::default()
    }

    /// The ids given out so far, [`ABSENT`](crate::ABSENT) and [`REMAINDER`] included: every id is below
    /// this.
    pub fn ids(&self) -> usize {
        self.spans.len() + 2
    }

    /// The bytes of a value; `None` for the two ids that stand for none.
    pub fn value(&self, id: u32) -> Option<&[u8]> {
        let span = self.spans.get((id as usize).checked_sub(2)?)?;
        if span.length == 0 && !span.is_free() {
            return Some(&[]);
        }
        let bytes = &self.chunks.get(span.chunk as usize)?.bytes;
        bytes.get(span.start as usize..)?.get(..span.length as usize)
    }

    /// The id of a known value.
    #[inline]
    pub fn find(&self, value: &[u8]) -> Option<u32> {
        self.find_hashed(value, self.hash(value))
    }

    /// The same, without values that a sweep is about to evict.
    pub(crate) fn find_live(&self, value: &[u8]) -> Option<u32> {
        self.find(value).filter(|id| self.is_live(*id))
    }

    /// The id of a known value, which a sweep does not evict then.
    pub(super) fn revive(&mut self, value: &[u8]) -> Option<u32> {
        let id = self.find(value)?;
        self.keep_id(id);
        Some(id)
    }

    /// The id of a value; a new id if the value is not known.
    #[inline]
    pub fn intern(&mut self, value: &[u8]) -> u32 {
        match self.revive(value) {
            Some(id) => id,
            None => self.insert(value, self.hash(value)),
        }
    }

    /// Memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.chunk_bytes + self.spans.len() * ENTRY_BYTES
    }

    /// The sum of what its values have added to the memory, less what was freed.
    pub(super) fn charge_bytes(&self) -> usize {
        let bytes: usize = self.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        bytes + self.spans.len() * ENTRY_BYTES
    }

    /// Memory of the free ids, in bytes.
    pub(super) fn free_bytes(&self) -> usize {
        self.free.len() * ENTRY_BYTES
    }

    /// What a new value of `length` bytes adds to the memory.
    pub fn cost_bytes(length: usize) -> usize {
        length + ENTRY_BYTES
    }

    #[inline]
    fn hash(&self, value: &[u8]) -> u32 {
        (self.state.hash_one(value) >> 32) as u32
    }

    #[inline]
    fn find_hashed(&self, value: &[u8], hash: u32) -> Option<u32> {
        let is_it =
            |entry: &Entry| entry.hash == hash && self.value(entry.id).is_some_and(|v| v == value);
        self.table.find(spread(hash), is_it).map(|entry| entry.id)
    }

    #[cold]
    fn insert(&mut self, value: &[u8], hash: u32) -> u32 {
        let span = self.store(value);
        let id = match self.free.pop() {
            Some(id) => {
                self.spans[id as usize - 2] = span;
                self.keep_id(id);
                id
            }
            None => {
                self.spans.push(span);
                self.ids() as u32 - 1
            }
        };
        self.table.insert_unique(spread(hash), Entry { hash, id }, |entry| spread(entry.hash));
        id
    }

    fn store(&mut self, value: &[u8]) -> Span {
        let last = self.chunks.get(self.first_open..).and_then(<[_]>::last);
        let fits =
            last.is_some_and(|chunk| chunk.bytes.capacity() - chunk.bytes.len() >= value.len());
        if !fits {
            let size = self.chunk_bytes.clamp(Self::CHUNK_BYTES_MIN, Self::CHUNK_BYTES_MAX);
            let size = size.max(value.len());
            self.chunks.push(Chunk { bytes: Vec::with_capacity(size), ..Chunk::default() });
            self.chunk_bytes += size;
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let start = chunk.bytes.len();
        chunk.bytes.extend_from_slice(value);
        chunk.live_bytes += value.len();
        Span { chunk: index as u32, start: start as u32, length: value.len() as u32 }
    }

    fn is_live(&self, id: u32) -> bool {
        self.live.as_ref().is_none_or(|live| live.contains(id as usize))
    }

    /// Protects the value of an id from the sweep.
    pub(super) fn keep_id(&mut self, id: u32) {
        if let Some(live) = &mut self.live {
            live.insert(id as usize);
        }
    }

    /// As [`Self::keep_id`], for all of a column.
    pub(super) fn keep_codes(&mut self, codes: &Codes) {
        if let Some(live) = &mut self.live {
            live.mark(codes);
        }
    }

    /// Whether some rows may have the remainder.
    pub(super) fn has_remainder(&self) -> bool {
        self.is_live(REMAINDER)
    }

    /// Begins to evict all values that are not live.
    pub(super) fn begin_sweep(&mut self, live: IdBits) {
        self.live = Some(live);
    }

    /// Evicts the values of these ids that are not live.
    pub(super) fn sweep(&mut self, ids: Range<usize>) {
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
    pub(super) fn close_sparse(&mut self) {
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

    /// Moves the values of these ids out of chunks that are closed, which are freed as they
    /// become empty.
    pub(super) fn evacuate(&mut self, ids: Range<usize>) {
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

    /// Ends the sweep: the evicted ids are free for other values.
    pub(super) fn end_sweep(&mut self) {
        self.live = None;
        self.free.append(&mut self.freed);
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        // The free ids at the end are dropped; of the others the lowest are assigned first.
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

/// The table takes its control byte from the top bits and its slot from the low ones.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::{Dictionary, REMAINDER};
    use crate::column::ABSENT;

    #[test]
    fn ids_are_dense_and_stable() {
        let mut dictionary = Dictionary::new();
        let values: Vec<Vec<u8>> = (0..20_000u32)
            .map(|n| format!("value {}", n % 10_000).into_bytes())
            .chain([vec![], vec![0], vec![b'x'; 3_000_000], vec![0xFF, b'\n']])
            .collect();
        let ids: Vec<u32> = values.iter().map(|value| dictionary.intern(value)).collect();
        assert_eq!(dictionary.ids(), 10_000 + 4 + 2);
        for (value, id) in values.iter().zip(&ids) {
            assert_eq!(dictionary.value(*id), Some(&value[..]));
            assert_eq!(dictionary.find(value), Some(*id));
        }
        assert_eq!(ids[0], 2);
        assert_eq!(ids[10_001], ids[1]);
        assert_eq!(dictionary.value(ABSENT), None);
        assert_eq!(dictionary.value(REMAINDER), None);
        assert_eq!(dictionary.value(u32::MAX), None);
        assert_eq!(dictionary.find(b"never seen"), None);
    }
}
