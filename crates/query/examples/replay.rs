//! Replays a limit of nginx over a log in memory, and sweeps over other settings of it. Prints the
//! times and the answers as JSON:
//! `cargo run --release -p weir-query --example replay -- LOG RUNS THREADS`
//!
//! `replay_ms` is the time of a replay over all rows on one thread. `pass_ms` is the time of a pass
//! over the requests that are already grouped by key. `sweep_ms` is the time of a thousand settings
//! on all threads.

mod memory;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use weir_query::{ParsedQuery, limit_grid, replay_rule};
use weir_rules::{RuleFiles, parse_rules};
use weir_view::Query;

const RULE: &str = "limit_req_zone $binary_remote_addr zone=one:10m rate=2r/s;
    limit_req zone=one burst=10;";

/// The rates of the sweep, in thousandths of a request per second: 1r/s to 25r/s.
const RATES: usize = 25;

/// The bursts of the sweep.
const BURSTS: u32 = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, runs, threads] = &arguments[..] else {
        return Err("LOG RUNS THREADS".into());
    };
    let (runs, threads): (usize, usize) = (runs.parse()?, threads.parse()?);
    let data = memory::load(log, threads)?;
    let rule = parse_rules(RULE, "bench", None, &RuleFiles::default())
        .map_err(|error| error.to_string())?
        .remove(0);
    let (go_on, query) = (AtomicBool::new(false), ParsedQuery::parse(&Query::default())?);
    let rates: Vec<i64> = (1..=RATES as i64).map(|rate| rate * 1_000).collect();
    let bursts: Vec<u32> = (0..BURSTS).collect();
    let (mut replay_ms, mut pass_ms, mut sweep_ms) = (Vec::new(), Vec::new(), Vec::new());
    let mut answers = (None, None);
    for _ in 0..runs {
        let start = Instant::now();
        let answer = replay_rule(&data, &query, &*rule, 1, &go_on)
            .map_err(|error| error.to_string())?
            .ok_or("the answer was abandoned")?;
        replay_ms.push(start.elapsed().as_secs_f64() * 1e3);
        let sweep = answer.sweep.as_ref().ok_or("the rule is no single limit")?;
        let start = Instant::now();
        let own = sweep.settings(0..sweep.keys(), sweep.rate(), &[sweep.burst()]);
        pass_ms.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let grid = limit_grid(sweep, &rates, &bursts, threads);
        sweep_ms.push(start.elapsed().as_secs_f64() * 1e3);
        if grid[1][10] != own[0] {
            return Err("the sweep and the pass over its own setting differ".into());
        }
        let rejected: u64 = grid.iter().flatten().map(|setting| setting.requests).sum();
        answers = (Some(answer), Some((own[0], rejected)));
    }
    let (Some(answer), Some((own, rejected))) = answers else { return Err("no runs".into()) };
    let requests = answer.rule.requests;
    println!(
        "{}",
        serde_json::json!({
            "requests": requests.passed + requests.delayed + requests.rejected + requests.undecided,
            "keys": answer.rule.keys.seen,
            "rejected": requests.rejected,
            "undecided": requests.undecided,
            "swept": { "keys": own.keys, "requests": own.requests, "all": rejected },
            "settings": rates.len() * bursts.len(),
            "replay_ms": replay_ms, "pass_ms": pass_ms, "sweep_ms": sweep_ms,
        })
    );
    Ok(())
}
