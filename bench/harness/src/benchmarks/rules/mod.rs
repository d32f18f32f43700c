//! Rules: a limit of nginx over a data set in memory, and a thousand settings of it; its limit line
//! in a browser; a jail beside fail2ban.

mod fail2ban;
mod limit_line;

use serde_json::Value;

use crate::measure::{Measured, Unit};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use crate::{build, input, statistics};
use weir_tools::shell::{Outcome, command, output_of};

/// The goal: requests in a second that one core replays, from the rows of a data set to a report.
const REPLAYED_PER_SECOND_MIN: f64 = 10_000_000.0;

/// The goal for a thousand settings over four million requests.
const SWEEP_S_MAX: f64 = 1.0;

/// Measures the replay over rows, the pass over the requests, the sweep, and the limit line.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::as_text(&input::combined(settings)?)?;
    let example = build::example(settings, "replay")?;
    let runs = settings.runs.to_string();
    let threads = cores()?.to_string();
    let printed = output_of(&mut command(&example, &[&log.path, &runs, &threads]))?;
    let result: Value = serde_json::from_str(&printed)?;
    check(&result)?;
    let row =
        |name: &str, member: &str| Measured::of_json(name, Unit::Milliseconds, &result[member]);
    let (requests, tasks) = (&result["requests"], &result["settings"]);
    let rows = vec![
        row("limit_req from rows to a report, one core", "replay_ms"),
        row("limit_req over the requests by key, one core", "pass_ms"),
        row("a sweep of settings, all cores", "sweep_ms"),
    ];
    let title = format!("limit_req over {requests} requests in memory, and {tasks} settings of it");
    let [replay_s, sweep_s] = [0, 2]
        .map(|index| statistics::median(&rows[index].runs))
        .map(|median| median.map(|ms| ms / 1e3));
    let mut table = Table::list("rules", title, rows);
    let per_second = replay_s.map(|seconds| requests.as_f64().unwrap_or(0.0) / seconds);
    table.add_goal(
        "requests a second a core",
        per_second,
        Threshold::AtLeast(REPLAYED_PER_SECOND_MIN),
    );
    table.add_goal("seconds of the sweep", sweep_s, Threshold::AtMost(SWEEP_S_MAX));
    let mut tables = vec![table];
    if !settings.skips_page {
        tables.push(limit_line::run(settings)?);
    }
    tables.push(fail2ban::run(settings)?);
    Ok(tables)
}

/// Checks that the sweep agrees with the replay: at the rule's own setting, it rejects at least the
/// requests that are certainly rejected, and at most those that may be.
fn check(result: &Value) -> Outcome {
    let number = |value: &Value| value.as_u64().ok_or("the answer lacks a number");
    let (rejected, undecided) = (number(&result["rejected"])?, number(&result["undecided"])?);
    let swept = number(&result["swept"]["requests"])?;
    if !(rejected..=rejected + undecided).contains(&swept) || number(&result["keys"])? == 0 {
        return Err(format!(
            "the sweep rejects {swept}, the replay {rejected} to {}",
            rejected + undecided
        )
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn answers_that_differ_are_refused() {
        let answer = |swept: u64| json!({ "rejected": 5, "undecided": 10, "keys": 3, "swept": { "requests": swept } });
        assert!(check(&answer(4)).is_err() && check(&answer(16)).is_err());
        assert!(check(&answer(5)).is_ok() && check(&answer(15)).is_ok());
    }
}
