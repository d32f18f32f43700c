//! The tests of exported tables, with the programs that read them.

use std::path::PathBuf;

use crate::python;
use crate::shell::{Outcome, ignored_tests};
use crate::summary;

/// The test that is skipped where DuckDB cannot be installed.
const DUCKDB_SKIPPED: &str = "DuckDB: 1 test skipped, because pip cannot install it";

/// The test that is skipped where the readers of Arrow cannot be installed.
const READERS_SKIPPED: &str =
    "pyarrow, pandas, Polars and DataFusion: 1 test skipped, because pip cannot install them";

/// Recomputes reports from exported tables with DuckDB.
pub(crate) fn test_duckdb() -> Outcome<Vec<String>> {
    let python = python::environment("duckdb", &["duckdb"]);
    run(python, ("duckdb::", "DUCKDB_PYTHON"), DUCKDB_SKIPPED)
}

/// Reads exported tables with all programs, and compares.
pub(crate) fn test_readers() -> Outcome<Vec<String>> {
    let modules = ["datafusion", "duckdb", "pandas", "polars", "pyarrow"];
    let python = python::environment("table-readers", &modules);
    run(python, ("table_readers::", "TABLES_PYTHON"), READERS_SKIPPED)
}

/// Runs the tests whose names contain `tests`; they find the Python in `variable`.
fn run(
    python: Outcome<PathBuf>,
    (tests, variable): (&str, &str),
    skipped: &str,
) -> Outcome<Vec<String>> {
    match python {
        Ok(python) => {
            let mut test = ignored_tests("integration", tests);
            summary::run_tests(test.env(variable, python))
        }
        Err(error) => {
            println!("{error}");
            Ok(vec![skipped.to_owned()])
        }
    }
}
