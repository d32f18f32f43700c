//! Numbers for texts.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::arrivals::{NO_KEY, ZoneLimit};
use crate::event::Texts;

/// Assigns each distinct text a number, from 0 in the order of first use.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    numbers: HashTable<u32>,
    hasher: FixedState,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Interner {
    /// Returns the number of a text, after adding it if it is new; `None` if there are 2^32 - 2
    /// texts.
    pub(crate) fn number(&mut self, text: &[u8]) -> Option<u32> {
        let Self { numbers, hasher, bytes, ends } = self;
        let hash = hasher.hash_one(text);
        let text_of = |number: u32| text_at(bytes, ends, number);
        if let Some(number) = numbers.find(hash, |number| text_of(*number) == text) {
            return Some(*number);
        }
        let number = u32::try_from(ends.len()).ok().filter(|number| *number < u32::MAX - 1)?;
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
        numbers
            .insert_unique(hash, number, |number| hasher.hash_one(text_at(bytes, ends, *number)));
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
        self.numbers.allocation_size()
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
}
