//! Counts visitors and their visits in bounded memory.
//!
//! A visitor is a client with an agent. For each half hour in which it was seen, the first and the
//! last second are kept. That is all that visits need: two requests within half an hour of each
//! other are of one visit, so what lies between the two seconds cannot matter. The days of a
//! visitor follow from the same entries.
//!
//! When there are too many entries, the counter keeps every second visitor, then every fourth, and
//! so on ("adaptive sampling": Flajolet, "On adaptive sampling", Computing 43, 1990). Which ones
//! depends on a number that is computed from the visitor alone. So the visitors that remain are
//! the same for every order of the requests and every division of them among counters.

use super::counts::VisitorCounts;
use super::entries::HalfHours;

/// Distinct visitors by day, and their visits.
///
/// Exact for up to [`Self::HALF_HOURS_MAX`] half hours of visitors: a visitor takes an entry for
/// each half hour in which it was seen. Beyond, the counts are estimates, and state their error.
///
/// # Examples
///
/// ```
/// use weir_core::{Moment, VisitorCounter};
///
/// let mut counter = VisitorCounter::default();
/// let (client, agent) = (7, 9);
/// for unix_s in [0, 1_799, 3_598, 5_398] {
///     counter.add(client, agent, Some(Moment { unix_s, day: 0 }));
/// }
/// let counts = counter.counts();
/// assert_eq!((counts.visitors.value, counts.visits.value), (1, 2));
/// assert!(counts.is_exact());
/// ```
///
/// # Ids
///
/// Clients and agents are ids of one data set, and of one epoch of its ids
/// ([`crate::Values::reuses`]).
///
/// # Memory
///
/// At most 17 MiB for the default number of entries, and as much again for moments.
#[derive(Debug, Clone)]
pub struct VisitorCounter {
    /// At most `half_hours_max`, each of a visitor whose key has `level` leading zeros.
    half_hours: HalfHours,
    half_hours_max: usize,
    /// One visitor in 2^`level` is kept.
    level: u32,
}

/// When a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// In seconds since 1970.
    pub unix_s: i64,
    /// The local date, in days since 1970.
    pub day: i64,
}

/// A half hour in which a visitor was seen, or the requests of a visitor that have no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::aggregate) struct HalfHour {
    /// The visitor: see [`visitor_key`].
    pub(in crate::aggregate) key: u64,
    /// The number of the half hour since 1970 and its local date, or [`HalfHour::UNTIMED`].
    place: u32,
    /// The seconds of the half hour at which the visitor was first and last seen.
    first_s: u16,
    last_s: u16,
}

impl HalfHour {
    const SECONDS: i64 = 1_800;
    const OF_DAY: i64 = 48;
    /// Makes the number of every half hour positive: a time is within 300 years of 1970.
    const BIAS: i64 = 1 << 23;
    const UNTIMED: u32 = u32::MAX;
    /// An entry of no visitor: all times are after the half hour with the number 0.
    pub(super) const FREE: Self = Self { key: 0, place: 0, first_s: 0, last_s: 0 };

    /// The entry of one request.
    pub(in crate::aggregate) fn new(key: u64, moment: Option<Moment>) -> Self {
        let Some(Moment { unix_s, day }) = moment else {
            return Self { key, place: Self::UNTIMED, first_s: 0, last_s: 0 };
        };
        let number = unix_s.div_euclid(Self::SECONDS);
        // A local date differs from that of UTC by a day at most.
        let relative_day = (day - number.div_euclid(Self::OF_DAY) + 1).clamp(0, 2);
        let second = unix_s.rem_euclid(Self::SECONDS) as u16;
        let place = ((number + Self::BIAS) << 2 | relative_day) as u32;
        Self { key, place, first_s: second, last_s: second }
    }

    /// Returns whether it stands for no entry.
    pub(super) fn is_free(self) -> bool {
        self.place == 0
    }

    /// Returns whether one visitor in 2^`level` is kept and this is one of them.
    pub(super) fn is_kept(self, level: u32) -> bool {
        self.key.leading_zeros() >= level
    }

    /// Returns whether the requests have a time.
    pub(super) fn is_timed(self) -> bool {
        self.place != Self::UNTIMED
    }

    fn number(self) -> i64 {
        i64::from(self.place >> 2) - Self::BIAS
    }

    /// The local date, in days since 1970.
    pub(super) fn day(self) -> i64 {
        self.number().div_euclid(Self::OF_DAY) + i64::from(self.place & 3) - 1
    }

    /// The first and the last request, in seconds since 1970.
    pub(super) fn range_s(self) -> (i64, i64) {
        let start = self.number() * Self::SECONDS;
        (start + i64::from(self.first_s), start + i64::from(self.last_s))
    }

    /// The visitor and the half hour. Entries of one place are kept as one.
    pub(in crate::aggregate) fn place(self) -> (u64, u32) {
        (self.key, self.place)
    }

    /// Adds the requests of another entry of the same place.
    pub(in crate::aggregate) fn widen(&mut self, other: Self) {
        self.first_s = self.first_s.min(other.first_s);
        self.last_s = self.last_s.max(other.last_s);
    }

    /// A number whose high bits differ. Those of keys are zeros once visitors are left out.
    pub(super) fn hash(self) -> u64 {
        (self.key ^ u64::from(self.place)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The fewest entries that are added before entries of one place are joined again.
const PENDING_MIN: usize = 1 << 10;

impl Default for VisitorCounter {
    fn default() -> Self {
        Self::with_half_hours_max(Self::HALF_HOURS_MAX)
    }
}

impl VisitorCounter {
    /// The number of entries up to which counts are exact by default: seven eighths of 2^20, which
    /// take 16 MiB.
    pub const HALF_HOURS_MAX: usize = 7 << 17;

    /// Returns a counter without visitors that keeps at most this number of entries, for one of
    /// many groups.
    ///
    /// Its memory is 16 to 32 bytes for each entry, and 128 KiB. The error of an estimate is about one
    /// part in the square root of half their number.
    pub fn with_half_hours_max(half_hours_max: usize) -> Self {
        Self { half_hours: HalfHours::default(), half_hours_max, level: 0 }
    }

    /// Adds a request of a visitor.
    ///
    /// The client and the agent are ids; an agent that is absent is an agent like any other. A
    /// request without a time belongs to no day and no visit.
    #[inline]
    pub fn add(&mut self, client: u32, agent: u32, moment: Option<Moment>) {
        let half_hour = HalfHour::new(visitor_key(client, agent), moment);
        if half_hour.is_kept(self.level) && self.half_hours.add(half_hour) {
            self.make_room();
        }
    }

    /// Adds the requests that another counter has counted.
    ///
    /// Both must keep the same number of entries. Equals one counter of all requests.
    pub fn merge(&mut self, other: &Self) {
        self.level = self.level.max(other.level);
        for half_hour in other.half_hours.iter() {
            if half_hour.is_kept(self.level) && self.half_hours.append(*half_hour) {
                self.make_room();
            }
        }
    }

    /// Returns the counts.
    ///
    /// Sorts the entries: about a tenth of a second for a million.
    pub fn counts(&self) -> VisitorCounts {
        let mut joined = Self { half_hours: self.half_hours.settled(), ..*self };
        joined.join();
        let Self { half_hours, level, .. } = joined;
        VisitorCounts::of(half_hours.into_vec(), level)
    }

    /// Returns the counts of the visitors whose agents, which are ids, are chosen.
    pub fn counts_of_agents(&self, mut is_chosen: impl FnMut(u32) -> bool) -> VisitorCounts {
        let chosen =
            self.half_hours.iter().filter(|half_hour| is_chosen(agent_of_key(half_hour.key)));
        VisitorCounts::of(chosen.copied().collect(), self.level)
    }

    /// Returns the memory that the entries take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.half_hours.memory_bytes()
    }

    /// Makes room for another entry.
    fn make_room(&mut self) {
        let max = self.half_hours_max;
        if !self.half_hours.grow(max + (max / 7).max(PENDING_MIN)) {
            self.join();
        }
    }

    /// Joins the entries of one place, and keeps fewer visitors until all entries have room. Which
    /// visitors does not depend on when this was done before.
    #[cold]
    fn join(&mut self) {
        self.half_hours.join(self.level);
        while self.half_hours.len() > self.half_hours_max {
            self.level += 1;
            self.half_hours.retain(self.level);
        }
    }
}

/// The constants of the finalizer of MurmurHash3.
const FACTORS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
const SUMMAND: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the number of a client with an agent. Numbers are distributed evenly, and no two visitors
/// have the same.
///
/// The finalizer of MurmurHash3, whose steps are invertible.
#[inline]
pub(in crate::aggregate) fn visitor_key(client: u32, agent: u32) -> u64 {
    let mut key = (u64::from(client) << 32 | u64::from(agent)).wrapping_add(SUMMAND);
    for factor in FACTORS {
        key = (key ^ (key >> 33)).wrapping_mul(factor);
    }
    key ^ (key >> 33)
}

/// Returns the agent of a visitor: the inverse of [`visitor_key`].
fn agent_of_key(mut key: u64) -> u32 {
    const INVERSES: [u64; 2] = [inverse(FACTORS[1]), inverse(FACTORS[0])];
    for factor in INVERSES {
        key = (key ^ (key >> 33)).wrapping_mul(factor);
    }
    (key ^ (key >> 33)).wrapping_sub(SUMMAND) as u32
}

/// Returns the number whose product with an odd number is 1 modulo 2^64. Each step of Newton's method
/// doubles the number of right bits, of which the first guess has three.
const fn inverse(odd: u64) -> u64 {
    let mut guess = odd;
    let mut bits = 3;
    while bits < u64::BITS {
        guess = guess.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(guess)));
        bits *= 2;
    }
    guess
}

#[cfg(test)]
mod tests {
    use super::{agent_of_key, visitor_key};

    #[test]
    fn the_agent_is_in_the_key() {
        let ids = [0, 1, 2, 77, 0x8000_0000, u32::MAX];
        for client in ids {
            for agent in ids {
                assert_eq!(agent_of_key(visitor_key(client, agent)), agent, "{client} {agent}");
            }
        }
    }
}
