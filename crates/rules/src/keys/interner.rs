//! Numbers for texts.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::arrivals::{NO_KEY, ZoneLimit};
use crate::event::Texts;

/// Assigns each distinct text a number, from 0 in the order of first use.
///
/// Most texts are addresses. Those of up to 16 bytes are compared in their slot, because every
/// other place in memory takes longer to reach than all bytes there to compare.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    slots: HashTable<Slot>,
    hasher: FixedState,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// The number of a text, and how the text begins.
#[derive(Debug, Clone, Copy)]
struct Slot {
    number: u32,
    length: u32,
    /// The first bytes of the text, with zeros after its end.
    head: [u8; HEAD_BYTES],
}

/// The longest IPv4 address has 15 bytes.
const HEAD_BYTES: usize = 16;

impl Slot {
    #[inline]
    fn new(number: u32, text: &[u8]) -> Self {
        let mut head = [0; HEAD_BYTES];
        match text.first_chunk() {
            Some(first) => head = *first,
            None => head[..text.len()].copy_from_slice(text),
        }
        // Longer texts have the same length here; their bytes are compared.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Self { number, length, head }
    }

    /// Whether the other slot has the same text, as far as the slots tell.
    #[inline]
    fn begins_like(&self, other: &Self) -> bool {
        self.length == other.length && self.head == other.head
    }

    /// Whether the slot has the whole text.
    #[inline]
    fn is_whole(text: &[u8]) -> bool {
        text.len() <= HEAD_BYTES
    }
}

impl Interner {
    /// Returns the number of a text, after adding it if it is new; `None` if there are 2^32 - 2
    /// texts.
    pub(crate) fn number(&mut self, text: &[u8]) -> Option<u32> {
        let Self { slots, hasher, bytes, ends } = self;
        let hash = hasher.hash_one(text);
        let sought = Slot::new(0, text);
        let is_it = |slot: &Slot| {
            slot.begins_like(&sought)
                && (Slot::is_whole(text) || text_at(bytes, ends, slot.number) == text)
        };
        if let Some(slot) = slots.find(hash, is_it) {
            return Some(slot.number);
        }
        let number = u32::try_from(ends.len()).ok().filter(|number| *number < u32::MAX - 1)?;
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
        let hash_of = |slot: &Slot| hasher.hash_one(text_at(bytes, ends, slot.number));
        slots.insert_unique(hash, Slot { number, ..sought }, hash_of);
        Some(number)
    }

    /// Returns the text with a number that [`Self::number`] returned.
    pub(crate) fn text(&self, number: u32) -> &[u8] {
        text_at(&self.bytes, &self.ends, number)
    }

    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.allocation_size()
            + self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
    }
}

/// Writes the numbers of a request's keys in the zones of its limits to `keys`. A limit whose text
/// is empty or missing does not apply.
pub(crate) fn number_keys<L: ZoneLimit>(
    limits: &[L],
    mut texts: Texts<'_>,
    zones: &mut [Interner],
    keys: &mut Vec<u32>,
) {
    keys.clear();
    keys.extend(limits.iter().map(|limit| match texts.next() {
        None | Some(b"") => NO_KEY,
        Some(text) => zones[limit.zone()].number(text).unwrap_or(NO_KEY),
    }));
}

fn text_at<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::Interner;

    #[test]
    fn equal_texts_have_one_number() {
        let mut interner = Interner::default();
        for round in 0..2 {
            for number in 0..3_000u32 {
                let text = number.to_string();
                assert_eq!(interner.number(text.as_bytes()), Some(number), "round {round}");
                assert_eq!(interner.text(number), text.as_bytes());
            }
        }
        assert_eq!(interner.number(b""), Some(3_000));
        assert_eq!(interner.len(), 3_001);
    }

    #[test]
    fn texts_that_begin_alike_have_numbers_of_their_own() {
        let mut interner = Interner::default();
        let mut known: Vec<Vec<u8>> = Vec::new();
        for length in 0..40 {
            for last in [0, 1, b'7'] {
                // A zero at the end is not the end of a shorter text.
                let text = [vec![b'a'; length], vec![last]].concat();
                known.push(text);
            }
        }
        for round in 0..2 {
            for (text, number) in known.iter().zip(0..) {
                assert_eq!(interner.number(text), Some(number), "round {round}");
                assert_eq!(interner.text(number), text);
            }
        }
    }
}
