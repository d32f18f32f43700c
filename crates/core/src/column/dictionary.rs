//! The distinct values of one text field.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The id of a row without the field.
pub const ABSENT: u32 = 0;

/// The id of the remainder: values that came when the memory for them was spent.
pub const REMAINDER: u32 = 1;

/// The distinct values of one field, each with a dense id in the order of first
/// appearance. Ids 0 and 1 stand for [`ABSENT`] and [`REMAINDER`].
///
/// The hash is seeded at random, so that nobody can make a log that is slow to read; the
/// ids do not depend on it.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    state: RandomState,
    table: HashTable<Entry>,
    /// Where each value lies, from id 2 on.
    spans: Vec<Span>,
    /// The values' bytes. A chunk never grows beyond its capacity, so nothing is copied.
    chunks: Vec<Vec<u8>>,
    chunk_bytes: usize,
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

    /// The ids given out so far, [`ABSENT`] and [`REMAINDER`] included: every id is below
    /// this.
    pub fn ids(&self) -> usize {
        self.spans.len() + 2
    }

    /// The bytes of a value; `None` for the two ids that stand for none.
    pub fn value(&self, id: u32) -> Option<&[u8]> {
        let span = self.spans.get((id as usize).checked_sub(2)?)?;
        Some(self.bytes(*span))
    }

    /// The id of a value that was seen.
    #[inline]
    pub fn find(&self, value: &[u8]) -> Option<u32> {
        self.find_hashed(value, self.hash(value))
    }

    /// The id of a value, a new one if it was not seen before.
    #[inline]
    pub fn intern(&mut self, value: &[u8]) -> u32 {
        let hash = self.hash(value);
        match self.find_hashed(value, hash) {
            Some(id) => id,
            None => self.insert(value, hash),
        }
    }

    /// Memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.chunk_bytes + self.spans.len() * ENTRY_BYTES
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
        let id = self.ids() as u32;
        let span = self.store(value);
        self.spans.push(span);
        self.table.insert_unique(spread(hash), Entry { hash, id }, |entry| spread(entry.hash));
        id
    }

    fn store(&mut self, value: &[u8]) -> Span {
        let fits =
            self.chunks.last().is_some_and(|chunk| chunk.capacity() - chunk.len() >= value.len());
        if !fits {
            let size = self.chunk_bytes.clamp(Self::CHUNK_BYTES_MIN, Self::CHUNK_BYTES_MAX);
            let size = size.max(value.len());
            self.chunks.push(Vec::with_capacity(size));
            self.chunk_bytes += size;
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let start = chunk.len();
        chunk.extend_from_slice(value);
        Span { chunk: index as u32, start: start as u32, length: value.len() as u32 }
    }

    #[inline]
    fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        &self.chunks[span.chunk as usize][start..start + span.length as usize]
    }
}

/// The table takes its control byte from the top bits and its slot from the low ones.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::{ABSENT, Dictionary, REMAINDER};

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
