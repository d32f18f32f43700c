//! The distinct values of one text field.
//!
//! Three parts hold a value: a slot in a hash table (hash and id), a span (where its bytes are),
//! and the bytes themselves, in chunks of up to 1 MiB that are never moved while they are filled.
//! So adding a value copies it once, and finding one compares 32 bits of hash before it touches the
//! bytes.
//!
//! Ids are dense: the array of spans is indexed by them, and so are the counts of
//! [`crate::TopList`]. Eviction leaves gaps, which the next new values fill, the lowest first.

mod eviction;
mod restore;

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::id_bits::IdBits;
use super::prefetch::{CACHE_LINE_BYTES, prefetch};

pub use restore::StoredValueError;

/// The distinct values of one field. Each has a dense id, in the order of first appearance. Ids 0
/// and 1 are [`ABSENT`](crate::ABSENT) and [`REMAINDER`](crate::REMAINDER).
///
/// The hash is seeded at random, so that a hostile log cannot cause collisions. The ids do not
/// depend on the hash.
///
/// # Examples
///
/// ```
/// use weir_core::{ABSENT, Dictionary};
///
/// let mut dictionary = Dictionary::new();
/// let id = dictionary.intern(b"/index.html");
/// assert_eq!(id, 2);
/// assert_eq!(dictionary.intern(b"/index.html"), id);
/// assert_eq!(dictionary.value(id), Some(&b"/index.html"[..]));
/// assert_eq!((dictionary.find(b"/a"), dictionary.value(ABSENT)), (None, None));
/// assert_eq!(dictionary.ids(), 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    state: RandomState,
    table: HashTable<Entry>,
    /// The location of each value's bytes, from id 2 on.
    spans: Vec<Span>,
    /// The values' bytes. A chunk never grows beyond its capacity, so values are not copied.
    chunks: Vec<Chunk>,
    chunk_bytes: usize,
    /// Chunks before this one accept no more values.
    first_open: usize,
    /// Ids whose values were evicted, free for new values. The lowest id is the last element.
    free: Vec<u32>,
    /// During a sweep: the ids whose values remain. See [`crate::values::sweep`].
    live: Option<IdBits>,
    /// Ids that the current sweep has evicted so far.
    freed: Vec<u32>,
    /// See [`Self::uncounted_max`]; only numbers above 0.
    uncounted: BTreeMap<u32, u64>,
}

/// A part of the memory for values.
#[derive(Debug, Clone, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Bytes of the values that were not evicted.
    live_bytes: usize,
    /// Whether the chunk is closed and its values are being moved to other chunks.
    is_sparse: bool,
}

/// A slot of the hash table. The hash is compared before the bytes are fetched.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    id: u32,
}

/// Where the bytes of a value are.
#[derive(Debug, Clone, Copy)]
struct Span {
    chunk: u32,
    start: u32,
    length: u32,
}

impl Span {
    /// The span of an id without a value, because it was evicted.
    const FREE: Self = Self { chunk: u32::MAX, start: 0, length: 0 };

    fn is_free(self) -> bool {
        self.chunk == u32::MAX
    }
}

/// The cost of an entry in addition to its bytes: the table slot, its control byte, the unused part
/// of the table, and the span.
const ENTRY_BYTES: usize = 2 * (size_of::<Entry>() + 1) + size_of::<Span>();

/// The memory of an entry of `uncounted`, in a tree whose nodes may be half full.
const UNCOUNTED_BYTES: usize = 3 * size_of::<(u32, u64)>();

/// The most cache lines of a value that are prefetched. The processor itself fetches those after
/// them.
const PREFETCHED_LINES_MAX: usize = 3;

impl Dictionary {
    /// Chunks start small, for the many fields that have few values, and double up to this.
    const CHUNK_BYTES_MAX: usize = 1 << 20;
    const CHUNK_BYTES_MIN: usize = 1 << 10;

    /// Returns an empty dictionary.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of ids assigned so far, including [`ABSENT`](crate::ABSENT) and
    /// [`REMAINDER`](crate::REMAINDER). Every id is less than this.
    ///
    /// Free ids count too, so an array of this length can be indexed by every id of every segment.
    pub fn ids(&self) -> usize {
        self.spans.len() + 2
    }

    /// The number of ids of values, also of those that are free.
    pub(in crate::values) fn values(&self) -> usize {
        self.spans.len()
    }

    /// Returns the lowest id without a value that a new value may get; [`Self::ids`] if there is
    /// none. Between two sweeps it only grows.
    pub(crate) fn first_free(&self) -> usize {
        self.free.last().map_or(self.ids(), |id| *id as usize)
    }

    /// Returns the bytes of a value. `None` for [`ABSENT`](crate::ABSENT), [`REMAINDER`](crate::REMAINDER) and free
    /// ids.
    pub fn value(&self, id: u32) -> Option<&[u8]> {
        let span = self.spans.get((id as usize).checked_sub(2)?)?;
        if span.length == 0 && !span.is_free() {
            return Some(&[]);
        }
        let bytes = &self.chunks.get(span.chunk as usize)?.bytes;
        bytes.get(span.start as usize..)?.get(..span.length as usize)
    }

    /// Prefetches what [`Self::value`] reads for an id. A reader of many ids calls it for some of
    /// them before it takes their values, and so waits for memory once.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        prefetch(&self.spans, (id as usize).wrapping_sub(2));
    }

    /// Returns what [`Self::value`] does, and prefetches the first bytes.
    #[inline]
    pub fn prefetched_value(&self, id: u32) -> Option<&[u8]> {
        let value = self.value(id)?;
        for line in 0..value.len().div_ceil(CACHE_LINE_BYTES).min(PREFETCHED_LINES_MAX) {
            prefetch(value, line * CACHE_LINE_BYTES);
        }
        Some(value)
    }

    /// Returns the id of a known value.
    ///
    /// `None` if the value is not known, which does not mean that no record has it: see
    /// [`REMAINDER`](crate::REMAINDER).
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Dictionary;
    ///
    /// let mut dictionary = Dictionary::new();
    /// let id = dictionary.intern(b"GET");
    /// assert_eq!(dictionary.find(b"GET"), Some(id));
    /// assert_eq!(dictionary.find(b"get"), None);
    /// ```
    #[inline]
    pub fn find(&self, value: &[u8]) -> Option<u32> {
        self.find_hashed(value, self.hash(value))
    }

    /// Returns the id of a known value, except a value that a sweep is about to evict.
    pub(crate) fn find_live(&self, value: &[u8]) -> Option<u32> {
        self.find(value).filter(|id| self.is_live(*id))
    }

    /// Returns the id of a known value, and protects the value from a sweep.
    pub(in crate::values) fn revive(&mut self, value: &[u8]) -> Option<u32> {
        let id = self.find(value)?;
        self.keep_id(id);
        Some(id)
    }

    /// Returns the id of a value, and assigns a new id to an unknown value.
    ///
    /// Amortised constant time in the number of values. No limit is applied: that is the task of
    /// [`crate::Values`].
    #[inline]
    pub fn intern(&mut self, value: &[u8]) -> u32 {
        match self.revive(value) {
            Some(id) => id,
            None => self.insert(value, self.hash(value)),
        }
    }

    /// Returns the largest number of records that have the value of this id but the id
    /// [`REMAINDER`](crate::REMAINDER): they came when the memory was used up, before the value got an id. 0 if the
    /// count of the id is exact.
    pub fn uncounted_max(&self, id: u32) -> u64 {
        self.uncounted.get(&id).copied().unwrap_or(0)
    }

    /// Returns whether all records with this value have its id.
    pub(crate) fn is_complete(&self, value: &[u8]) -> bool {
        self.find(value).is_some_and(|id| self.uncounted_max(id) == 0)
    }

    /// Sets [`Self::uncounted_max`]. Returns the memory that this takes, in bytes.
    pub(in crate::values) fn set_uncounted_max(&mut self, id: u32, records: u64) -> usize {
        if records == 0 {
            return 0;
        }
        self.uncounted.insert(id, records);
        UNCOUNTED_BYTES
    }

    /// Declares the counts of all ids exact.
    pub(in crate::values) fn clear_uncounted(&mut self) {
        self.uncounted.clear();
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.chunk_bytes + self.spans.len() * ENTRY_BYTES + self.uncounted.len() * UNCOUNTED_BYTES
    }

    /// Returns the memory charged for the values, less the memory freed.
    pub(in crate::values) fn charge_bytes(&self) -> usize {
        let bytes: usize = self.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        bytes + self.spans.len() * ENTRY_BYTES + self.uncounted.len() * UNCOUNTED_BYTES
    }

    /// Returns the memory of the free ids, in bytes.
    pub(in crate::values) fn free_bytes(&self) -> usize {
        self.free.len() * ENTRY_BYTES
    }

    /// Returns the memory that a new value of `length` bytes needs.
    ///
    /// A fixed estimate, on the safe side: the table is charged as if it were half full.
    pub fn cost_bytes(length: usize) -> usize {
        length + ENTRY_BYTES
    }

    /// Returns the memory that a new value of `length` bytes needs if some of its records are not
    /// counted for it.
    pub(in crate::values) fn late_cost_bytes(length: usize) -> usize {
        Self::cost_bytes(length) + UNCOUNTED_BYTES
    }

    /// Returns a number that two values have in common only by a rare chance.
    #[inline]
    pub(in crate::values) fn fingerprint(&self, value: &[u8]) -> u64 {
        self.state.hash_one(value)
    }

    #[inline]
    fn hash(&self, value: &[u8]) -> u32 {
        (self.fingerprint(value) >> 32) as u32
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
                if self.spans.len() == self.spans.capacity() {
                    // Vec would double the room, and a million unused spans are 12 MB.
                    self.spans.reserve_exact(self.spans.len() / 8 + 16);
                }
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
}

/// Spreads a hash over 64 bits: the table takes its control byte from the top bits, its slot from
/// the low bits.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::Dictionary;
    use crate::column::{ABSENT, REMAINDER};

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
