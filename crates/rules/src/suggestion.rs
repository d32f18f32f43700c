//! The burst that the peaks of a log suggest.

/// The fewest times by which the peaks on both sides of a gap must differ.
const RATIO_MIN: f64 = 1.5;

/// The smallest peak that may be over a limit: people open a page with a dozen files.
const PEAK_MIN: f64 = 5.0;

/// The largest part of the keys that may be over a limit: one in so many.
const KEYS_PER_TRIPPED_MIN: usize = 20;

/// A burst between the peaks of most keys and those of a few.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suggestion {
    /// The burst, in requests.
    pub burst: u32,
    /// The keys over it.
    pub keys: u64,
    /// The highest peak of the other keys, in requests.
    pub highest_below: f64,
    /// The lowest peak of those over it; `None` if the burst is over all peaks.
    pub lowest_above: Option<f64>,
}

impl Suggestion {
    /// The burst in the widest gap between peaks that leaves only a few keys above it, or over all
    /// peaks if there is no such gap. `peaks` are those of `keys` keys, in descending order; the
    /// peaks that are left out are 0. `None` without keys.
    ///
    /// Peaks of people and of programs that attack differ by factors, so a gap is measured as one,
    /// and the burst is the geometric mean of its ends.
    pub fn of_peaks(peaks: &[f64], keys: usize) -> Option<Self> {
        Self::sparing(peaks, keys, peaks.len())
    }

    /// As [`Self::of_peaks`], but only the first `over_max` keys may be over the burst.
    pub fn sparing(peaks: &[f64], keys: usize, over_max: usize) -> Option<Self> {
        let few = (keys / KEYS_PER_TRIPPED_MIN).max(1).min(over_max);
        (keys > 0).then(|| Self::among(peaks, few))
    }

    /// As [`Self::sparing`], but all of the first `over_max` keys may be over the burst, however many
    /// they are.
    pub fn among(peaks: &[f64], over_max: usize) -> Self {
        let highest = peaks.first().copied().unwrap_or(0.0);
        let below = |above: usize| peaks.get(above).copied().unwrap_or(0.0).max(1.0);
        let ratio = |above: usize| peaks[above - 1] / below(above);
        let candidates =
            (1..=over_max.min(peaks.len())).take_while(|above| peaks[above - 1] >= PEAK_MIN);
        let widest = candidates.max_by(|one, other| {
            // Of equal gaps the highest: it rejects fewer.
            ratio(*one).total_cmp(&ratio(*other)).then(other.cmp(one))
        });
        match widest.filter(|above| ratio(*above) >= RATIO_MIN) {
            Some(above) => {
                let (lower, upper) = (below(above), peaks[above - 1]);
                // At or above the lower end, and below the upper.
                let burst =
                    (lower * upper).sqrt().round().max(lower.ceil()).min(upper.ceil() - 1.0);
                Self {
                    burst: burst as u32,
                    keys: above as u64,
                    highest_below: peaks.get(above).copied().unwrap_or(0.0),
                    lowest_above: Some(upper),
                }
            }
            None => Self {
                burst: highest.ceil() as u32,
                keys: 0,
                highest_below: highest,
                lowest_above: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Suggestion;

    #[test]
    fn the_burst_is_in_the_widest_gap() {
        let peaks = [355.0, 150.0, 84.0, 22.0, 20.0, 9.0, 3.0];
        let suggestion = Suggestion::of_peaks(&peaks, 1_000).expect("keys");
        assert_eq!((suggestion.keys, suggestion.highest_below), (3, 22.0));
        assert_eq!(suggestion.lowest_above, Some(84.0));
        assert_eq!(suggestion.burst, 43, "the geometric mean of 22 and 84");
    }

    #[test]
    fn without_a_gap_no_key_is_over_the_burst() {
        let peaks = [12.4, 12.0, 11.0, 10.0];
        let suggestion = Suggestion::of_peaks(&peaks, 4).expect("keys");
        assert_eq!((suggestion.burst, suggestion.keys, suggestion.lowest_above), (13, 0, None));
        assert_eq!(Suggestion::of_peaks(&[], 0), None);
        assert_eq!(Suggestion::of_peaks(&[], 9).map(|it| it.burst), Some(0));
    }

    #[test]
    fn no_key_that_is_spared_is_over_the_burst() {
        let peaks = [355.0, 150.0, 84.0, 22.0, 20.0, 9.0, 3.0];
        let one = Suggestion::sparing(&peaks, 1_000, 1).expect("keys");
        assert_eq!((one.keys, one.highest_below), (1, 150.0));
        assert_eq!(one.burst, 231, "the geometric mean of 150 and 355");
        let none = Suggestion::sparing(&peaks, 1_000, 0).expect("keys");
        assert_eq!((none.keys, none.burst, none.lowest_above), (0, 355, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_keys_over_the_burst_are_those_that_are_told(
            mut peaks in prop::collection::vec(0.0..500.0f64, 1..60),
        ) {
            peaks.sort_by(|one, other| other.total_cmp(one));
            let suggestion = Suggestion::of_peaks(&peaks, peaks.len()).expect("keys");
            let over = peaks.iter().filter(|peak| **peak > f64::from(suggestion.burst)).count();
            prop_assert_eq!(over as u64, suggestion.keys);
        }
    }
}
