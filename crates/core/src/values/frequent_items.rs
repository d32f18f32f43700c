//! A summary of the most frequent items of a stream.

use hashbrown::HashTable;

/// The most frequent items of a stream, in memory that does not grow with it.
///
/// An item is a 64-bit fingerprint, and comes with a weight: the number of records that have it.
/// The summary keeps counters for some items. When all counters are in use, it subtracts their
/// median from each of them and drops those that reach zero, so an item's weight lies between its
/// counter and its counter plus the sum of what was subtracted.
///
/// With room for `m` counters, that sum is at most `2 n / m` after items of weight `n`: each
/// subtraction of `d` takes `d` from at least half of the counters. Two items with the same
/// fingerprint share a counter, which keeps the upper bounds true.
///
/// Results do not depend on the order within the table, so equal streams have equal summaries.
/// Source: Anderson, Bevin, Lang, Liberty, Rhodes and Thaler, *A High-Performance Algorithm for
/// Identifying Frequent Items in Data Streams* (IMC 2017), after Misra and Gries (1982).
///
/// ```
/// use weir_core::FrequentItems;
///
/// let mut items = FrequentItems::with_memory(1 << 10).expect("room for some counters");
/// for rare in 0..10_000 {
///     items.add(rare, 1);
///     items.add(77_777, 2);
/// }
/// let most = items.upper_bound(77_777);
/// assert!((20_000..=20_000 + items.error_max()).contains(&most));
/// assert!(items.upper_bound(5) <= items.error_max() + 1);
/// assert!(items.error_max() <= 2 * 30_000 / items.capacity() as u64);
/// ```
#[derive(Debug, Clone)]
pub struct FrequentItems {
    /// At most `capacity` counters, none of which is 0.
    counters: HashTable<Counter>,
    capacity: usize,
    /// The sum of what was subtracted.
    subtracted: u64,
}

#[derive(Debug, Clone, Copy)]
struct Counter {
    item: u64,
    weight: u64,
}

/// A slot of the table and its control byte.
const SLOT_BYTES: usize = size_of::<Counter>() + 1;

/// The number of slots; with more, errors are too small to matter.
const SLOTS_MAX: usize = 1 << 14;
const SLOTS_MIN: usize = 1 << 4;

impl FrequentItems {
    /// Returns an empty summary that takes at most `bytes`, and at most 272 KiB. `None` if they
    /// are too few for a useful one.
    pub fn with_memory(bytes: usize) -> Option<Self> {
        let slots = (bytes / SLOT_BYTES).checked_ilog2().map_or(0, |bits| 1 << bits);
        let slots = slots.min(SLOTS_MAX);
        // The table grows when more than seven eighths of its slots are in use.
        let capacity = slots / 8 * 7;
        let counters = HashTable::with_capacity(capacity);
        (slots >= SLOTS_MIN).then_some(Self { counters, capacity, subtracted: 0 })
    }

    /// The same summary, if each item may have this weight already.
    pub(super) fn with_error(self, subtracted: u64) -> Self {
        Self { subtracted, ..self }
    }

    /// Returns the largest number of counters.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.capacity / 7 * 8 * SLOT_BYTES
    }

    /// Returns the largest weight of an item without a counter.
    pub fn error_max(&self) -> u64 {
        self.subtracted
    }

    /// Returns the largest weight that the item can have.
    pub fn upper_bound(&self, item: u64) -> u64 {
        let counter = self.counters.find(item, |counter| counter.item == item);
        counter.map_or(0, |counter| counter.weight).saturating_add(self.subtracted)
    }

    /// Returns the largest weight that any item can have.
    pub fn upper_bound_of_all(&self) -> u64 {
        let highest = self.counters.iter().map(|counter| counter.weight).max();
        highest.unwrap_or(0).saturating_add(self.subtracted)
    }

    /// Adds weight to an item.
    pub fn add(&mut self, item: u64, weight: u64) {
        if let Some(counter) = self.counters.find_mut(item, |counter| counter.item == item) {
            counter.weight = counter.weight.saturating_add(weight);
            return;
        }
        let mut weight = weight;
        if self.counters.len() >= self.capacity {
            let median = self.median();
            self.subtract(median);
            // The new item is treated like an item whose counter was subtracted from.
            weight = weight.saturating_sub(median);
        }
        if weight == 0 {
            return;
        }
        if self.counters.len() == self.counters.capacity() {
            // Removed counters have used up the table. It must not grow.
            self.subtract(0);
        }
        self.counters.insert_unique(item, Counter { item, weight }, |counter| counter.item);
    }

    /// Drops the counter of an item, if it has one.
    pub fn remove(&mut self, item: u64) {
        if let Ok(entry) = self.counters.find_entry(item, |counter| counter.item == item) {
            entry.remove();
        }
    }

    /// Returns the median of all counters, the lower one of two.
    fn median(&self) -> u64 {
        let mut weights: Vec<u64> = self.counters.iter().map(|counter| counter.weight).collect();
        let middle = weights.len().saturating_sub(1) / 2;
        if weights.is_empty() { 0 } else { *weights.select_nth_unstable(middle).1 }
    }

    /// Subtracts a weight from all counters, and moves the rest to a new table.
    fn subtract(&mut self, weight: u64) {
        self.subtracted = self.subtracted.saturating_add(weight);
        let empty = HashTable::with_capacity(self.capacity);
        for mut counter in std::mem::replace(&mut self.counters, empty) {
            counter.weight = counter.weight.saturating_sub(weight);
            if counter.weight > 0 {
                self.counters.insert_unique(counter.item, counter, |counter| counter.item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::FrequentItems;

    /// Spreads small numbers as fingerprints are.
    fn fingerprint(number: u32) -> u64 {
        u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bounds_hold_for_every_item(
            stream in prop::collection::vec((0u32..200, 1u64..50), 0..2_000),
            bytes in 300usize..2_000,
        ) {
            let mut items = FrequentItems::with_memory(bytes).expect("room for 14 counters");
            let mut exact: BTreeMap<u32, u64> = BTreeMap::new();
            let mut total = 0;
            for (number, weight) in stream {
                items.add(fingerprint(number), weight);
                *exact.entry(number).or_default() += weight;
                total += weight;
                prop_assert!(items.error_max() <= 2 * total / items.capacity() as u64);
            }
            for number in 0..200 {
                let weight = exact.get(&number).copied().unwrap_or(0);
                let most = items.upper_bound(fingerprint(number));
                prop_assert!((weight..=weight + items.error_max()).contains(&most));
                prop_assert!(most <= items.upper_bound_of_all());
            }
            prop_assert!(items.memory_bytes() <= bytes && items.counters.len() <= items.capacity);
        }
    }

    #[test]
    fn a_removed_item_starts_again() {
        let mut items = FrequentItems::with_memory(1_000).expect("room for some counters");
        items.add(7, 10);
        items.remove(7);
        items.remove(8);
        assert_eq!((items.upper_bound(7), items.upper_bound_of_all()), (0, 0));
        assert!(FrequentItems::with_memory(200).is_none(), "too few for a useful summary");
    }
}
