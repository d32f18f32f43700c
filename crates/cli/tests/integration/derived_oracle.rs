//! Derived fields of real logs, against Python's modules for addresses, paths, queries and dates.

use serde_json::{Value, json};

use crate::python_jobs::{PythonJobs, real_logs};
use crate::support::{Folder, run, text};

/// The fields that the oracle derives.
const DERIVED: [&str; 13] = [
    "date",
    "hour",
    "weekday",
    "network/48",
    "network/20",
    "network/64",
    "path/1",
    "path/2",
    "extension",
    "static",
    "query:id",
    "query:page",
    "campaign",
];

/// The values of a field with their numbers, of the records that `weir grep` shows.
fn counts(field: &str, log: &str) -> Option<Value> {
    let counted = run(["count", "--json", "--top", "1000000", "--by", field, log]);
    let counted: Value = serde_json::from_str(&counted.stdout).ok()?;
    let rows = counted["values"].as_array()?;
    let value = |row: &Value| match row["value"].as_str() {
        Some("(none)") => Value::Null,
        _ => row["value"].clone(),
    };
    Some(rows.iter().map(|row| json!([value(row), row["count"]])).collect())
}

#[test]
fn python_derives_the_same_values_from_real_logs() {
    let folder = Folder::new();
    let mut jobs = PythonJobs::new("derived.py", "PYTHON");
    for (number, log) in real_logs().iter().enumerate() {
        let log = text(log);
        let columns = format!("time,client,path,query,{}", DERIVED.join(","));
        let rows = run(["grep", "--json", "--columns", &columns, "", log]).stdout;
        let rows = folder.file(&format!("{number}.jsonl"), rows.as_bytes());
        let counted = ["hour", "network/20", "static"];
        let counted = counted.iter().filter_map(|name| Some((*name, counts(name, log)?)));
        let counted: serde_json::Map<String, Value> =
            counted.map(|(name, counts)| (name.to_owned(), counts)).collect();
        jobs.push(log.to_owned(), json!({"rows": text(&rows), "counts": counted}));
    }
    let mut compared = 0;
    for (log, result) in jobs.run() {
        assert_eq!(result["differences"], json!([]), "{log}");
        compared += result["compared"].as_u64().expect("a number");
    }
    assert!(compared > 100_000, "{compared} values");
}
