//! The likeliest arrivals of requests whose times are known to the second.
//!
//! The model: the requests of a key in a second come at intervals of random lengths, between even
//! ones and those of a Poisson process. A burst goes on over the ends of seconds: in the first and
//! the last second of a run of seconds, its requests are next to those of the neighbour, and at the
//! neighbour's rate if that is higher. The requests of a second without neighbours are together in
//! its middle, because a burst that is shorter than a second seldom has the length of one.
//!
//! The intervals depend on nothing but the second and the number of its requests, so the same log
//! always has the same likely arrivals.

/// The part of a second that a burst without neighbours takes.
const ALONE: f64 = 0.55;

/// The part of its length that a burst takes in the first or last second of a run.
const EDGE: f64 = 0.95;

/// How much of an interval is random: 0 for even intervals, 1 for those of a Poisson process.
const RANDOM: f64 = 0.6;

/// The least part of a second that several requests take.
const PART_MIN: f64 = 0.001;

/// Puts the likeliest arrivals of the requests of a key in `likely`. `earliest` has their earliest
/// possible arrivals in ascending order; a second has `second` units of time. The *k*-th likely
/// arrival is less than a second after the *k*-th earliest.
pub(crate) fn likely_arrivals(earliest: &[i64], second: i64, likely: &mut Vec<i64>) {
    likely.clear();
    let number = |earliest: i64| second_of(earliest, second);
    let mut groups = earliest.chunk_by(|one, other| number(*one) == number(*other)).peekable();
    let mut before = None;
    while let Some(group) = groups.next() {
        let own = number(group[0]);
        let neighbour = |found: Option<(i64, usize)>, distance: i64| match found {
            Some((other, requests)) if own.checked_sub(other) == Some(distance) => requests,
            _ => 0,
        };
        let next = groups.peek().map(|group| (number(group[0]), group.len()));
        let (before_it, after_it) = (neighbour(before, 1), neighbour(next, -1));
        let place = Place::of(before_it, group.len(), after_it);
        place.spread(group, own, second, likely);
        before = Some((own, group.len()));
    }
    // The durations of requests may differ, so that one that began first may end last.
    if !likely.is_sorted() {
        likely.sort_unstable();
    }
}

/// The second in which a request is logged that arrived at this time or less than a second later,
/// if it took less than a second.
fn second_of(earliest: i64, second: i64) -> i64 {
    earliest.div_euclid(second) + i64::from(earliest.rem_euclid(second) > 0)
}

/// The part of a second that its requests take.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    start: f64,
    length: f64,
}

impl Place {
    /// The place of `own` requests, by the numbers of requests in the seconds before and after.
    fn of(before: usize, own: usize, after: usize) -> Self {
        let most = before.max(after);
        if most == 0 {
            return Self { start: (1.0 - ALONE) / 2.0, length: ALONE };
        }
        let share = if own < most { own as f64 / most as f64 } else { 1.0 };
        let is_edge = before == 0 || after == 0;
        let length = (share * if is_edge { EDGE } else { 1.0 }).max(PART_MIN);
        Self { start: if before >= after { 0.0 } else { 1.0 - length }, length }
    }

    /// Adds arrivals in the place, one for each of the requests that are logged in a second with
    /// this number.
    fn spread(self, earliest: &[i64], number: i64, second: i64, likely: &mut Vec<i64>) {
        let longest = second - 1;
        let at = |part: f64| {
            let offset = (self.start + self.length * part) * longest as f64;
            (offset as i64).clamp(0, longest)
        };
        if let [earliest] = earliest {
            return likely.push(earliest.saturating_add(at(0.5)));
        }
        let seed = number as u64 ^ (earliest.len() as u64).rotate_left(32);
        let mut intervals = Intervals(seed);
        let all: f64 = (0..=earliest.len()).map(|_| intervals.next()).sum();
        let (mut intervals, mut sum) = (Intervals(seed), 0.0);
        likely.extend(earliest.iter().map(|earliest| {
            sum += intervals.next();
            earliest.saturating_add(at(sum / all))
        }));
    }
}

/// Random intervals with a mean of one.
struct Intervals(u64);

impl Intervals {
    fn next(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        1.0 + RANDOM * (-uniform.ln() - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Place, likely_arrivals};

    #[test]
    fn a_burst_goes_on_over_the_ends_of_its_seconds() {
        let earliest: Vec<i64> =
            [(5_000, 2), (6_000, 20), (7_000, 10)].into_iter().flat_map(repeated).collect();
        let mut likely = Vec::new();
        likely_arrivals(&earliest, 1_000, &mut likely);
        assert!(likely[..2].iter().all(|time| (5_900..6_000).contains(time)), "{likely:?}");
        assert!(likely[22..].iter().all(|time| (7_000..7_500).contains(time)), "{likely:?}");
        let middle = &likely[2..22];
        assert!(middle[0] < 6_150 && middle[19] > 6_850, "{likely:?}");
    }

    fn repeated((time, times): (i64, usize)) -> impl Iterator<Item = i64> {
        std::iter::repeat_n(time, times)
    }

    #[test]
    fn a_lone_burst_is_in_the_middle_of_its_second() {
        let mut likely = Vec::new();
        likely_arrivals(&[3_000; 9], 1_000, &mut likely);
        assert!(likely.iter().all(|time| (3_200..3_800).contains(time)), "{likely:?}");
        likely_arrivals(&[i64::MAX - 5], 1_000, &mut likely);
        assert_eq!(likely, [i64::MAX]);
    }

    #[test]
    fn a_second_with_millions_of_requests_has_room_for_all() {
        let (earliest, mut likely) = (vec![0; 5_000_000], Vec::new());
        likely_arrivals(&earliest, 1_000, &mut likely);
        assert!(likely.len() == 5_000_000 && likely.is_sorted() && likely[4_999_999] < 1_000);
    }

    proptest! {
        #[test]
        fn likely_arrivals_are_less_than_a_second_after_the_earliest(
            steps in prop::collection::vec(prop_oneof![Just(0), Just(1_000), 0..3_000i64], 0..60),
            start in -5_000..5_000i64,
        ) {
            let mut earliest = vec![start];
            earliest.extend(steps.iter().scan(start, |time, step| {
                *time += step;
                Some(*time)
            }));
            let (mut likely, mut again) = (Vec::new(), Vec::new());
            likely_arrivals(&earliest, 1_000, &mut likely);
            likely_arrivals(&earliest, 1_000, &mut again);
            prop_assert!(likely.is_sorted());
            let offsets = likely.iter().zip(&earliest).map(|(likely, earliest)| likely - earliest);
            prop_assert!(offsets.clone().all(|offset| (0..1_000).contains(&offset)));
            prop_assert_eq!(likely, again);
        }

        #[test]
        fn places_are_within_their_second(before in 0..99usize, own in 1..99usize, after in 0..99usize) {
            let Place { start, length } = Place::of(before, own, after);
            prop_assert!(start >= 0.0 && length > 0.0 && start + length <= 1.0 + 1e-9);
        }
    }
}
