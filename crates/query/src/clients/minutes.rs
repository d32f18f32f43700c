//! How much a client sends within a minute.

use weir_core::Timestamp;

use super::marks::ASSET;

const MINUTE_NS: i64 = 60_000_000_000;

/// The weight of a request. A page comes with its files, so five of these count as one page.
const WEIGHT: u32 = 5;
const WEIGHT_OF_ASSET: u32 = 1;

/// The weight of a minute in which a client floods: 60 requests. People, crawlers and monitors of
/// the logs at hand stay below 40, and with the files of their pages below 50.
const FLOOD_WEIGHT: u32 = FLOOD_REQUESTS_MIN * WEIGHT;

/// The fewest requests with which a client floods.
pub(super) const FLOOD_REQUESTS_MIN: u32 = 60;

/// The most minutes that are kept for a client. If there are more, the busier half stays.
const MINUTES_MAX: usize = 1_024;

/// The weights of the requests of a client, by minute.
///
/// Memory: 8 bytes for each minute with requests, at most 8 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MinuteWeights {
    /// In ascending order of the minutes since 1970.
    minutes: Vec<(u32, u32)>,
}

impl MinuteWeights {
    /// Adds a request, by the flags of its path.
    pub(super) fn take(&mut self, time: Option<Timestamp>, path: u16) {
        let Some(time) = time else { return };
        let minute = u32::try_from(time.unix_ns.div_euclid(MINUTE_NS)).unwrap_or_default();
        self.add(minute, if path & ASSET != 0 { WEIGHT_OF_ASSET } else { WEIGHT });
    }

    /// Adds the requests of another part of the log.
    pub(super) fn merge(&mut self, other: &Self) {
        for (minute, weight) in &other.minutes {
            self.add(*minute, *weight);
        }
    }

    /// Whether it sends more in some minute than people, crawlers and monitors do.
    pub(super) fn floods(&self) -> bool {
        self.minutes.iter().any(|(_, weight)| *weight >= FLOOD_WEIGHT)
    }

    fn add(&mut self, minute: u32, weight: u32) {
        match self.minutes.last_mut() {
            Some((last, sum)) if *last == minute => {
                *sum = sum.saturating_add(weight);
                return;
            }
            Some((last, _)) if *last > minute => {
                let at = self.minutes.partition_point(|(other, _)| *other < minute);
                match &mut self.minutes[at] {
                    (other, sum) if *other == minute => *sum = sum.saturating_add(weight),
                    _ => self.minutes.insert(at, (minute, weight)),
                }
            }
            _ => self.minutes.push((minute, weight)),
        }
        if self.minutes.len() > MINUTES_MAX {
            self.drop_half();
        }
    }

    /// Keeps the busier half.
    fn drop_half(&mut self) {
        let mut weights: Vec<u32> = self.minutes.iter().map(|(_, weight)| *weight).collect();
        weights.sort_unstable_by(|one, other| other.cmp(one));
        let least = weights[MINUTES_MAX / 2];
        let mut ties = MINUTES_MAX / 2 - weights.partition_point(|weight| *weight > least);
        self.minutes.retain(|(_, weight)| {
            let is_tie = *weight == least && ties > 0;
            ties -= usize::from(is_tie);
            *weight > least || is_tie
        });
    }
}

#[cfg(test)]
mod tests {
    use weir_core::Timestamp;

    use super::super::marks::{ASSET, PAGE};
    use super::{MINUTES_MAX, MinuteWeights};

    fn weights(requests: impl Iterator<Item = (i64, u16)>) -> MinuteWeights {
        let mut weights = MinuteWeights::default();
        for (second, path) in requests {
            let time = Timestamp { unix_ns: second * 1_000_000_000, offset_s: 0 };
            weights.take(Some(time), path);
        }
        weights
    }

    #[test]
    fn a_flood_is_sixty_requests_in_a_minute() {
        for (requests, floods) in [
            ((0..60).map(|second| (second, PAGE)).collect::<Vec<_>>(), true),
            ((0..59).map(|second| (second, PAGE)).collect(), false),
            ((30..90).map(|second| (second, PAGE)).collect(), false),
            ((0..299).map(|number| (number % 60, ASSET)).collect(), false),
            ((0..300).map(|number| (number % 60, ASSET)).collect(), true),
            ((0..120).map(|number| (number % 2 * 60, PAGE)).collect(), true),
        ] {
            assert_eq!(weights(requests.iter().copied()).floods(), floods, "{requests:?}");
        }
    }

    #[test]
    fn parts_in_any_order_add_up_and_stay_bounded() {
        let all: Vec<(i64, u16)> =
            (0..9_000).map(|number| (number * 7_919 % 54_000, PAGE)).collect();
        let whole = weights(all.iter().copied());
        let mut parts = weights(all[4_000..].iter().copied());
        parts.merge(&weights(all[..4_000].iter().copied()));
        assert_eq!(parts, whole);
        let long = (0..4_000).map(|minute| (minute * 60, PAGE));
        let flood = (0..60).map(|second| (240_000 + second, PAGE));
        let many = weights(long.chain(flood));
        assert!(many.minutes.len() <= MINUTES_MAX && many.floods());
        assert!(many.minutes.is_sorted());
    }
}
