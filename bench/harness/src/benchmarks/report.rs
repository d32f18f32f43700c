//! `weir report`, the whole process, beside programs that make the same report.

use serde_json::Value;

use crate::answer::{check_against_oracle, report_command, timed};
use crate::build;
use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::peers::{duckdb, goaccess};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command};

const WEIR: &str = "weir report";
const GOACCESS: &str = "GoAccess";
const DUCKDB: &str = "DuckDB";

/// The peers read the whole log as well, which takes each of them up to a minute.
const SLOW_RUNS: usize = 2;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    check_against_oracle(settings, "combined")?;
    let log = input::as_text(&input::combined(settings)?)?;
    let cores = cores()?;
    let ours = report_of(settings, &log)?;
    let matched = ours["matching"].clone();
    let mut contenders = vec![Contender::new(WEIR, settings.runs, || {
        log.touch()?;
        let (printed, seconds) = timed(&mut report_command(settings, &log.path, cores))?;
        let report: Value = serde_json::from_str(&printed)?;
        if report["matching"] != matched {
            return Err("two reports of one log differ".into());
        }
        Ok(seconds)
    })];
    let mut notes = Vec::new();
    match duckdb::find(settings) {
        Ok(python) => {
            notes.push(format!("DuckDB {}", duckdb::version(&python).unwrap_or_default()));
            contenders.push(duckdb_contender(settings, python, &log, &ours));
        }
        Err(missing) => notes.push(missing.to_string()),
    }
    let missing = goaccess::missing(settings);
    if missing.is_empty() {
        notes.push(GOACCESS_NOTE.to_owned());
        contenders.push(goaccess_contender(settings, &log, &ours));
    }
    notes.extend(missing);
    let [rows] = take_turns(contenders, [Unit::Seconds { bytes: log.bytes }])?;
    let title = format!("combined log of {}, {cores} cores, whole process", log.size_text());
    let mut table = Table::new("report", title, rows);
    table.add_goal("rate by GoAccess", table.rate_ratio(WEIR, GOACCESS), Threshold::AtLeast(100.0));
    table.add_goal("rate by DuckDB", table.rate_ratio(WEIR, DUCKDB), Threshold::AtLeast(10.0));
    table.notes = notes;
    Ok(vec![table])
}

fn report_of(settings: &Settings, log: &Log) -> Outcome<Value> {
    let (printed, _) = timed(&mut report_command(settings, &log.path, cores()?))?;
    Ok(serde_json::from_str(&printed)?)
}

/// DuckDB reads the log into a table and computes the numbers of the report.
fn duckdb_contender<'a>(
    settings: &Settings,
    python: String,
    log: &'a Log,
    ours: &'a Value,
) -> Contender<'a> {
    let step = ours["histogram"]["step_s"].as_u64().unwrap_or(1).to_string();
    Contender::new(DUCKDB, settings.runs.min(SLOW_RUNS), move || {
        let threads = cores()?.to_string();
        let arguments = ["-B", "bench/duckdb/report.py", &log.path, &threads, &step];
        log.touch()?;
        let (printed, seconds) = timed(&mut command(&python, &arguments))?;
        duckdb::check(ours, &serde_json::from_str(&printed)?)?;
        Ok(seconds)
    })
}

const GOACCESS_NOTE: &str = "GoAccess: its requests, status codes and top clients are checked. It \
    counts paths with their queries and methods, and some torn lines, so its other lists and its \
    sum of bytes are not compared";

fn goaccess_contender<'a>(settings: &Settings, log: &'a Log, ours: &'a Value) -> Contender<'a> {
    Contender::new(GOACCESS, settings.runs.min(SLOW_RUNS), move || {
        log.touch()?;
        let (_, seconds) = timed(&mut goaccess::report_command(&log.path)?)?;
        goaccess::check(ours)?;
        Ok(seconds)
    })
}
