//! Answers a list of queries over a log in memory, as the page does when its filter changes. Prints
//! the time and the report of each:
//! `cargo run --release -p weir-query --example recompute -- LOG QUERIES.jsonl RUNS THREADS [FROM]`
//!
//! A line of QUERIES is a list of clauses, or a query, as in docs/protocol.md. FROM is what the page shows
//! before each query: `session`, the default, for the query of the previous line; `all` for every
//! record; or `nothing`, for no previous answer. The time is measured from the query to the report
//! as text, with 10 rows in each list and up to 400 buckets.

mod memory;

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use weir_query::{Evaluator, ParsedQuery};
use weir_view::{Clause, Query};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, queries, runs, threads, from @ ..] = &arguments[..] else {
        return Err("LOG QUERIES.jsonl RUNS THREADS [session|all|nothing]".into());
    };
    let from = from.first().map_or("session", String::as_str);
    let (runs, threads): (usize, usize) = (runs.parse()?, threads.parse()?);
    let data = memory::load(log, threads)?;
    let abandoned = AtomicBool::new(false);

    let mut all = Evaluator::new(data.clone(), ParsedQuery::parse(&Query::default())?, threads)?;
    all.answer(&abandoned);
    let mut before = all.change(ParsedQuery::parse(&Query::default())?)?;
    before.answer(&abandoned);
    for line in fs::read_to_string(queries)?.lines().filter(|line| !line.is_empty()) {
        let query = ParsedQuery::parse(&query_of(line)?)?;
        let (mut runs_ms, mut report) = (Vec::new(), String::new());
        let mut last = None;
        for _ in 0..runs {
            let start = Instant::now();
            let mut evaluator = match from {
                "session" => before.change(query.clone())?,
                "all" => all.change(query.clone())?,
                "nothing" => Evaluator::new(data.clone(), query.clone(), threads)?,
                _ => return Err("FROM is not valid; use session, all or nothing".into()),
            };
            let answer = evaluator.answer(&abandoned).ok_or("the answer was abandoned")?;
            report = serde_json::to_string(&answer.report)?;
            runs_ms.push(start.elapsed().as_secs_f64() * 1e3);
            last = Some(evaluator);
        }
        before = last.unwrap_or(before);
        let runs_ms = serde_json::to_string(&runs_ms)?;
        println!(r#"{{"query":{line},"runs_ms":{runs_ms},"report":{report}}}"#);
    }
    Ok(())
}

/// Reads a line of the queries.
fn query_of(line: &str) -> serde_json::Result<Query> {
    if line.starts_with('{') {
        return serde_json::from_str(line);
    }
    let clauses: Vec<Clause> = serde_json::from_str(line)?;
    Ok(Query { clauses, ..Query::default() })
}
