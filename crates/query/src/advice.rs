//! Evaluates a grid of rates and bursts around a limit, and suggests a setting from the log.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;

use weir_rules::LimitSweep;
use weir_view::{GridRate, LimitAdvice, LimitGrid};

use crate::limit_curve::sweep_grid;
use crate::snapshot_work::Interruption;
use crate::suggested_setting::{KeyClient, suggested_setting};

/// Rates that people commonly configure, per minute and per second.
const RATES_PER_MINUTE: [i64; 7] = [1, 3, 6, 10, 15, 20, 30];
const RATES_PER_SECOND: [i64; 14] = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1_000];

/// The number of grid rates on each side of the limit's own rate.
const RATES_PER_SIDE: usize = 7;

/// The first digits of the bursts in a grid: 1, 2, 3, 5, 7, 10, 20 and so on.
const BURST_DIGITS: [u32; 5] = [1, 2, 3, 5, 7];

/// The maximum number of bursts in a grid, without the limit's own and the suggested one.
const BURSTS_MAX: usize = 22;

/// Returns the setting that the log suggests, with the clients next to it. [`LimitAdvice::at`] is 0
/// until a grid sets it. `clients` has the [`suspects`](crate::suspects) that are clients. Returns
/// `None` if there are no requests.
pub(crate) fn advice(
    sweep: &LimitSweep,
    clients: &HashMap<usize, KeyClient>,
) -> Option<LimitAdvice> {
    let found = suggested_setting(sweep, clients)?;
    Some(LimitAdvice {
        suggestion: found.suggestion,
        at: [0; 2],
        slowest_rejected: found.slowest_rejected,
    })
}

/// Returns what each rate and burst around those of a limit would have caught. Uses up to `jobs`
/// threads.
///
/// # Errors
/// If `abandoned` becomes true.
pub(crate) fn grid(
    sweep: &LimitSweep,
    mut advice: Option<LimitAdvice>,
    jobs: usize,
    abandoned: &AtomicBool,
) -> Result<LimitGrid, Interruption> {
    let rates = rates(sweep.rate());
    let suggested = advice.as_ref().map(|advice| advice.suggestion.burst);
    let peaks = sweep.peaks(0..sweep.keys(), sweep.rate());
    let highest = peaks.into_iter().fold(0.0, f64::max).ceil() as u32;
    let bursts = bursts(highest, [Some(sweep.burst()), suggested].into_iter().flatten());
    let swept = sweep_grid(sweep, &rates, &bursts, jobs, abandoned)?;
    let at = |burst: u32| bursts.partition_point(|other| *other < burst);
    let rates_shown: Vec<GridRate> = rates.iter().map(|rate| grid_rate(*rate)).collect();
    if let Some(advice) = &mut advice {
        let is_it = |rate: &GridRate| Some(&rate.setting) == advice.suggestion.rate.as_ref();
        let row = rates_shown.iter().position(is_it).unwrap_or_default();
        advice.at = [row, at(advice.suggestion.burst)];
    }
    Ok(LimitGrid {
        own: [rates.partition_point(|rate| *rate < sweep.rate()), at(sweep.burst())],
        keys: swept.iter().map(|row| row.iter().map(|cell| cell.keys).collect()).collect(),
        requests: swept.iter().map(|row| row.iter().map(|cell| cell.requests).collect()).collect(),
        rates: rates_shown,
        bursts,
        advice,
    })
}

/// Returns rates around `own`, in thousandths of a request per second.
pub(crate) fn rates(own: i64) -> Vec<i64> {
    let in_minute = RATES_PER_MINUTE.map(thousandths_of_rate_per_minute);
    let in_second = RATES_PER_SECOND.map(|rate| rate * 1_000);
    let all: BTreeSet<i64> = in_minute.into_iter().chain(in_second).chain([own]).collect();
    let all: Vec<i64> = all.into_iter().collect();
    let at = all.partition_point(|rate| *rate < own);
    all[at.saturating_sub(RATES_PER_SIDE)..all.len().min(at + RATES_PER_SIDE + 1)].to_vec()
}

/// Converts a rate per minute as nginx does: the fraction of a thousandth is dropped.
fn thousandths_of_rate_per_minute(rate: i64) -> i64 {
    rate * 1_000 / 60
}

/// Returns a rate as it is written in an nginx configuration.
pub(crate) fn grid_rate(thousandths: i64) -> GridRate {
    let setting = if thousandths % 1_000 == 0 {
        format!("{}r/s", thousandths / 1_000)
    } else {
        // The lowest rate per minute that nginx converts to these thousandths.
        format!("{}r/m", (thousandths * 60 + 999) / 1_000)
    };
    GridRate { setting, per_second: thousandths as f64 / 1_000.0 }
}

/// Returns bursts from 0 to the first above `highest`, and `others`, in ascending order.
fn bursts(highest: u32, others: impl Iterator<Item = u32>) -> Vec<u32> {
    let powers = (0..9).map(|power| 10u32.pow(power));
    let round = powers.flat_map(|power| BURST_DIGITS.map(|digit| digit * power));
    let mut round: Vec<u32> = [0].into_iter().chain(round).collect();
    let needed = round.partition_point(|burst| *burst < highest) + 1;
    round.truncate(needed);
    let mut digits = BURST_DIGITS.to_vec();
    for left_out in [7, 3, 2] {
        if round.len() > BURSTS_MAX {
            digits.retain(|digit| *digit != left_out);
            round.retain(|burst| *burst < 10 || digits.contains(&first_digit(*burst)));
        }
    }
    let bursts: BTreeSet<u32> = round.into_iter().chain([highest]).chain(others).collect();
    bursts.into_iter().collect()
}

fn first_digit(mut number: u32) -> u32 {
    while number >= 10 {
        number /= 10;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::{bursts, grid_rate, rates, thousandths_of_rate_per_minute};

    #[test]
    fn rates_are_written_as_they_are_read() {
        for rate in 1..60 {
            let thousandths = thousandths_of_rate_per_minute(rate);
            let setting = grid_rate(thousandths).setting;
            let number: i64 = setting.trim_end_matches("r/m").parse().expect(&setting);
            assert_eq!(thousandths_of_rate_per_minute(number), thousandths, "{setting}");
        }
        assert_eq!(grid_rate(5_000).setting, "5r/s");
        assert_eq!(grid_rate(500).setting, "30r/m");
        assert_eq!(grid_rate(1_500).setting, "90r/m");
    }

    #[test]
    fn a_grid_is_around_the_limit() {
        for own in [16, 500, 1_000, 4_000, 25_000, 1_000_000, 9_000_000] {
            let rates = rates(own);
            assert!(rates.contains(&own) && rates.len() >= 8, "{own}: {rates:?}");
            assert!(rates.is_sorted_by(|one, other| one < other) && rates.len() <= 15);
        }
        for highest in [0, 1, 6, 43, 999, 70_000, 4_000_000, u32::MAX] {
            let bursts = bursts(highest, [17, 43].into_iter());
            assert!(bursts.is_sorted_by(|one, other| one < other), "{bursts:?}");
            assert!(bursts.contains(&0) && bursts.contains(&17) && bursts.contains(&43));
            assert!(bursts.last() >= Some(&highest) && bursts.len() <= 26, "{bursts:?}");
        }
    }
}
