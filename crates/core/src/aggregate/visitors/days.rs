//! The local dates of instants.

use crate::value::{DAY_S, Zone};

/// Finds the local dates of instants, most of which are on the same date as the one before.
pub(super) struct DayFinder<'a> {
    zone: &'a Zone,
    day: i64,
    /// The instants around the last one that have its date and its offset, in seconds since 1970.
    /// The end is exclusive.
    range_s: (i64, i64),
}

impl<'a> DayFinder<'a> {
    pub(super) fn new(zone: &'a Zone) -> Self {
        Self { zone, day: 0, range_s: (0, 0) }
    }

    /// Returns the local date of an instant, in days since 1970.
    #[inline]
    pub(super) fn day(&mut self, unix_s: i64) -> i64 {
        if unix_s < self.range_s.0 || unix_s >= self.range_s.1 {
            self.find(unix_s);
        }
        self.day
    }

    fn find(&mut self, unix_s: i64) {
        let (from_s, until_s, offset_s) = self.zone.span(unix_s);
        let offset_s = i64::from(offset_s);
        self.day = (unix_s + offset_s).div_euclid(DAY_S);
        let start_s = self.day * DAY_S - offset_s;
        self.range_s = (start_s.max(from_s), (start_s + DAY_S).min(until_s));
    }
}

#[cfg(test)]
mod tests {
    use super::DayFinder;
    use crate::value::Zone;

    #[test]
    fn the_date_is_that_of_the_local_clock_in_any_order() {
        // At half past midnight the clock is set back an hour, to the day before, and the next day
        // forward over midnight.
        let transitions = [(1_800, -3_600), (86_400 + 3_000, 7_200)];
        let zone = Zone::from_transitions("", 0, transitions).expect("in order");
        let naive = |at: i64| (at + i64::from(zone.offset_s(at))).div_euclid(86_400);
        let instants = (-200..500).map(|step| step * 600);
        for step in [1, 7, 13, 699] {
            let mut finder = DayFinder::new(&zone);
            let mut seen = Vec::new();
            for index in 0..700 {
                let at = instants.clone().nth(index * step % 700).expect("it is in range");
                assert_eq!(finder.day(at), naive(at), "{at}");
                seen.push(naive(at));
            }
            assert!([-1, 0, 1].iter().all(|day| seen.contains(day)));
        }
    }
}
