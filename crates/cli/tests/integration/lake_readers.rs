//! Exported Parquet files in the engines of data lakes: ClickHouse, Spark and Iceberg, which these
//! tests need; `cargo xtask test` installs them with pip. Where Python has them:
//! `cargo test -p weir --test integration lake_readers:: -- --ignored`.

use serde_json::json;

use crate::python_jobs::{PythonJobs, real_logs};
use crate::support::{Folder, generated, run, text};

#[test]
#[ignore = "needs chDB; `cargo xtask test` runs it"]
fn chdb_reads_exported_tables() {
    read_all("chdb", "CHDB_PYTHON");
}

#[test]
#[ignore = "needs Spark and Java; `cargo xtask test` runs it"]
fn spark_reads_exported_tables() {
    read_all("spark", "SPARK_PYTHON");
}

#[test]
#[ignore = "needs pyiceberg; `cargo xtask test` runs it"]
fn iceberg_takes_exported_tables() {
    read_all("iceberg", "ICEBERG_PYTHON");
}

/// Exports real logs and a log with nanoseconds, and compares what an engine reads.
fn read_all(engine: &'static str, python: &'static str) {
    let folder = Folder::new();
    let mut logs = real_logs();
    logs.push(folder.file("generated.log", &generated(4 << 20)));
    let object = |number: u32| {
        format!(
            "{{\"ts\":\"2026-11-22T10:00:00.{number:09}Z\",\"status\":{},\"uri\":\"/{number}\",\
             \"request_time\":0.{number:03},\"remote_addr\":\"192.0.2.1\"}}\n",
            200 + number % 3,
        )
    };
    let with_nanoseconds = (0..999).map(object).collect::<String>();
    logs.push(folder.file("nanoseconds.log", with_nanoseconds.as_bytes()));
    let mut jobs = PythonJobs::with_argument("lake_readers.py", engine, python);
    for (number, log) in logs.iter().enumerate() {
        let table = folder.path(&format!("{number}.parquet"));
        let run = run(["export", "--kind", "request", "--output", text(&table), text(log)]);
        assert_ne!(run.code, 2, "{}", run.stderr);
        if table.exists() {
            jobs.push(log.display().to_string(), json!({ "parquet": table }));
        }
    }
    let mut rows = 0;
    for (log, result) in jobs.run() {
        assert_eq!(result["differences"], json!([]), "{log}");
        rows += result["rows"].as_u64().unwrap_or_default();
    }
    assert!(rows > 20_000, "{rows} rows");
}
