//! The number of distinct values of a column in each group.
//!
//! Pairs of a group and a value are sorted, and repeated ones dropped. If there are more than fit,
//! only the values whose hash begins with a zero bit are kept, then those that begin with two, and so
//! on. The kept values are a sample that does not depend on order or on how often a value occurs, so
//! the number of values is estimated as theirs, times two for each bit.

/// The number of pairs that are sorted at once: 32 MiB wait at most.
const WAITING_MAX: usize = 1 << 22;

/// The first id that is a value: neither absent nor one of many in the remainder.
const FIRST_VALUE: u32 = super::FIRST_ID;

#[derive(Debug, Clone)]
pub(super) struct DistinctPairs {
    /// In no order, and repeated. A group is in the high half, an id in the low half.
    waiting: Vec<u64>,
    /// In order, each once.
    sorted: Vec<u64>,
    pairs_max: usize,
    /// The number of bits that are zero in the hashes of all kept values.
    level: u32,
}

impl DistinctPairs {
    pub(super) fn new(pairs_max: usize) -> Self {
        Self { waiting: Vec::new(), sorted: Vec::new(), pairs_max: pairs_max.max(1), level: 0 }
    }

    /// Adds the values of rows, given their groups.
    pub(super) fn add(&mut self, groups: &[u32], ids: &[u32]) {
        let level = self.level;
        let pairs = groups.iter().zip(ids).filter(|(_, id)| is_kept(**id, level));
        self.waiting.extend(pairs.map(|(group, id)| u64::from(*group) << 32 | u64::from(*id)));
        if self.waiting.len() > WAITING_MAX {
            self.arrange();
        }
    }

    /// Returns whether pairs wait to be sorted.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sorts what was added.
    pub(super) fn arrange(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable();
        waiting.dedup();
        self.sorted = union(&self.sorted, &waiting);
        while self.sorted.len() > self.pairs_max && self.level < u32::BITS {
            self.level += 1;
            let level = self.level;
            self.sorted.retain(|pair| is_kept(*pair as u32, level));
        }
    }

    /// Adds the pairs of other rows.
    pub(super) fn merge(&mut self, other: &Self, new_number: impl Fn(u32) -> u32) {
        if other.level > self.level {
            self.level = other.level;
            let level = self.level;
            self.sorted.retain(|pair| is_kept(*pair as u32, level));
            self.waiting.retain(|pair| is_kept(*pair as u32, level));
        }
        for pair in other.sorted.iter().chain(&other.waiting) {
            let (group, id) = ((pair >> 32) as u32, *pair as u32);
            if is_kept(id, self.level) {
                self.waiting.push(u64::from(new_number(group)) << 32 | u64::from(id));
            }
        }
        self.arrange();
    }

    /// The number of values of each group, by group.
    pub(super) fn counts(&self) -> Vec<u64> {
        debug_assert!(self.waiting.is_empty(), "pairs are arranged before they are counted");
        let groups = self.sorted.last().map_or(0, |pair| (pair >> 32) as usize + 1);
        let mut counts = vec![0u64; groups];
        self.sorted.iter().for_each(|pair| counts[(pair >> 32) as usize] += 1);
        counts.iter_mut().for_each(|count| *count <<= self.level);
        counts
    }

    pub(super) fn is_estimated(&self) -> bool {
        self.level > 0
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.waiting.capacity() + self.sorted.capacity()) * 8
    }
}

/// Returns whether an id is a value, and one of those that are kept.
#[inline]
fn is_kept(id: u32, level: u32) -> bool {
    // The multiplier of SplitMix64. The highest bits of the product depend on all bits of the id.
    let mut hash = u64::from(id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    id >= FIRST_VALUE && hash.leading_zeros() >= level
}

/// Returns what is in either list, in order. Both are in order and without repetitions.
fn union(one: &[u64], other: &[u64]) -> Vec<u64> {
    let mut both = Vec::with_capacity(one.len() + other.len());
    let (mut own, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (own.peek().copied(), others.peek().copied()) {
        both.push(*a.min(b));
        if a <= b {
            own.next();
        }
        if b <= a {
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

    use super::DistinctPairs;

    proptest! {
        #[test]
        fn counts_are_those_of_sets(
            rows in prop::collection::vec((0u32..4, 0u32..40), 0..300),
            cut in 0usize..300,
        ) {
            let mut parts = [DistinctPairs::new(1_000), DistinctPairs::new(1_000)];
            for (at, (group, id)) in rows.iter().enumerate() {
                parts[usize::from(at < cut)].add(&[*group], &[*id]);
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
        let mut pairs = DistinctPairs::new(50_000);
        pairs.add(&vec![0; ids.len()], &ids);
        pairs.add(&vec![1; ids.len() / 4], &ids[..ids.len() / 4]);
        pairs.arrange();
        assert!(pairs.is_estimated() && pairs.sorted.len() <= 50_000);
        let counts = pairs.counts();
        for (count, exact) in counts.iter().zip([200_000.0, 50_000.0]) {
            assert!((*count as f64 / exact - 1.0).abs() < 0.05, "{count} of {exact}");
        }
    }
}
