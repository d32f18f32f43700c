//! Computes what each burst of a limit would have caught.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use crate::snapshot_work::Interruption;
use crate::spread::spread;
use weir_rules::{LimitSweep, SweptSetting};
use weir_view::{CurvePoint, LimitCurve, Suggestion};

/// The number of key ranges for each thread. Several, so that a key with many requests does not
/// keep one thread busy alone at the end.
const PARTS_PER_JOB: usize = 4;

/// The maximum number of bursts on a curve.
const POINTS_MAX: usize = 96;

/// A curve has every burst up to this one.
const DENSE_BURSTS: u32 = 32;

/// The maximum number of peaks with a curve.
const PEAKS_MAX: usize = 100_000;

/// Returns what each burst catches at the limit's own rate.
pub fn limit_curve(sweep: &LimitSweep) -> LimitCurve {
    let mut peaks = sweep.peaks(0..sweep.keys(), sweep.rate());
    peaks.retain(|peak| *peak > 0.0);
    peaks.sort_by(|one, other| other.total_cmp(one));
    let highest = peaks.first().map_or(0.0, |peak| peak.ceil()) as u32;
    let bursts = bursts(highest.max(sweep.burst()));
    let settings = sweep.settings(0..sweep.keys(), sweep.rate(), &bursts);
    let points = bursts.iter().zip(settings).map(|(burst, setting)| CurvePoint {
        burst: *burst,
        keys: setting.keys,
        requests: setting.requests,
    });
    let points = points.collect();
    peaks.truncate(PEAKS_MAX);
    LimitCurve { rate: sweep.rate() as f64 / 1_000.0, burst: sweep.burst(), points, peaks }
}

/// A suggestion at a rate, in thousandths of a request per second, with what it rejects.
pub(crate) fn with_requests(
    sweep: &LimitSweep,
    rate: i64,
    found: &weir_rules::Suggestion,
) -> Suggestion {
    let swept = sweep.settings(0..sweep.keys(), rate, &[found.burst]);
    Suggestion {
        burst: found.burst,
        keys: found.keys,
        requests: swept.first().map_or(0, |swept| swept.requests),
        highest_below: found.highest_below,
        lowest_above: found.lowest_above,
        rate: None,
        busiest_spared: None,
        setting: None,
        text: None,
        limit: None,
        rejected_by_others: Vec::new(),
    }
}

/// As [`limit_grid`], but interruptible.
///
/// # Errors
/// Fails if `abandoned` becomes true.
pub(crate) fn sweep_grid(
    sweep: &LimitSweep,
    rates: &[i64],
    bursts: &[u32],
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<Vec<Vec<SweptSetting>>, Interruption> {
    let parts = sweep.parts(jobs * PARTS_PER_JOB);
    let tasks: Vec<(usize, Range<usize>)> = (0..rates.len())
        .flat_map(|rate| parts.iter().cloned().map(move |part| (rate, part)))
        .collect();
    let work = |(rate, part): &(usize, Range<usize>)| {
        (*rate, sweep.settings(part.clone(), rates[*rate], bursts))
    };
    let swept = spread(jobs, tasks.iter(), abandoned, work)?;
    let mut grid = vec![vec![SweptSetting::default(); bursts.len()]; rates.len()];
    for (rate, settings) in swept {
        for (sum, setting) in grid[rate].iter_mut().zip(settings) {
            sum.keys += setting.keys;
            sum.requests += setting.requests;
        }
    }
    Ok(grid)
}

/// Returns what each burst catches at each rate: a list for each rate. Rates are in thousandths of
/// a request per second, bursts in requests. Uses up to `jobs` threads.
pub fn limit_grid(
    sweep: &LimitSweep,
    rates: &[i64],
    bursts: &[u32],
    jobs: usize,
) -> Vec<Vec<SweptSetting>> {
    sweep_grid(sweep, rates, bursts, jobs, &AtomicBool::new(false)).unwrap_or_default()
}

/// Returns bursts from 0 to `last`: every one at first, then at growing distances.
fn bursts(last: u32) -> Vec<u32> {
    let mut bursts: Vec<u32> = (0..=last.min(DENSE_BURSTS)).collect();
    let steps = POINTS_MAX - bursts.len();
    let factor = f64::from(last.max(1)) / f64::from(DENSE_BURSTS);
    for step in 1..=steps {
        let burst = f64::from(DENSE_BURSTS) * factor.powf(step as f64 / steps as f64);
        let burst = (burst.round() as u32).min(last);
        if bursts.last().is_some_and(|last| *last < burst) {
            bursts.push(burst);
        }
    }
    bursts
}

#[cfg(test)]
mod tests {
    use super::{POINTS_MAX, bursts};

    #[test]
    fn bursts_ascend_from_none_to_the_last() {
        for last in [0, 1, 5, 32, 33, 100, 5_000, u32::MAX] {
            let bursts = bursts(last);
            assert!(bursts.is_sorted_by(|one, other| one < other), "{last}");
            assert_eq!((bursts[0], bursts.last()), (0, Some(&last)));
            assert!(bursts.len() <= POINTS_MAX);
        }
    }
}
