//! Exported Parquet files in DuckDB, which this test needs; `cargo xtask test` installs it with
//! pip. Where Python has it: `cargo test -p weir --test integration duckdb:: -- --ignored`.

use std::path::Path;

use serde_json::{Value, json};
use weir_testkit::lines;

use crate::python_jobs::{PythonJobs, real_logs};
use crate::support::{Folder, run, text};

/// The kinds of records, as an argument and in a report.
const KINDS: [(&str, &str); 3] = [
    ("request", "request"),
    ("error-log-line", "error_log_line"),
    ("firewall-event", "firewall_event"),
];

/// The arguments of each filter, by a name.
const FILTERS: [(&str, &[&str]); 2] =
    [("all", &[]), ("filtered", &["--where", "status>=300 or client~\"^[1-5]\""])];

#[test]
#[ignore = "needs DuckDB; `cargo xtask test` runs it"]
fn reports_are_recomputed_from_exports() {
    let folder = Folder::new();
    let mut jobs = PythonJobs::new("parquet_report.py", "DUCKDB_PYTHON");
    let mut count = 0;
    // No real log has the times of the parts of a request.
    let of_parts = folder.file("gateway.log", lines::many(lines::gateway, 3_000).as_bytes());
    for (number, log) in real_logs().iter().chain([&of_parts]).enumerate() {
        for (filter, arguments) in FILTERS {
            let export = Export { log, arguments, number, filter };
            if let Some(job) = export.job(&folder) {
                jobs.push(format!("{} {filter}", log.display()), job);
                count += 1;
            }
        }
    }
    assert!(count > 160, "{count} reports");
    for (log, differences) in jobs.run() {
        assert_eq!(differences, json!([]), "{log}");
    }
}

/// A log and a filter.
struct Export<'a> {
    log: &'a Path,
    arguments: &'a [&'a str],
    number: usize,
    filter: &'a str,
}

impl Export<'_> {
    /// Writes the report and the exports. Returns `None` if there is no report, because nothing in
    /// the log is a record.
    fn job(&self, folder: &Folder) -> Option<Value> {
        let Self { log, arguments, number, filter } = self;
        let arguments = || arguments.iter().copied().chain([text(log)]);
        let report = run(["report", "--json", "--top", "1000000"].into_iter().chain(arguments()));
        if report.code != 0 {
            return None;
        }
        let report = folder.file(&format!("{number}.{filter}.json"), report.stdout.as_bytes());
        let mut tables = serde_json::Map::new();
        for (argument, name) in KINDS {
            let table = folder.path(&format!("{number}.{filter}.{name}.parquet"));
            let export = ["export", "--kind", argument, "--output", text(&table)];
            let run = run(export.into_iter().chain(arguments()));
            assert_eq!(run.code, 0, "{}", run.stderr);
            tables.insert(name.to_owned(), json!(table));
        }
        Some(json!({ "report": report, "parquet": tables }))
    }
}
