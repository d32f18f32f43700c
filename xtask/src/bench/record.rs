//! Keeps what was measured: a file for machines, and a part of docs/performance.md for people.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::machine::Machine;
use super::table::{Goal, Table, Wanted};
use crate::shell::{Outcome, command, output_of, root};

const BEGIN: &str = "<!-- what `cargo xtask bench --record` measured last -->";
const END: &str = "<!-- end of what was measured -->";

/// Writes `bench/record/DATE-MACHINE.json`, and the tables into the document.
pub(crate) fn write(
    machine: &Machine,
    versions: &BTreeMap<String, String>,
    tables: &[Table],
) -> Outcome {
    let date = output_of(&mut command("date", &["-u", "+%F"]))?.trim().to_owned();
    let folder = root().join("bench/record");
    fs::create_dir_all(&folder)?;
    let name = format!("{date}-{}.json", machine.slug());
    let record = as_json(&date, machine, versions, tables);
    fs::write(folder.join(&name), serde_json::to_string_pretty(&record)? + "\n")?;
    let document = root().join("docs/performance.md");
    let text = fs::read_to_string(&document)?;
    let tables = as_markdown(&date, &name, machine, versions, tables);
    fs::write(&document, with_tables(&text, &tables)?)?;
    println!("\nwritten: bench/record/{name}, and the tables in docs/performance.md");
    Ok(())
}

fn as_json(
    date: &str,
    machine: &Machine,
    versions: &BTreeMap<String, String>,
    tables: &[Table],
) -> Value {
    json!({
        "date": date,
        "machine": {
            "cpu": machine.cpu,
            "cores": machine.cores,
            "kernel": machine.kernel,
            "memory_bytes": machine.memory_bytes,
            "load_before": machine.load,
        },
        "versions": versions,
        "benchmarks": tables.iter().map(table_json).collect::<Vec<_>>(),
    })
}

fn table_json(table: &Table) -> Value {
    let rows = table.rows.iter().map(|row| {
        json!({
            "name": row.name,
            "unit": row.unit.name(),
            "input_bytes": match row.unit {
                super::measure::Unit::Seconds { bytes } => Some(bytes),
                _ => None,
            },
            "runs": row.runs,
            "median": row.median(),
            "gigabytes_per_second": row.rate(),
        })
    });
    json!({
        "name": table.name,
        "title": table.title,
        "rows": rows.collect::<Vec<_>>(),
        "goals": table.goals.iter().map(goal_json).collect::<Vec<_>>(),
        "notes": table.notes,
    })
}

fn goal_json(goal: &Goal) -> Value {
    let (key, wanted) = match goal.wanted {
        Wanted::AtLeast(least) => ("at_least", least),
        Wanted::AtMost(most) => ("at_most", most),
    };
    json!({
        "what": goal.what,
        "found": goal.found,
        key: wanted,
        "reached": goal.is_reached(),
    })
}

fn as_markdown(
    date: &str,
    name: &str,
    machine: &Machine,
    versions: &BTreeMap<String, String>,
    tables: &[Table],
) -> String {
    let versions: Vec<String> =
        versions.iter().map(|(name, version)| format!("{name}: {version}")).collect();
    let mut text = format!(
        "{date}, {} with {} cores, kernel {}, load {} before; every run is in\n\
         [bench/record/{name}](../bench/record/{name}).\n\n{}.\n",
        machine.cpu,
        machine.cores,
        machine.kernel,
        machine.load,
        versions.join("; ")
    );
    for table in tables {
        text.push('\n');
        text.push_str(&table.to_markdown());
    }
    text
}

/// The document with these tables between its two markers.
fn with_tables(document: &str, tables: &str) -> Outcome<String> {
    let split = document.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let Some((before, after)) = split else {
        return Err(format!("docs/performance.md has no part from `{BEGIN}` to `{END}`").into());
    };
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", tables.trim()))
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, table_json, with_tables};
    use crate::bench::measure::{Measured, Unit};
    use crate::bench::table::{Table, Wanted};

    #[test]
    fn only_the_part_between_the_markers_changes() {
        let document = format!("# Speed\n\n{BEGIN}\nold\n{END}\n\nMore.\n");
        let fresh = with_tables(&document, "new\n").unwrap();
        assert_eq!(fresh, format!("# Speed\n\n{BEGIN}\n\nnew\n\n{END}\n\nMore.\n"));
        assert_eq!(with_tables(&fresh, "new").unwrap(), fresh);
        assert!(with_tables("# Speed\n", "new").is_err());
    }

    #[test]
    fn a_record_has_every_run_and_goal() {
        let row = Measured {
            name: "ours".to_owned(),
            unit: Unit::Seconds { bytes: 1_000_000_000 },
            runs: vec![0.5, 0.25, 1.0],
        };
        let mut table = Table::new("parse", "a log", vec![row]);
        table.add_goal("speed", Some(2.0), Wanted::AtLeast(1.5));
        let record = table_json(&table);
        assert_eq!(record["rows"][0]["runs"].as_array().map(Vec::len), Some(3));
        assert_eq!(record["rows"][0]["gigabytes_per_second"], 2.0);
        assert_eq!(record["goals"][0]["at_least"], 1.5);
        assert_eq!(record["goals"][0]["reached"], true);
    }
}
