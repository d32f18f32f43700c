//! Exported tables in the programs that read them: pyarrow, pandas, Polars, DuckDB and DataFusion,
//! which this test needs; `cargo xtask test` installs them with pip. Where Python has them:
//! `cargo test -p weir --test integration table_readers:: -- --ignored`.

use serde_json::json;

use crate::python_jobs::{PythonJobs, real_logs};
use crate::support::{Folder, generated, run, text};

#[test]
#[ignore = "needs pyarrow and others; `cargo xtask test` runs it"]
fn arrow_streams_are_the_same_tables_as_parquet_files() {
    let folder = Folder::new();
    let mut logs = real_logs();
    logs.push(folder.file("generated.log", &generated(40 << 20)));
    let mut jobs = PythonJobs::new("table_readers.py", "TABLES_PYTHON");
    for (number, log) in logs.iter().enumerate() {
        for kind in ["request", "error-log-line", "firewall-event"] {
            let tables = ["arrows", "parquet"].map(|ending| {
                let table = folder.path(&format!("{number}.{kind}.{ending}"));
                let run = run(["export", "--kind", kind, "--output", text(&table), text(log)]);
                assert_ne!(run.code, 2, "{}", run.stderr);
                let is_withheld = run.stderr.contains("was not written, because no line matches");
                assert_ne!(table.exists(), is_withheld, "{}", run.stderr);
                table
            });
            assert_eq!(tables[0].exists(), tables[1].exists(), "{}, {kind}", log.display());
            if !tables[0].exists() {
                continue;
            }
            let job = json!({ "arrow": tables[0], "parquet": tables[1] });
            jobs.push(format!("{}, {kind}", log.display()), job);
        }
    }
    let (mut with_rows, mut batches_max) = (0, 0);
    for (log, result) in jobs.run() {
        assert_eq!(result["differences"], json!([]), "{log}");
        with_rows += u32::from(result["rows"] != 0);
        batches_max = result["batches"].as_u64().max(Some(batches_max)).unwrap_or_default();
    }
    assert!(with_rows > 80, "{with_rows} tables with rows");
    assert!(batches_max >= 3, "dictionaries are replaced: {batches_max} batches");
}
