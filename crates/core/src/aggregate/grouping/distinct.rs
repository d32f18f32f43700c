//! The distinct values of each group: ids of a column, or visitors with their half hours.
//!
//! Entries of a group and a value are sorted, and those of the same place joined. If there are more
//! than fit, only the values whose hash begins with a zero bit are kept, then those that begin with
//! two, and so on. The kept values are a sample that does not depend on order or on how often a value
//! occurs, so a sum over the values is estimated as that over the kept ones, times two for each bit.

/// The memory of the entries that are sorted at once, in bytes.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// The first id that is a value: neither absent nor one of many in the remainder.
const FIRST_VALUE: u32 = super::FIRST_ID;

/// What is known of a value in a group.
pub(super) trait Entry: Copy {
    /// Entries of the same place are joined. Places are in the order of their groups.
    type Place: Ord;

    fn place(&self) -> Self::Place;
    fn group(&self) -> u32;
    fn set_group(&mut self, group: u32);
    /// A number that is computed from the value alone, and distributed evenly.
    fn hash(&self) -> u64;
    /// Adds what another entry of the same place knows.
    fn join(&mut self, other: &Self);
}

/// An id in a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupedId(u64);

impl GroupedId {
    /// The entry of an id; `None` if the id is not a value.
    #[inline]
    pub(super) fn new(group: u32, id: u32) -> Option<Self> {
        (id >= FIRST_VALUE).then(|| Self(u64::from(group) << 32 | u64::from(id)))
    }
}

impl Entry for GroupedId {
    type Place = u64;

    fn place(&self) -> u64 {
        self.0
    }

    fn group(&self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn set_group(&mut self, group: u32) {
        self.0 = u64::from(group) << 32 | u64::from(self.0 as u32);
    }

    fn hash(&self) -> u64 {
        // The multiplier of SplitMix64. The highest bits of the product depend on all bits of the id.
        let mut hash = u64::from(self.0 as u32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 29;
        hash.wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    fn join(&mut self, _: &Self) {}
}

#[derive(Debug, Clone)]
pub(super) struct DistinctEntries<E> {
    /// In no order, and repeated.
    waiting: Vec<E>,
    /// In the order of their places, each once.
    sorted: Vec<E>,
    entries_max: usize,
    /// The number of bits that are zero in the hashes of all kept values.
    level: u32,
}

impl<E: Entry> DistinctEntries<E> {
    pub(super) fn new(entries_max: usize) -> Self {
        Self { waiting: Vec::new(), sorted: Vec::new(), entries_max: entries_max.max(1), level: 0 }
    }

    /// Adds the entries of rows.
    pub(super) fn add(&mut self, entries: impl Iterator<Item = E>) {
        let level = self.level;
        self.waiting.extend(entries.filter(|entry| is_kept(entry, level)));
        if self.waiting.len() > WAITING_BYTES_MAX / size_of::<E>() {
            self.arrange();
        }
    }

    /// Returns whether entries wait to be sorted.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sorts what was added.
    pub(super) fn arrange(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable_by_key(E::place);
        waiting.dedup_by(|next, kept| {
            let is_same = next.place() == kept.place();
            if is_same {
                kept.join(next);
            }
            is_same
        });
        self.sorted = union(&self.sorted, &waiting);
        while self.sorted.len() > self.entries_max && self.level < u64::BITS {
            self.level += 1;
            let level = self.level;
            self.sorted.retain(|entry| is_kept(entry, level));
        }
    }

    /// Adds the entries of other rows.
    pub(super) fn merge(&mut self, other: &Self, new_number: impl Fn(u32) -> u32) {
        if other.level > self.level {
            self.level = other.level;
            let level = self.level;
            self.sorted.retain(|entry| is_kept(entry, level));
            self.waiting.retain(|entry| is_kept(entry, level));
        }
        for entry in other.sorted.iter().chain(&other.waiting) {
            if is_kept(entry, self.level) {
                let mut entry = *entry;
                entry.set_group(new_number(entry.group()));
                self.waiting.push(entry);
            }
        }
        self.arrange();
    }

    /// Returns the entries in the order of their places, each once, and the level: one value in
    /// 2^level is kept.
    pub(super) fn sample(&self) -> (&[E], u32) {
        debug_assert!(!self.waits(), "entries are arranged before they are counted");
        (&self.sorted, self.level)
    }

    /// The number of values of each group, by group.
    pub(super) fn counts(&self) -> Vec<u64> {
        let (entries, level) = self.sample();
        let groups = entries.last().map_or(0, |entry| entry.group() as usize + 1);
        let mut counts = vec![0u64; groups];
        entries.iter().for_each(|entry| counts[entry.group() as usize] += 1);
        counts.iter_mut().for_each(|count| *count <<= level.min(u64::BITS - 1));
        counts
    }

    pub(super) fn is_estimated(&self) -> bool {
        self.level > 0
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.waiting.capacity() + self.sorted.capacity()) * size_of::<E>()
    }
}

/// Returns whether an entry is of a value that is kept.
#[inline]
fn is_kept<E: Entry>(entry: &E, level: u32) -> bool {
    level == 0 || entry.hash().leading_zeros() >= level
}

/// Returns what is in either list, in order. Both are in order and without repetitions.
fn union<E: Entry>(one: &[E], other: &[E]) -> Vec<E> {
    let mut both = Vec::with_capacity(one.len() + other.len());
    let (mut own, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (own.peek().copied(), others.peek().copied()) {
        let (own_place, other_place) = (a.place(), b.place());
        let mut first = if own_place <= other_place { *a } else { *b };
        if own_place == other_place {
            first.join(b);
        }
        both.push(first);
        if own_place <= other_place {
            own.next();
        }
        if other_place <= own_place {
            others.next();
        }
    }
    both.extend(own);
    both.extend(others);
    both
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{DistinctEntries, GroupedId};

    proptest! {
        #[test]
        fn counts_are_those_of_sets(
            rows in prop::collection::vec((0u32..4, 0u32..40), 0..300),
            cut in 0usize..300,
        ) {
            let mut parts = [DistinctEntries::new(1_000), DistinctEntries::new(1_000)];
            for (at, (group, id)) in rows.iter().enumerate() {
                parts[usize::from(at < cut)].add(GroupedId::new(*group, *id).into_iter());
            }
            let [mut one, mut other] = parts;
            other.arrange();
            one.merge(&other, |group| group);
            let counts = one.counts();
            for group in 0..4 {
                let ids = rows.iter().filter(|(own, id)| *own == group && *id > 1);
                let ids: BTreeSet<u32> = ids.map(|(_, id)| *id).collect();
                let own = counts.get(group as usize).copied().unwrap_or(0);
                prop_assert_eq!(own, ids.len() as u64);
            }
            prop_assert!(!one.is_estimated());
        }
    }

    #[test]
    fn too_many_values_are_estimated_and_it_says_so() {
        let ids: Vec<u32> = (2..200_002).collect();
        let mut entries = DistinctEntries::new(50_000);
        entries.add(ids.iter().filter_map(|id| GroupedId::new(0, *id)));
        entries.add(ids[..ids.len() / 4].iter().filter_map(|id| GroupedId::new(1, *id)));
        entries.arrange();
        assert!(entries.is_estimated() && entries.sample().0.len() <= 50_000);
        let counts = entries.counts();
        for (count, exact) in counts.iter().zip([200_000.0, 50_000.0]) {
            assert!((*count as f64 / exact - 1.0).abs() < 0.05, "{count} of {exact}");
        }
    }
}
