//! What a counter of visitors has counted.

use std::collections::BTreeMap;

use super::counter::HalfHour;

/// A visit ends when its visitor makes no request for this time, in seconds.
const QUIET_S: i64 = 1_800;

/// The number of visitors, in total and by day, and of their visits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VisitorCounts {
    /// The days on which there were visitors, in order.
    pub days: Vec<DayVisitors>,
    /// The sum of the visitors of all days: one that comes on two days counts twice.
    pub visitors: CountedVisitors,
    /// The distinct visitors over all days. One counts once, also without a time.
    pub distinct: CountedVisitors,
    /// The visits that began on any day.
    pub visits: CountedVisitors,
    /// The requests that could not be attributed, because no memory was left for their client or
    /// agent.
    ///
    /// Each may be that of another visitor. They are part of every error.
    pub unattributed: u64,
}

/// The visitors of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayVisitors {
    /// The local date, in days since 1970.
    pub day: i64,
    /// The distinct visitors of the day.
    pub visitors: CountedVisitors,
    /// The visits that began on the day.
    pub visits: CountedVisitors,
}

/// A number that is exact, or an estimate with its error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountedVisitors {
    /// The number, or the estimate.
    pub value: u64,
    /// The true number differs by at most this. 0 if `value` is exact.
    ///
    /// Four standard errors, so that an estimate is within them in all but one of ten thousand
    /// cases.
    pub error_max: u64,
}

/// Sums of a property of the visitors that were kept, from which the sum over all visitors is
/// estimated.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    sum: u64,
    squares: u64,
    most: u64,
}

impl Sample {
    fn add(&mut self, number: u64) {
        self.sum += number;
        self.squares += number * number;
        self.most = self.most.max(number);
    }

    /// The estimate if one visitor in 2^`level` was kept.
    ///
    /// The estimator is that of Horvitz and Thompson. Its error is bounded as that of Wilson's
    /// interval, which also holds for few visitors and for none.
    fn estimate(self, level: u32) -> CountedVisitors {
        const STANDARD_ERRORS: f64 = 4.0;
        if level == 0 {
            return CountedVisitors { value: self.sum, error_max: 0 };
        }
        let scale = 2f64.powi(level as i32);
        let most = self.most.max(1) as f64;
        let variance = (1.0 - 1.0 / scale) * self.squares as f64;
        let half = STANDARD_ERRORS * most / 2.0;
        let error = STANDARD_ERRORS * ((variance + half * half).sqrt() + half) * scale;
        CountedVisitors { value: (self.sum as f64 * scale) as u64, error_max: error.ceil() as u64 }
    }
}

impl VisitorCounts {
    /// Counts half hours. One visitor in 2^`level` was kept.
    pub(super) fn of(mut half_hours: Vec<HalfHour>, level: u32) -> Self {
        let mut days: BTreeMap<i64, (Sample, Sample)> = BTreeMap::new();
        let [mut visitors, mut distinct, mut visits] = [Sample::default(); 3];
        for_each_visitor(&mut half_hours, |own_days| {
            for (day, begun) in own_days {
                let (visitors, visits) = days.entry(*day).or_default();
                visitors.add(1);
                visits.add(*begun);
            }
            distinct.add(1);
            visitors.add(own_days.len() as u64);
            visits.add(own_days.iter().map(|(_, begun)| begun).sum());
        });
        let day = |(day, (visitors, visits)): (i64, (Sample, Sample))| DayVisitors {
            day,
            visitors: visitors.estimate(level),
            visits: visits.estimate(level),
        };
        Self {
            days: days.into_iter().map(day).collect(),
            visitors: visitors.estimate(level),
            distinct: distinct.estimate(level),
            visits: visits.estimate(level),
            unattributed: 0,
        }
    }

    /// Adds requests by day that belong to no visitor that is known. `None` stands for those
    /// without a time.
    pub(super) fn with_unattributed(mut self, requests: &BTreeMap<Option<i64>, u64>) -> Self {
        for (day, requests) in
            requests.iter().filter_map(|(day, requests)| Some(((*day)?, *requests)))
        {
            let place = self.days.partition_point(|known| known.day < day);
            if self.days.get(place).is_none_or(|known| known.day != day) {
                let (visitors, visits) = Default::default();
                self.days.insert(place, DayVisitors { day, visitors, visits });
            }
            self.days[place].visitors.error_max += requests;
            self.days[place].visits.error_max += requests;
        }
        self.unattributed = requests.values().sum();
        for total in [&mut self.visitors, &mut self.distinct, &mut self.visits] {
            total.error_max += self.unattributed;
        }
        self
    }

    /// Returns whether all numbers are exact.
    pub fn is_exact(&self) -> bool {
        self.distinct.error_max == 0
    }
}

/// Returns the visitors of all days and their visits, as [`VisitorCounts`] has them.
pub(in crate::aggregate) fn visitors_of_days(
    half_hours: &mut [HalfHour],
    level: u32,
) -> (CountedVisitors, CountedVisitors) {
    let [mut visitors, mut visits] = [Sample::default(); 2];
    for_each_visitor(half_hours, |days| {
        visitors.add(days.len() as u64);
        visits.add(days.iter().map(|(_, begun)| begun).sum());
    });
    (visitors.estimate(level), visits.estimate(level))
}

/// Calls a function with the days of each visitor, and the visits that began on each.
fn for_each_visitor(half_hours: &mut [HalfHour], mut count: impl FnMut(&[(i64, u64)])) {
    half_hours.sort_unstable_by_key(|half_hour| (half_hour.key, half_hour.range_s()));
    let mut days = Vec::new();
    for visitor in half_hours.chunk_by(|one, next| one.key == next.key) {
        visits_by_day(visitor, &mut days);
        count(&days);
    }
}

/// Replaces `days` by the days on which a visitor was seen, each with the visits that began on it.
fn visits_by_day(half_hours: &[HalfHour], days: &mut Vec<(i64, u64)>) {
    days.clear();
    let mut last_seen_s = None;
    for half_hour in half_hours.iter().filter(|half_hour| half_hour.is_timed()) {
        let (first_s, last_s) = half_hour.range_s();
        let begins = last_seen_s.is_none_or(|seen_s| first_s - seen_s >= QUIET_S);
        last_seen_s = Some(last_s);
        days.push((half_hour.day(), u64::from(begins)));
    }
    // A clock that is set back over midnight returns to a day.
    days.sort_unstable();
    days.dedup_by(|(day, begun), (kept_day, kept)| {
        let is_same = day == kept_day;
        *kept += if is_same { *begun } else { 0 };
        is_same
    });
}
