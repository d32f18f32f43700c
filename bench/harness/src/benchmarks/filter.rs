//! A changed filter: everything on the page is computed again.

use std::path::Path;

use serde_json::{Value, json};

use super::queries::{Queries, Query};
use crate::input::{self, Log};
use crate::measure::{Measured, Unit};
use crate::peers::duckdb;
use crate::settings::{Settings, cores, folder, text};
use crate::statistics;
use crate::table::{Table, Threshold};
use crate::{answer, build};
use weir_tools::shell::{Outcome, command, output_of};

/// The goal for the median: one frame of a screen.
const MEDIAN_MS_MAX: f64 = 16.0;
/// The goal: DuckDB takes this many times as long.
const TIMES_DUCKDB: f64 = 5.0;
const FROM_NOTHING: &str = "Weir, with no answer known";
const IN_SESSION: &str = "Weir, in a session's order";
const DUCKDB: &str = "DuckDB";

/// Recorded runs of each query of DuckDB, which take seconds.
const DUCKDB_RUNS: usize = 2;

/// The answer to one query.
struct QueryAnswer {
    name: String,
    /// The first run is not among them.
    runs_ms: Vec<f64>,
    report: Value,
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::as_text(&input::combined(settings)?)?;
    let (printed, _) = answer::timed(&mut answer::report_command(settings, &log.path, cores()?))?;
    let unfiltered: Value = serde_json::from_str(&printed)?;
    let queries = Queries::of(&unfiltered)
        .ok_or("the log is too small for the queries; use a larger --size")?;
    let from_nothing = recompute(settings, &log, &queries.single, "nothing")?;
    let in_session = recompute(settings, &log, &queries.session, "session")?;
    check_orders(&queries, &from_nothing, &in_session)?;
    let mut rows = vec![medians(FROM_NOTHING, &from_nothing), medians(IN_SESSION, &in_session)];
    let note = match duckdb::find(settings) {
        Ok(python) => {
            let theirs = duckdb(settings, &python, &log, &queries.single, &from_nothing)?;
            rows.push(medians(DUCKDB, &theirs));
            format!("DuckDB {}", duckdb::version(&python).unwrap_or_default())
        }
        Err(missing) => missing.to_string(),
    };
    let title = format!(
        "everything computed anew over {} rows, the medians of all queries",
        unfiltered["records"]
    );
    let mut table = Table::new("filter", title, rows);
    let median = table.row(IN_SESSION).map(Measured::median);
    table.add_goal(&format!("{IN_SESSION}, ms"), median, Threshold::AtMost(MEDIAN_MS_MAX));
    // DuckDB does not reuse an answer either.
    let what = format!("DuckDB's time by that of {FROM_NOTHING}");
    let times = table.ratio(DUCKDB, FROM_NOTHING);
    table.add_goal(&what, times, Threshold::AtLeast(TIMES_DUCKDB));
    table.notes.push(note);
    Ok(vec![table])
}

/// The median of each query.
fn medians(name: &str, answers: &[QueryAnswer]) -> Measured {
    Measured {
        name: name.to_owned(),
        unit: Unit::Milliseconds,
        runs: answers.iter().filter_map(|answer| statistics::median(&answer.runs_ms)).collect(),
    }
}

/// Asks Weir while it knows no answer (`nothing`), or the answer to the query before (`session`).
fn recompute(
    settings: &Settings,
    log: &Log,
    queries: &[Query],
    from: &str,
) -> Outcome<Vec<QueryAnswer>> {
    let example = build::example(settings, "recompute")?;
    let file = folder()?.join("queries.jsonl");
    write_lines(&file, queries.iter().map(|query| json!(query.clauses)))?;
    let runs = (settings.runs + 1).to_string();
    let threads = cores()?.to_string();
    let arguments = [&log.path, &text(&file), &runs, &threads, from];
    let printed = output_of(&mut command(&example, &arguments))?;
    answers(&printed, queries)
}

/// Asks DuckDB, and compares its answers with Weir's.
fn duckdb(
    settings: &Settings,
    python: &str,
    log: &Log,
    queries: &[Query],
    ours: &[QueryAnswer],
) -> Outcome<Vec<QueryAnswer>> {
    let file = folder()?.join("queries-duckdb.jsonl");
    let lines = queries.iter().zip(ours).map(|(query, ours)| {
        // An answer without rows has no histogram.
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

/// Reads one line of JSON for each query.
fn answers(printed: &str, queries: &[Query]) -> Outcome<Vec<QueryAnswer>> {
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with('{')).collect();
    if lines.len() != queries.len() {
        return Err(format!("{} answers to {} queries", lines.len(), queries.len()).into());
    }
    let answers = lines.into_iter().zip(queries).map(|(line, query)| {
        let mut answer: Value = serde_json::from_str(line)?;
        let runs = answer["runs_ms"].as_array().ok_or("an answer has no times")?;
        let runs_ms = runs.iter().skip(1).filter_map(Value::as_f64).collect();
        Ok(QueryAnswer { name: query.name.clone(), runs_ms, report: answer["report"].take() })
    });
    answers.collect()
}

/// Checks that an answer does not depend on the answer that it was computed from.
fn check_orders(queries: &Queries, single: &[QueryAnswer], session: &[QueryAnswer]) -> Outcome {
    let mut compared = 0;
    for (query, answer) in queries.single.iter().zip(single) {
        let same = queries.session.iter().zip(session);
        for (_, other) in same.filter(|(other, _)| other.clauses == query.clauses) {
            compared += 1;
            if answer.report != other.report {
                let name = &query.name;
                return Err(format!("the answer to {name} depends on the query before").into());
            }
        }
    }
    let none = "the session and the list have no query in common";
    if compared == 0 { Err(none.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{Queries, Query, QueryAnswer, answers, check_orders, medians};
    use serde_json::json;

    fn query() -> Query {
        Query { name: "a query".to_owned(), clauses: Vec::new() }
    }

    fn answer(runs_ms: &[f64], matched: u64) -> QueryAnswer {
        let report = json!({"matching": matched});
        QueryAnswer { name: "a query".to_owned(), runs_ms: runs_ms.to_vec(), report }
    }

    #[test]
    fn an_answer_for_each_query_without_its_first_run() {
        let queries = [query()];
        let line = "loaded\n{\"query\":[],\"runs_ms\":[9.0,2.0,3.0],\"report\":{\"matching\":4}}\n";
        let answers = answers(line, &queries).unwrap();
        assert_eq!(answers[0].runs_ms, [2.0, 3.0]);
        assert_eq!(answers[0].report["matching"], 4);
        assert!(super::answers("", &queries).is_err());
    }

    #[test]
    fn the_order_may_make_no_difference() {
        let queries = Queries { single: vec![query()], session: vec![query()] };
        let check = |other| check_orders(&queries, &[answer(&[1.0], 4)], &[answer(&[2.0], other)]);
        assert!(check(4).is_ok());
        assert!(check(5).is_err());
        let apart = Queries { single: vec![query()], session: Vec::new() };
        assert!(check_orders(&apart, &[answer(&[1.0], 4)], &[]).is_err());
    }

    #[test]
    fn a_row_has_the_median_of_each_query() {
        let row = medians("ours", &[answer(&[1.0, 2.0, 9.0], 4), answer(&[4.0], 4)]);
        assert_eq!(row.runs, [2.0, 4.0]);
    }
}
