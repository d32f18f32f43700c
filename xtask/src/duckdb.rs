//! The test of exported tables, with DuckDB.

use std::path::Path;

use crate::shell::{
    Outcome, command, execute, execute_and_keep, ignored_tests, root, target_folder,
};
use crate::summary::Summary;

/// The test that is skipped where DuckDB cannot be installed.
const SKIPPED: &str = "DuckDB: 1 test skipped, because pip cannot install it";

/// Runs the test. Installs DuckDB into a folder of its own if there is pip and a network.
pub(crate) fn test() -> Outcome<Vec<String>> {
    let folder = root().join(target_folder()).join("duckdb");
    let python = folder.join("bin/python");
    if !has_duckdb(&python)
        && let Err(error) = install(&folder, &python)
    {
        println!("{error}");
        return Ok(vec![SKIPPED.to_owned()]);
    }
    let mut test = ignored_tests("weir", "duckdb::");
    execute_and_keep(test.env("DUCKDB_PYTHON", python), Summary::is_closing_line)
}

fn has_duckdb(python: &Path) -> bool {
    python.exists()
        && command(&python.to_string_lossy(), &["-c", "import duckdb"])
            .status()
            .is_ok_and(|status| status.success())
}

fn install(folder: &Path, python: &Path) -> Outcome {
    execute(command("python3", &["-m", "venv"]).arg(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "duckdb"];
    execute(&mut command(&python.to_string_lossy(), &pip))
}
