//! Exported Parquet files in DuckDB, which this test needs; `cargo xtask test` installs it with pip.
//! Where Python has it: `cargo test -p weir --test integration duckdb:: -- --ignored`.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use weir_testkit::fixtures;

use crate::support::{Folder, run, text};

/// The Python that has the module.
const PYTHON: &str = "DUCKDB_PYTHON";

/// The kinds of records, as an argument and in a report.
const KINDS: [(&str, &str); 3] = [
    ("request", "request"),
    ("error-log-line", "error_log_line"),
    ("firewall-event", "firewall_event"),
];

/// All files in the folders of real logs.
fn real_logs() -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![fixtures::root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
#[ignore = "needs DuckDB"]
fn reports_are_recomputed_from_exports() {
    let folder = Folder::new();
    let mut jobs = Vec::new();
    for (number, log) in real_logs().iter().enumerate() {
        let report = run(["report", "--json", "--top", "1000000", text(log)]);
        if report.code != 0 {
            continue;
        }
        let report = folder.file(&format!("{number}.json"), report.stdout.as_bytes());
        let mut tables = serde_json::Map::new();
        for (argument, name) in KINDS {
            let table = folder.path(&format!("{number}.{name}.parquet"));
            let run = run(["export", "--kind", argument, "--output", text(&table), text(log)]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            tables.insert(name.to_owned(), json!(table));
        }
        jobs.push((log.clone(), json!({ "report": report, "parquet": tables })));
    }
    assert!(jobs.len() > 80, "{} logs", jobs.len());
    let differences = compare(&jobs);
    for ((log, _), found) in jobs.iter().zip(&differences) {
        assert_eq!(found, &json!([]), "{}", log.display());
    }
}

/// Recomputes all reports with SQL. Returns the differences of each.
fn compare(jobs: &[(PathBuf, Value)]) -> Vec<Value> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let mut child = Command::new(python)
        .arg(fixtures::root().join("../oracle/parquet_report.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let mut input = child.stdin.take().expect("a pipe");
    let text: String = jobs.iter().map(|(_, job)| format!("{job}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it ends").expect("it is written");
    let text = String::from_utf8(output.stdout).expect("it is JSON");
    let differences: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(differences.len(), jobs.len(), "DuckDB did all jobs");
    differences
}
