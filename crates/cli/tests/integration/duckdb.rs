//! Exported Parquet files in DuckDB, which this test needs; `cargo xtask test` installs it with pip.
//! Where Python has it: `cargo test -p weir --test integration duckdb:: -- --ignored`.

use serde_json::json;

use crate::python_jobs::{PythonJobs, real_logs};
use crate::support::{Folder, run, text};

/// The kinds of records, as an argument and in a report.
const KINDS: [(&str, &str); 3] = [
    ("request", "request"),
    ("error-log-line", "error_log_line"),
    ("firewall-event", "firewall_event"),
];

#[test]
#[ignore = "needs DuckDB"]
fn reports_are_recomputed_from_exports() {
    let folder = Folder::new();
    let (mut jobs, mut count) = (PythonJobs::new("parquet_report.py", "DUCKDB_PYTHON"), 0);
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
        let name = log.display().to_string();
        jobs.push(name, json!({ "report": report, "parquet": tables }));
        count += 1;
    }
    assert!(count > 80, "{count} logs");
    for (log, differences) in jobs.run() {
        assert_eq!(differences, json!([]), "{log}");
    }
}
