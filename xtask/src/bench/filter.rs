//! A filter changed: everything that is on the page computed anew.

use std::path::Path;

use serde_json::{Value, json};

use super::input::{self, Log};
use super::measure::{Measured, Unit};
use super::queries::{Query, queries, session};
use super::settings::{Settings, cores, folder, text};
use super::statistics;
use super::table::{Table, Wanted};
use super::{answer, build, duckdb};
use crate::shell::{Outcome, command, output_of, root};

/// A change is to be answered within a frame, in milliseconds at the median.
const MEDIAN_MS_MAX: f64 = 16.0;
/// DuckDB is to take so many times as long.
const TIMES_DUCKDB: f64 = 5.0;
const FROM_NONE: &str = "Weir, from no filter";
const IN_SESSION: &str = "Weir, in a session's order";
const DUCKDB: &str = "DuckDB";

/// Recorded runs of each of its queries, which take seconds.
const DUCKDB_RUNS: usize = 2;

/// The answer to one query.
struct Answer {
    name: String,
    runs_ms: Vec<f64>,
    report: Value,
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if !root().join("crates/server/examples/recompute.rs").exists() {
        let mut table = Table::list("filter", "a filter changed", Vec::new());
        table.notes.push("missing: the example recompute of crates/server".to_owned());
        return Ok(vec![table]);
    }
    build::weir(settings)?;
    let log = input::as_text(&input::combined(settings)?)?;
    let (printed, _) = answer::timed(&mut answer::report_command(settings, &log.path, cores()?))?;
    let unfiltered = serde_json::from_str(&printed)?;
    let (Some(queries), Some(session)) = (queries(&unfiltered), session(&unfiltered)) else {
        return Err("the log has too little in it to ask for".into());
    };
    let from_none: Vec<Query> =
        queries.iter().flat_map(|query| [Query::none(), query.clone()]).collect();
    let ours = recompute(settings, &log, &from_none)?;
    let ours: Vec<Answer> = ours.into_iter().skip(1).step_by(2).collect();
    let in_session = recompute(settings, &log, &session)?;
    check_orders(&queries, &ours, &session, &in_session)?;
    let (theirs, note) = match duckdb::find(settings) {
        Ok(python) => {
            let version = duckdb::version(&python).unwrap_or_default();
            (duckdb(settings, &python, &log, &queries, &ours)?, format!("DuckDB {version}"))
        }
        Err(missing) => (Vec::new(), missing),
    };
    Ok(tables(&unfiltered, &ours, &in_session, &theirs, note))
}

/// Asks Weir, each query as a change of the one before; the first run of each does not count.
fn recompute(settings: &Settings, log: &Log, queries: &[Query]) -> Outcome<Vec<Answer>> {
    let example = build::example(settings, "weir-server", "recompute")?;
    let file = folder()?.join("queries.jsonl");
    write_lines(&file, queries.iter().map(|query| json!(query.clauses)))?;
    let runs = (settings.runs + 1).to_string();
    let arguments = [&log.path, &text(&file), &runs, &cores()?.to_string()];
    let printed = output_of(command(&example, &[]).args(arguments))?;
    answers(&printed, queries)
}

/// Asks DuckDB, and holds its answers against ours.
fn duckdb(
    settings: &Settings,
    python: &str,
    log: &Log,
    queries: &[Query],
    ours: &[Answer],
) -> Outcome<Vec<Answer>> {
    let file = folder()?.join("queries-duckdb.jsonl");
    let lines = queries.iter().zip(ours).map(|(query, ours)| {
        // Of no rows there is no histogram.
        let step_s = ours.report["histogram"]["step_s"].as_u64().unwrap_or(1);
        json!({"clauses": query.clauses, "step_s": step_s})
    });
    write_lines(&file, lines)?;
    let runs = (settings.runs.min(DUCKDB_RUNS) + 1).to_string();
    let threads = cores()?.to_string();
    let arguments = ["-B", "bench/duckdb/filter.py", &log.path, &threads, &text(&file), &runs];
    let printed = output_of(&mut command(python, &arguments))?;
    let theirs = answers(&printed, queries)?;
    for (ours, theirs) in ours.iter().zip(&theirs) {
        duckdb::check(&ours.report, &theirs.report)
            .map_err(|error| format!("{}: {error}", ours.name))?;
    }
    Ok(theirs)
}

fn write_lines(file: &Path, lines: impl Iterator<Item = Value>) -> Outcome {
    let lines: Vec<String> = lines.map(|line| line.to_string() + "\n").collect();
    Ok(std::fs::write(file, lines.concat())?)
}

/// Reads a JSON line for each query.
fn answers(printed: &str, queries: &[Query]) -> Outcome<Vec<Answer>> {
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with('{')).collect();
    if lines.len() != queries.len() {
        return Err(format!("{} answers to {} queries", lines.len(), queries.len()).into());
    }
    let answers = lines.into_iter().zip(queries).map(|(line, query)| {
        let mut answer: Value = serde_json::from_str(line)?;
        let runs = answer["runs_ms"].as_array().ok_or("an answer without its times")?;
        let runs_ms = runs.iter().skip(1).filter_map(Value::as_f64).collect();
        Ok(Answer { name: query.name.clone(), runs_ms, report: answer["report"].take() })
    });
    answers.collect()
}

/// What is computed from another filter has to be what is computed from none.
fn check_orders(
    queries: &[Query],
    ours: &[Answer],
    session: &[Query],
    in_session: &[Answer],
) -> Outcome {
    let mut compared = 0;
    for (query, answer) in queries.iter().zip(ours) {
        for (other_query, other) in session.iter().zip(in_session) {
            if query.clauses == other_query.clauses {
                compared += 1;
                if answer.report != other.report {
                    return Err(format!("{} depends on what was asked before", query.name).into());
                }
            }
        }
    }
    if compared == 0 { Err("the session shares no query with the list".into()) } else { Ok(()) }
}

fn tables(
    unfiltered: &Value,
    ours: &[Answer],
    in_session: &[Answer],
    theirs: &[Answer],
    note: String,
) -> Vec<Table> {
    let rows = unfiltered["records"].as_u64().unwrap_or(0);
    let all = [(FROM_NONE, ours), (IN_SESSION, in_session), (DUCKDB, theirs)];
    let answered = all.into_iter().filter(|(_, answers)| !answers.is_empty());
    let summary = answered.clone().map(|(name, answers)| Measured {
        name: name.to_owned(),
        unit: Unit::Milliseconds,
        runs: answers.iter().filter_map(|answer| statistics::median(&answer.runs_ms)).collect(),
    });
    let title = format!("everything computed anew over {rows} rows, the medians of all queries");
    let mut table = Table::new("filter", title, summary.collect());
    for name in [FROM_NONE, IN_SESSION] {
        let median = table.row(name).map(Measured::median);
        table.add_goal(&format!("{name}, ms"), median, Wanted::AtMost(MEDIAN_MS_MAX));
    }
    table.add_goal(
        "DuckDB's time by Weir's",
        table.ratio(DUCKDB, FROM_NONE),
        Wanted::AtLeast(TIMES_DUCKDB),
    );
    table.notes.push(note);
    let each = answered.flat_map(|(engine, answers)| {
        answers.iter().map(move |answer| Measured {
            name: format!("{engine}: {} ({} rows)", answer.name, answer.report["matched"]),
            unit: Unit::Milliseconds,
            runs: answer.runs_ms.clone(),
        })
    });
    vec![table, Table::list("filter", "the same, query by query", each.collect())]
}

#[cfg(test)]
mod tests {
    use super::{Answer, Query, answers, check_orders, tables};
    use serde_json::json;

    fn answer(runs_ms: &[f64], matched: u64) -> Answer {
        let report = json!({"matched": matched});
        Answer { name: "a query".to_owned(), runs_ms: runs_ms.to_vec(), report }
    }

    #[test]
    fn an_answer_for_each_query_without_its_first_run() {
        let queries = [Query::none()];
        let line = "loaded\n{\"query\":[],\"runs_ms\":[9.0,2.0,3.0],\"report\":{\"matched\":4}}\n";
        let answers = answers(line, &queries).unwrap();
        assert_eq!(answers[0].runs_ms, [2.0, 3.0]);
        assert_eq!(answers[0].report["matched"], 4);
        assert!(super::answers("", &queries).is_err());
    }

    #[test]
    fn the_order_may_make_no_difference() {
        let queries = [Query::none()];
        let same = check_orders(&queries, &[answer(&[1.0], 4)], &queries, &[answer(&[2.0], 4)]);
        assert!(same.is_ok());
        let other = check_orders(&queries, &[answer(&[1.0], 4)], &queries, &[answer(&[2.0], 5)]);
        assert!(other.is_err());
        assert!(check_orders(&queries, &[answer(&[1.0], 4)], &[], &[]).is_err());
    }

    #[test]
    fn the_summary_is_of_the_queries_medians() {
        let ours = [answer(&[1.0, 2.0, 9.0], 4), answer(&[4.0], 4)];
        let theirs = [answer(&[15.0], 4)];
        let unfiltered = json!({"records": 10});
        let tables = tables(&unfiltered, &ours, &[], &theirs, String::new());
        assert_eq!(tables[0].rows[0].runs, [2.0, 4.0]);
        assert_eq!(tables[0].goals[1].found, 5.0);
        assert_eq!(tables[1].rows.len(), 3);
    }
}
