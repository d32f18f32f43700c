//! A changed filter: everything on the page is computed again.

use std::path::Path;

use serde_json::{Value, json};

use super::queries::{Query, queries, session};
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
const FROM_ALL: &str = "Weir, from no filter";
const IN_SESSION: &str = "Weir, in a session's order";
const DUCKDB: &str = "DuckDB";

/// Recorded runs of each query of DuckDB, which take seconds.
const DUCKDB_RUNS: usize = 2;

/// The answer to one query.
struct Answer {
    name: String,
    runs_ms: Vec<f64>,
    report: Value,
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::as_text(&input::combined(settings)?)?;
    let (printed, _) = answer::timed(&mut answer::report_command(settings, &log.path, cores()?))?;
    let unfiltered = serde_json::from_str(&printed)?;
    let (Some(queries), Some(session)) = (queries(&unfiltered), session(&unfiltered)) else {
        return Err("the log is too small for the queries; use a larger --size".into());
    };
    let from_nothing = recompute(settings, &log, &queries, "nothing")?;
    let from_all = recompute(settings, &log, &queries, "all")?;
    let in_session = recompute(settings, &log, &session, "session")?;
    check_orders(&queries, &from_nothing, &queries, &from_all)?;
    check_orders(&queries, &from_nothing, &session, &in_session)?;
    let (theirs, note) = match duckdb::find(settings) {
        Ok(python) => {
            let version = duckdb::version(&python).unwrap_or_default();
            (duckdb(settings, &python, &log, &queries, &from_nothing)?, format!("DuckDB {version}"))
        }
        Err(missing) => (Vec::new(), missing),
    };
    let all = [
        (FROM_NOTHING, from_nothing),
        (FROM_ALL, from_all),
        (IN_SESSION, in_session),
        (DUCKDB, theirs),
    ];
    Ok(tables(&unfiltered, &all, note))
}

/// Asks Weir while it knows no answer (`nothing`), the answer without a filter (`all`) or the
/// answer to the query before (`session`). The first run of each query is not recorded.
fn recompute(
    settings: &Settings,
    log: &Log,
    queries: &[Query],
    from: &str,
) -> Outcome<Vec<Answer>> {
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
    ours: &[Answer],
) -> Outcome<Vec<Answer>> {
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
fn answers(printed: &str, queries: &[Query]) -> Outcome<Vec<Answer>> {
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with('{')).collect();
    if lines.len() != queries.len() {
        return Err(format!("{} answers to {} queries", lines.len(), queries.len()).into());
    }
    let answers = lines.into_iter().zip(queries).map(|(line, query)| {
        let mut answer: Value = serde_json::from_str(line)?;
        let runs = answer["runs_ms"].as_array().ok_or("an answer has no times")?;
        let runs_ms = runs.iter().skip(1).filter_map(Value::as_f64).collect();
        Ok(Answer { name: query.name.clone(), runs_ms, report: answer["report"].take() })
    });
    answers.collect()
}

/// Checks that an answer does not depend on the answer that it was computed from.
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
                    return Err(format!(
                        "the answer to {} depends on the query before",
                        query.name
                    )
                    .into());
                }
            }
        }
    }
    if compared == 0 {
        Err("the session and the list have no query in common".into())
    } else {
        Ok(())
    }
}

fn tables(unfiltered: &Value, all: &[(&str, Vec<Answer>)], note: String) -> Vec<Table> {
    let rows = unfiltered["records"].as_u64().unwrap_or(0);
    let answered = all.iter().filter(|(_, answers)| !answers.is_empty());
    let summary = answered.clone().map(|(name, answers)| Measured {
        name: (*name).to_owned(),
        unit: Unit::Milliseconds,
        runs: answers.iter().filter_map(|answer| statistics::median(&answer.runs_ms)).collect(),
    });
    let title = format!("everything computed anew over {rows} rows, the medians of all queries");
    let mut table = Table::new("filter", title, summary.collect());
    for name in [FROM_ALL, IN_SESSION] {
        let median = table.row(name).map(Measured::median);
        table.add_goal(&format!("{name}, ms"), median, Threshold::AtMost(MEDIAN_MS_MAX));
    }
    // DuckDB does not reuse an answer either.
    for name in [FROM_NOTHING, FROM_ALL] {
        let times = table.ratio(DUCKDB, name);
        table.add_goal(
            &format!("DuckDB's time by that of {name}"),
            times,
            Threshold::AtLeast(TIMES_DUCKDB),
        );
    }
    table.notes.push(note);
    let each = answered.flat_map(|(engine, answers)| {
        answers.iter().map(move |answer| Measured {
            name: format!("{engine}: {} ({} rows)", answer.name, answer.report["matching"]),
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

    fn query() -> Query {
        Query { name: "a query".to_owned(), clauses: Vec::new() }
    }

    fn answer(runs_ms: &[f64], matched: u64) -> Answer {
        let report = json!({"matching": matched});
        Answer { name: "a query".to_owned(), runs_ms: runs_ms.to_vec(), report }
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
        let queries = [query()];
        let same = check_orders(&queries, &[answer(&[1.0], 4)], &queries, &[answer(&[2.0], 4)]);
        assert!(same.is_ok());
        let other = check_orders(&queries, &[answer(&[1.0], 4)], &queries, &[answer(&[2.0], 5)]);
        assert!(other.is_err());
        assert!(check_orders(&queries, &[answer(&[1.0], 4)], &[], &[]).is_err());
    }

    #[test]
    fn the_summary_is_of_the_queries_medians() {
        let all = [
            (super::FROM_ALL, vec![answer(&[1.0, 2.0, 9.0], 4), answer(&[4.0], 4)]),
            (super::IN_SESSION, Vec::new()),
            (super::DUCKDB, vec![answer(&[15.0], 4)]),
        ];
        let tables = tables(&json!({"records": 10}), &all, String::new());
        assert_eq!(tables[0].rows[0].runs, [2.0, 4.0]);
        assert_eq!(tables[0].goals[1].found, 5.0);
        assert_eq!(tables[1].rows.len(), 3);
    }
}
