//! DuckDB from PyPI, in its own virtual environment.

use std::path::Path;

use serde_json::Value;

use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, execute, output_of};

/// The Python of the environment with DuckDB. Installs it, except in a smoke run; the error names
/// the missing program.
pub(crate) fn find(settings: &Settings) -> Outcome<String> {
    let python = python()?;
    if version(&python).is_none() {
        if settings.is_smoke {
            return Err("missing: DuckDB (PyPI's package duckdb)".into());
        }
        install(&python)
            .map_err(|error| format!("missing: DuckDB (PyPI's package duckdb): {error}"))?;
    }
    Ok(python)
}

fn python() -> Outcome<String> {
    Ok(text(&folder()?.join("duckdb/bin/python")))
}

fn install(python: &str) -> Outcome {
    println!("installing duckdb from PyPI");
    let environment = text(&folder()?.join("duckdb"));
    execute(&mut command("python3", &["-m", "venv", &environment]))?;
    execute(&mut command(python, &["-m", "pip", "install", "--quiet", "duckdb"]))
}

/// The version that [`find`] installed.
pub(crate) fn installed_version() -> Option<String> {
    version(&python().ok()?)
}

/// The version of DuckDB in a Python; `None` if there is none.
pub(crate) fn version(python: &str) -> Option<String> {
    if !Path::new(python).exists() {
        return None;
    }
    let print = "import duckdb; print(duckdb.__version__)";
    let version = output_of(&mut command(python, &["-c", print])).ok()?;
    Some(version.trim().to_owned())
}

/// Compares an answer of `bench/duckdb` with Weir's report of the same log: totals, the lists of
/// every column with all their numbers, distinct values, and the whole histogram.
pub(crate) fn check(ours: &Value, theirs: &Value) -> Outcome {
    for key in ["matching", "bytes_sent", "errors"] {
        same(key, &ours[key], &theirs[key])?;
    }
    for (column, theirs) in
        theirs["distinct"].as_object().ok_or("DuckDB's answer has no counts of distinct values")?
    {
        // Weir's report leaves out a column without values.
        same(column, &Value::from(ours["distinct"][column].as_u64().unwrap_or(0)), theirs)?;
    }
    for (column, theirs) in theirs["top"].as_object().ok_or("DuckDB's answer has no lists")? {
        let ours = ours["top"][column].as_array().into_iter().flatten();
        let rows = ours.map(|row| {
            let keys = ["value", "count", "bytes_sent", "errors"];
            Value::from(keys.map(|key| row[key].clone()).to_vec())
        });
        same(column, &rows.collect(), theirs)?;
    }
    let buckets =
        ours["histogram"]["buckets"].as_array().ok_or("Weir's report has no histogram")?;
    let counts = buckets.iter().flat_map(|bucket| {
        let by = bucket["by"].as_object().into_iter().flatten();
        by.filter(|(_, count)| count.as_u64() != Some(0)).map(|(_, count)| count.clone())
    });
    let theirs = theirs["histogram"].as_array().ok_or("DuckDB's answer has no histogram")?;
    let theirs = theirs.iter().map(|group| group[2].clone());
    same("histogram", &counts.collect(), &theirs.collect())
}

fn same(what: &str, ours: &Value, theirs: &Value) -> Outcome {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{what}: DuckDB has {theirs:.200}, Weir {ours:.200}").into())
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::json;

    #[test]
    fn every_number_has_to_agree() {
        let ours = json!({
            "matching": 3, "bytes_sent": 10, "errors": 1, "distinct": {"status": 2},
            "top": {"status": [{"value": "200", "count": 2, "bytes_sent": 10, "errors": 0}]},
            "histogram": {"buckets": [{"by": {"2xx": 2, "4xx": 1}}]},
        });
        let theirs = json!({
            "matching": 3, "bytes_sent": 10, "errors": 1, "distinct": {"status": 2},
            "top": {"status": [["200", 2, 10, 0]]},
            "histogram": [[0, "2xx", 2], [0, "4xx", 1]],
        });
        check(&ours, &theirs).unwrap();
        for (path, wrong) in [
            ("/errors", json!(2)),
            ("/top/status/0/1", json!(3)),
            ("/histogram/1/2", json!(2)),
            ("/distinct/status", json!(3)),
        ] {
            let mut theirs = theirs.clone();
            *theirs.pointer_mut(path).unwrap() = wrong;
            assert!(check(&ours, &theirs).is_err(), "{path}");
        }
    }
}
