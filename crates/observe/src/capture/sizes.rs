//! A histogram of the sizes of a transfer's parts.

use std::collections::BTreeMap;

/// The number of significant bits that are kept, for a relative error of at most 1/32.
const KEPT_BITS: u32 = 6;

/// Counts of sizes, rounded down to their [`KEPT_BITS`] most significant bits, so that there are at
/// most 2,000 distinct sizes.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    counts: BTreeMap<u64, u64>,
    count: u64,
}

impl Sizes {
    pub(super) fn add(&mut self, bytes: u64) {
        *self.counts.entry(round_down(bytes)).or_default() += 1;
        self.count += 1;
    }

    /// Returns the median size, the smaller one of an even number; `None` if there are no sizes.
    pub(super) fn median(&self) -> Option<u64> {
        let middle = self.count.div_ceil(2);
        let mut seen = 0;
        let reaches_middle = |(_, count): &(&u64, &u64)| {
            seen += **count;
            seen >= middle
        };
        self.counts.iter().find(reaches_middle).map(|(bytes, _)| *bytes)
    }
}

/// Clears all bits after the first [`KEPT_BITS`].
fn round_down(number: u64) -> u64 {
    let bits = u64::BITS - number.leading_zeros();
    let dropped = bits.saturating_sub(KEPT_BITS);
    number >> dropped << dropped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{KEPT_BITS, Sizes};

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Sizes::default().median(), None);
    }

    proptest! {
        #[test]
        fn the_median_is_near_that_of_the_sorted_sizes(
            mut sizes in prop::collection::vec(any::<u64>().prop_flat_map(|it| 0..=it), 1..200),
        ) {
            let mut counted = Sizes::default();
            for size in &sizes {
                counted.add(*size);
            }
            sizes.sort_unstable();
            let expected = sizes[(sizes.len() - 1) / 2];
            let median = counted.median().expect("there are sizes");
            prop_assert!(median <= expected, "{median} {expected}");
            prop_assert!(expected - median <= expected >> (KEPT_BITS - 1), "{median} {expected}");
            prop_assert!(counted.counts.len() <= 2_000);
        }
    }
}
