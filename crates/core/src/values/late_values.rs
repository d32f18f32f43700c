//! Values that came when the memory for distinct values was used up.

use super::frequent_items::FrequentItems;

/// Decides which late values get an id all the same: a late value is one that came when the memory
/// for the distinct values of its column was used up.
///
/// The records of late values are counted by a fingerprint of the value. A value gets an id as soon
/// as more than one in [`Self::share`] of these records may have it, so no other value has more of
/// them. The first late values meet that at once, because there are few such records: a status or
/// method that comes late is not lost.
///
/// The ids take memory, of which each column has a fixed part. The fewer bytes of it are left, the
/// more frequent a value must be: if half of them are left, twice as frequent. Whatever happens,
/// [`Self::records_max`] is true.
///
/// ```
/// use weir_core::LateValues;
///
/// let mut late = LateValues::with_memory(64 << 10).expect("room for some counters");
/// let value_bytes = 50;
/// let (mut missing, mut admitted) = (0, None);
/// for n in 0..1_000_000 {
///     late.offer(n, 1, value_bytes); // values that never come again
///     if n % 100 == 0 && admitted.is_none() {
///         admitted = late.offer(u64::MAX, 1, value_bytes); // and one that does
///         missing += u64::from(admitted.is_none());
///     }
/// }
/// let missing_max = admitted.expect("a percent of the records is frequent");
/// assert!(missing <= missing_max);
/// assert!(late.records_max() <= 2 * late.records() / late.share());
/// ```
#[derive(Debug, Clone)]
pub struct LateValues {
    items: FrequentItems,
    /// The records that were offered.
    records: u64,
    /// The memory for the values that get an id, in bytes.
    value_bytes_max: usize,
    /// The part of it that is in use.
    value_bytes: usize,
}

impl LateValues {
    /// Counters for each of the frequent values that must be found. They keep the error of a
    /// counter below half of what makes a value frequent.
    const COUNTERS_PER_VALUE: usize = 4;

    /// Returns an empty instance, whose values and counters take at most `bytes`. `None` if they
    /// are too few to be useful.
    pub fn with_memory(bytes: usize) -> Option<Self> {
        let items = FrequentItems::with_memory(bytes / 2)?;
        let value_bytes_max = bytes - items.memory_bytes();
        Some(Self { items, records: 0, value_bytes_max, value_bytes: 0 })
    }

    /// [`Self::with_memory`] after this number of records, the most frequent value of which had at
    /// most `records_max`. Every value without an id may have had as many.
    pub(super) fn restored(bytes: usize, records: u64, records_max: u64) -> Option<Self> {
        let new = Self::with_memory(bytes)?;
        Some(Self { items: new.items.with_error(records_max), records, ..new })
    }

    /// Counts records of a value without an id. If the value is to get one, which takes
    /// `cost_bytes`, returns the largest number of its earlier records; these records have none.
    pub fn offer(&mut self, fingerprint: u64, records: u64, cost_bytes: usize) -> Option<u64> {
        let before = self.records;
        self.records = before.saturating_add(records);
        self.items.add(fingerprint, records);
        let most = self.items.upper_bound(fingerprint);
        let left = self.value_bytes_max - self.value_bytes;
        if cost_bytes > left || !self.is_frequent(most, left) {
            return None;
        }
        self.value_bytes += cost_bytes;
        self.items.remove(fingerprint);
        Some(most.saturating_sub(records).min(before))
    }

    /// Forgets a value that has got an id, and returns the largest number of its earlier records.
    pub fn forget(&mut self, fingerprint: u64) -> u64 {
        let most = self.items.upper_bound(fingerprint);
        self.items.remove(fingerprint);
        most.min(self.records)
    }

    /// Returns the number of records of late values, without those that came when their value had
    /// an id.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the largest number of records that a value without an id can have. At most
    /// `2 * records() / share()` while half of the memory for ids is left.
    pub fn records_max(&self) -> u64 {
        self.items.upper_bound_of_all().min(self.records)
    }

    /// Returns the number `k` such that a value with more than one in `k` of the records gets an
    /// id, while the memory for ids is unused.
    pub fn share(&self) -> u64 {
        (self.items.capacity() / Self::COUNTERS_PER_VALUE) as u64
    }

    /// Returns the memory of the counters, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.items.memory_bytes()
    }

    /// Whether a value with at most `most` records is frequent, if `left` bytes are left for ids.
    fn is_frequent(&self, most: u64, left: usize) -> bool {
        let share = u128::from(self.share()) * left as u128;
        u128::from(most) * share > u128::from(self.records) * self.value_bytes_max as u128
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::LateValues;

    /// The state that a naive counter keeps of a value.
    #[derive(Default)]
    struct Exact {
        without_id: u64,
        missing_max: Option<u64>,
    }

    fn fingerprint(number: u32) -> u64 {
        u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// Numbers of which some are frequent: the smaller, the more so.
    fn skewed() -> impl Strategy<Value = u32> {
        (0u32..3_000, 1u32..3_000).prop_map(|(number, divisor)| number / divisor)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_frequent_value_is_missed_and_bounds_hold(
            stream in prop::collection::vec((prop_oneof![skewed(), 0u32..3_000], 1u64..5), 1..4_000),
            bytes in 600usize..20_000,
        ) {
            let mut late = LateValues::with_memory(bytes).expect("room for 14 counters");
            let mut exact: BTreeMap<u32, Exact> = BTreeMap::new();
            let mut offered = 0;
            for (number, records) in stream {
                let value = exact.entry(number).or_default();
                if value.missing_max.is_none() {
                    offered += records;
                    value.missing_max = late.offer(fingerprint(number), records, 50);
                    if value.missing_max.is_none() {
                        value.without_id += records;
                    }
                }
                prop_assert_eq!(late.records(), offered);
            }
            for value in exact.values() {
                let most = value.missing_max.unwrap_or_else(|| late.records_max());
                prop_assert!(value.without_id <= most, "{} of at most {most}", value.without_id);
            }
            if late.value_bytes <= late.value_bytes_max / 2 {
                prop_assert!(late.records_max() <= 2 * offered / late.share());
            }
            prop_assert!(late.value_bytes + late.memory_bytes() <= bytes);
        }
    }

    #[test]
    fn the_first_late_values_get_an_id_at_once() {
        let mut late = LateValues::with_memory(8 << 10).expect("room for some counters");
        for number in 0..5 {
            assert_eq!(late.offer(fingerprint(number), 3, 50), Some(0));
        }
        assert_eq!((late.records(), late.records_max()), (15, 0));
    }
}
