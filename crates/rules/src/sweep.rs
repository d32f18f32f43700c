//! Evaluates other rates and bursts of nginx's `limit_req`, for thousands of settings at once.
//!
//! The requests are grouped by key once, as the times between them. A rate then needs one pass to
//! find the peak of each key, which decides for every burst whether the key trips. Counting the
//! rejected requests takes a pass over the keys that trip, for [`LANES`] bursts at a time.

use std::ops::Range;

/// A request, in the unit of counts.
const REQUEST: i64 = 1_000;

/// The number of bursts in one pass. The passes are independent of each other, so that they run in
/// vector registers and do not wait for one another.
const LANES: usize = 16;

/// Levels are kept above this, so that they fit into 32 bits: the key is long since drained.
const DRAINED: i32 = -(1 << 29);

/// The requests of a limit by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitSweep {
    /// The rate of the limit itself, in thousandths of a request in a second.
    rate: i64,
    /// The burst of the limit itself, in requests.
    burst: u32,
    /// By key: where its requests begin in `gaps_ms`; one more for the end of the last.
    starts: Vec<u32>,
    /// The time from the request of the key before, in milliseconds; 0 for the first.
    gaps_ms: Vec<u32>,
}

/// The effect of a setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweptSetting {
    /// The keys of which a request is rejected.
    pub keys: u64,
    /// The rejected requests.
    pub requests: u64,
}

impl LimitSweep {
    /// A sweep of about so many requests, whose keys are not added yet.
    pub(crate) fn new(rate: i64, burst: u32, requests: usize) -> Self {
        Self { rate, burst, starts: vec![0], gaps_ms: Vec::with_capacity(requests) }
    }

    /// Adds a key with its arrivals in their order, in milliseconds.
    pub(crate) fn push(&mut self, arrivals_ms: &[i64]) {
        let mut before_ms = arrivals_ms.first().copied().unwrap_or(0);
        for arrival_ms in arrivals_ms {
            let gap_ms = arrival_ms.saturating_sub(before_ms).max(0);
            self.gaps_ms.push(u32::try_from(gap_ms).unwrap_or(u32::MAX));
            before_ms = *arrival_ms;
        }
        self.starts.push(self.gaps_ms.len() as u32);
    }

    /// Returns the rate of the limit itself, in thousandths of a request in a second.
    pub fn rate(&self) -> i64 {
        self.rate
    }

    /// Returns the burst of the limit itself, in requests.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> usize {
        self.gaps_ms.len()
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        (self.starts.capacity() + self.gaps_ms.capacity()) * size_of::<u32>()
    }

    /// Returns `parts` ranges of keys with about as many requests each, to be swept in parallel.
    pub fn parts(&self, parts: usize) -> Vec<Range<usize>> {
        let parts = parts.max(1);
        let end = |part: usize| {
            let requests = (self.requests() * part / parts) as u32;
            self.starts.partition_point(|start| *start < requests).min(self.keys())
        };
        let mut ranges: Vec<Range<usize>> =
            (0..parts).map(|part| end(part)..end(part + 1)).collect();
        if let Some(last) = ranges.last_mut() {
            last.end = self.keys();
        }
        ranges
    }

    /// Returns the peak of each of these keys at a rate, in requests: the key trips exactly the
    /// bursts below it. The rate is in thousandths of a request in a second.
    pub fn peaks(&self, keys: Range<usize>, rate: i64) -> Vec<f64> {
        keys.map(|key| self.peak(key, rate) as f64 / REQUEST as f64).collect()
    }

    /// Returns the effect of each burst at a rate, over some of the keys. Sums over all parts of
    /// the
    /// keys are those of the log. Bursts are in requests, the rate in thousandths of a request in a
    /// second.
    pub fn settings(&self, keys: Range<usize>, rate: i64, bursts: &[u32]) -> Vec<SweptSetting> {
        let mut order: Vec<usize> = (0..bursts.len()).collect();
        order.sort_by_key(|index| bursts[*index]);
        let limits: Vec<i64> =
            order.iter().map(|index| i64::from(bursts[*index]) * REQUEST).collect();
        let mut sums = vec![SweptSetting::default(); bursts.len()];
        for key in keys {
            // A key with a few requests trips no burst from their number on.
            let requests = i64::from(self.starts[key + 1] - self.starts[key]) - 1;
            if limits.first().is_none_or(|first| requests * REQUEST <= *first) {
                continue;
            }
            let peak = self.peak(key, rate);
            let tripped = limits.partition_point(|limit| *limit < peak);
            for sum in &mut sums[..tripped] {
                sum.keys += 1;
            }
            self.add_rejected(key, rate, &limits[..tripped], &mut sums);
        }
        let mut settings = vec![SweptSetting::default(); bursts.len()];
        for (index, sum) in order.into_iter().zip(sums) {
            settings[index] = sum;
        }
        settings
    }

    fn gaps(&self, key: usize) -> &[u32] {
        &self.gaps_ms[self.starts[key] as usize..self.starts[key + 1] as usize]
    }

    /// The highest excess of a key if no request were rejected.
    fn peak(&self, key: usize, rate: i64) -> i64 {
        let (mut excess, mut peak) = (0i64, 0);
        for gap_ms in self.gaps(key).iter().skip(1) {
            excess = (excess - rate.saturating_mul(i64::from(*gap_ms)) / 1_000 + REQUEST).max(0);
            peak = peak.max(excess);
        }
        peak
    }

    /// Adds the requests of a key that each limit rejects.
    fn add_rejected(&self, key: usize, rate: i64, limits: &[i64], sums: &mut [SweptSetting]) {
        let gaps = self.gaps(key);
        // Whole requests in a second drain whole thousandths in a millisecond.
        let per_ms = u32::try_from(rate / 1_000).ok().filter(|_| rate % 1_000 == 0);
        for (limits, sums) in limits.chunks(LANES).zip(sums.chunks_mut(LANES)) {
            let fits = limits.iter().all(|limit| *limit < i64::from(i32::MAX) / 4);
            match per_ms.filter(|_| fits) {
                Some(per_ms) => {
                    let mut lanes = [i32::MAX / 4; LANES];
                    for (lane, limit) in lanes.iter_mut().zip(limits) {
                        *lane = *limit as i32;
                    }
                    let rejected = rejected_by_lanes(gaps, per_ms, &lanes);
                    for (sum, rejected) in sums.iter_mut().zip(rejected) {
                        sum.requests += u64::from(rejected);
                    }
                }
                None => {
                    for (sum, limit) in sums.iter_mut().zip(limits) {
                        sum.requests += rejected(gaps, rate, *limit);
                    }
                }
            }
        }
    }
}

/// The requests that a limit rejects.
fn rejected(gaps_ms: &[u32], rate: i64, limit: i64) -> u64 {
    let (mut excess, mut elapsed_ms, mut rejected) = (0i64, 0i64, 0);
    for gap_ms in gaps_ms.iter().skip(1) {
        elapsed_ms += i64::from(*gap_ms);
        let next = (excess - rate.saturating_mul(elapsed_ms) / 1_000 + REQUEST).max(0);
        if next > limit {
            rejected += 1;
        } else {
            excess = next;
            elapsed_ms = 0;
        }
    }
    rejected
}

/// The requests that each of some limits rejects, at a rate of whole thousandths in a millisecond.
///
/// A lane is the excess less what has drained since, which a rejected request leaves as it is.
fn rejected_by_lanes(gaps_ms: &[u32], per_ms: u32, limits: &[i32; LANES]) -> [u32; LANES] {
    let (mut levels, mut rejected) = ([0i32; LANES], [0u32; LANES]);
    for gap_ms in gaps_ms.iter().skip(1) {
        let drained = (u64::from(*gap_ms) * u64::from(per_ms)).min(DRAINED.unsigned_abs().into());
        let drained = drained as i32;
        for lane in 0..LANES {
            let level = (levels[lane] - drained).max(DRAINED);
            let excess = (level + REQUEST as i32).max(0);
            let is_rejected = excess > limits[lane];
            levels[lane] = if is_rejected { level } else { excess };
            rejected[lane] += u32::from(is_rejected);
        }
    }
    rejected
}
