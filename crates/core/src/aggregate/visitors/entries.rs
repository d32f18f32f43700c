//! Half hours of visitors, of which those of one place are joined late.
//!
//! A table of all entries is larger than the cache, and each request is of another visitor. But a log is
//! roughly in the order of time, so that the entries of the present half hour are few. They are joined
//! in a small table, from which one that gives way to another is appended to the entries. Few places
//! are so appended twice, and sorting finds them:
//!
//! ```text
//! recent    direct-mapped: an entry is at the place of its hash, or it is not there
//! entries   sorted, each place once | pending, in the order in which they left
//! ```

use super::counter::HalfHour;

/// The number of places of the small table, as a power of two: 128 KiB, which a processor has near.
const RECENT_BITS: u32 = 13;

#[derive(Debug, Clone, Default)]
pub(super) struct HalfHours {
    /// Of these, the first `sorted` are in order, and each place occurs once among them.
    entries: Vec<HalfHour>,
    sorted: usize,
    /// Entries that were added last; [`HalfHour::FREE`] where there is none. Empty before the first.
    recent: Vec<HalfHour>,
}

impl HalfHours {
    /// The entries; a place may have several.
    pub(super) fn iter(&self) -> impl Iterator<Item = &HalfHour> {
        let recent = self.recent.iter().filter(|entry| !entry.is_free());
        self.entries.iter().chain(recent)
    }

    /// Returns the same entries without recent ones.
    pub(super) fn settled(&self) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len() + self.recent.len());
        entries.extend(self.iter());
        Self { entries, sorted: self.sorted, recent: Vec::new() }
    }

    /// The number of entries that are not recent.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.entries.capacity() + self.recent.capacity()) * size_of::<HalfHour>()
    }

    /// Adds a half hour. Returns whether there is no room for the next one.
    #[inline]
    pub(super) fn add(&mut self, half_hour: HalfHour) -> bool {
        if self.recent.is_empty() {
            self.recent.resize(1 << RECENT_BITS, HalfHour::FREE);
        }
        let place = (half_hour.hash() >> (64 - RECENT_BITS)) as usize;
        let own = &mut self.recent[place];
        if own.place() == half_hour.place() {
            own.widen(half_hour);
            return false;
        }
        let left = std::mem::replace(own, half_hour);
        !left.is_free() && self.append(left)
    }

    /// Adds a half hour that will not come again soon. Returns whether there is no room for the next
    /// one.
    #[inline]
    pub(super) fn append(&mut self, half_hour: HalfHour) -> bool {
        self.entries.push(half_hour);
        self.entries.len() == self.entries.capacity()
    }

    /// Makes room for more entries. Returns false if there are `len_max`.
    pub(super) fn grow(&mut self, len_max: usize) -> bool {
        let len = self.entries.len();
        self.entries.reserve_exact(len.min(len_max.saturating_sub(len)));
        len < len_max
    }

    /// Joins the entries of one place, except recent ones. Leaves out visitors that are not kept.
    pub(super) fn join(&mut self, level: u32) {
        self.entries[self.sorted..].sort_unstable_by_key(|entry| entry.place());
        // A stable sort merges two parts that are in order.
        self.entries.sort_by_key(|entry| entry.place());
        self.entries.dedup_by(|next, own| {
            let is_same = own.place() == next.place();
            if is_same {
                own.widen(*next);
            }
            is_same
        });
        self.retain(level);
    }

    /// Removes the entries of visitors that are not kept, except recent ones. They must be
    /// [joined](Self::join).
    pub(super) fn retain(&mut self, level: u32) {
        self.entries.retain(|entry| entry.is_kept(level));
        self.sorted = self.entries.len();
    }

    pub(super) fn into_vec(self) -> Vec<HalfHour> {
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::counter::{Moment, visitor_key};
    use super::{HalfHour, HalfHours};

    fn half_hour((visitor, unix_s): (u32, i64)) -> HalfHour {
        HalfHour::new(visitor_key(visitor, 0), Some(Moment { unix_s, day: unix_s / 86_400 }))
    }

    proptest! {
        #[test]
        fn entries_are_those_of_a_map(
            rows in prop::collection::vec((0u32..30_000, 0i64..4_000), 0..3_000),
            step in 1usize..400,
            appends in prop::collection::vec(any::<bool>(), 8),
            levels in prop::collection::vec(0u32..3, 8),
        ) {
            let mut half_hours = HalfHours::default();
            let mut map: BTreeMap<(u64, u32), HalfHour> = BTreeMap::new();
            let mut level = 0;
            for (at, rows) in rows.chunks(step).enumerate() {
                for half_hour in rows.iter().copied().map(half_hour) {
                    let is_full = match appends[at % 8] {
                        true => half_hours.append(half_hour),
                        false => half_hours.add(half_hour),
                    };
                    if is_full && !half_hours.grow(500) {
                        half_hours.join(level);
                    }
                    map.entry(half_hour.place()).or_insert(half_hour).widen(half_hour);
                }
                // Visitors are left out for ever, also those that come again.
                level = level.max(levels[at % 8] * u32::from(at % 3 == 0));
            }
            let mut settled = half_hours.settled();
            settled.join(level);
            map.retain(|_, entry| entry.is_kept(level));
            prop_assert_eq!(settled.len(), map.len());
            prop_assert_eq!(settled.into_vec(), map.into_values().collect::<Vec<_>>());
        }
    }

    #[test]
    fn entries_that_push_each_other_out_take_no_more_memory() {
        let mut half_hours = HalfHours::default();
        // Many more visitors than there are recent entries, again and again.
        for visitor in (0..20_000).cycle().take(400_000) {
            let entry = half_hour((visitor, i64::from(visitor) % 1_800));
            if half_hours.add(entry) && !half_hours.grow(30_000) {
                half_hours.join(0);
            }
        }
        assert!(half_hours.memory_bytes() <= (30_000 + 8_192) * size_of::<HalfHour>());
        let mut settled = half_hours.settled();
        settled.join(0);
        assert_eq!(settled.len(), 20_000);
    }
}
