//! Numbers for keys that are added and removed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashTable;

/// The memory of a text besides its bytes: that of the allocator, rounded up.
const TEXT_OVERHEAD_BYTES: usize = 16;

/// Assigns a number to each key, and reuses the numbers of removed keys, so that the state of keys
/// can be stored in arrays.
///
/// The hash seed is random, because clients choose the keys.
///
/// # Memory
///
/// About 70 bytes and the text for each key.
#[derive(Debug, Default)]
pub(crate) struct KeySlots {
    table: HashTable<Slot>,
    hasher: RandomState,
    /// The texts by number; `None` if the number is free.
    texts: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    /// The bytes of all texts.
    text_bytes: usize,
}

/// A key in the table. The hash is stored, so that growing the table reads no text.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u64,
    number: u32,
}

impl KeySlots {
    /// Returns the number of a key; `None` if it is not in the table.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        let is_key = |slot: &Slot| slot.hash == hash && self.text(slot.number) == key;
        self.table.find(hash, is_key).map(|slot| slot.number)
    }

    /// Inserts a key that is not in the table, and returns its number.
    pub(crate) fn insert(&mut self, key: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(key);
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.texts.push(None);
                (self.texts.len() - 1) as u32
            }
        };
        self.texts[number as usize] = Some(key.into());
        self.text_bytes += key.len();
        self.table.insert_unique(hash, Slot { hash, number }, |slot| slot.hash);
        number
    }

    /// Removes a key, if it is in the table, and returns the length of its text.
    pub(crate) fn remove(&mut self, number: u32) -> usize {
        let text = self.texts.get_mut(number as usize).and_then(Option::take);
        let Some(text) = text else { return 0 };
        let hash = self.hasher.hash_one(&text[..]);
        if let Ok(entry) = self.table.find_entry(hash, |slot| slot.number == number) {
            entry.remove();
        }
        self.free.push(number);
        self.text_bytes -= text.len();
        text.len()
    }

    /// Returns the text of a key in the table.
    pub(crate) fn text(&self, number: u32) -> &[u8] {
        self.texts.get(number as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The bytes of all texts.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.table.allocation_size()
            + self.texts.capacity() * size_of::<Option<Box<[u8]>>>()
            + self.free.capacity() * size_of::<u32>()
            + self.text_bytes
            + self.len() * TEXT_OVERHEAD_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::KeySlots;

    proptest! {
        #[test]
        fn keys_have_their_numbers_until_they_are_removed(
            steps in prop::collection::vec(("[ab]{0,3}", any::<bool>()), 0..200),
        ) {
            let (mut slots, mut naive) = (KeySlots::default(), BTreeMap::new());
            for (key, is_insert) in steps {
                prop_assert_eq!(slots.find(key.as_bytes()), naive.get(&key).copied());
                match (naive.get(&key).copied(), is_insert) {
                    (None, true) => {
                        let number = slots.insert(key.as_bytes());
                        prop_assert!(naive.values().all(|other| *other != number));
                        prop_assert_eq!(slots.text(number), key.as_bytes());
                        naive.insert(key, number);
                    }
                    (Some(number), false) => {
                        prop_assert_eq!(slots.remove(number), key.len());
                        prop_assert_eq!(slots.remove(number), 0);
                        naive.remove(&key);
                    }
                    _ => {}
                }
                prop_assert_eq!(slots.len(), naive.len());
                prop_assert_eq!(slots.text_bytes, naive.keys().map(String::len).sum::<usize>());
            }
        }
    }

    #[test]
    fn keys_that_come_and_go_take_no_more_memory() {
        let mut slots = KeySlots::default();
        let mut memory_bytes = Vec::new();
        for number in 0..1_000_000u32 {
            slots.insert(format!("{number:08}").as_bytes());
            if let Some(old) = number.checked_sub(1_000) {
                let old = slots.find(format!("{old:08}").as_bytes()).expect("it is held");
                slots.remove(old);
            }
            if number % 100_000 == 99_999 {
                memory_bytes.push(slots.memory_bytes());
            }
        }
        assert_eq!(slots.len(), 1_000);
        assert!(memory_bytes.iter().all(|bytes| *bytes == memory_bytes[0]), "{memory_bytes:?}");
    }
}
