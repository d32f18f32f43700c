//! The parts of the documents that are generated from the newest record.
//!
//! A generated part stands between two markers, and everything around it is written by hand. The
//! test command fails if a generated part differs from the record.

use std::fmt::Write;
use std::fs;

use crate::measure::Unit;
use crate::record::Record;
use crate::summary;
use crate::table::{columns, number};
use weir_tools::shell::{Outcome, root};

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Writes the generated parts and the tables of the newest record.
pub(crate) fn write() -> Outcome {
    for (path, text) in rendered(&Record::newest()?)? {
        fs::write(root().join(path), text)?;
    }
    Ok(())
}

/// Fails if a document differs from what [`write()`] would write.
pub(crate) fn check() -> Outcome {
    for (path, text) in rendered(&Record::newest()?)? {
        if fs::read_to_string(root().join(&path)).unwrap_or_default() != text {
            return Err(format!(
                "the tables of {path} differ from the newest record; run `cargo xtask bench docs`"
            )
            .into());
        }
    }
    Ok(())
}

/// Each file with its whole text.
fn rendered(record: &Record) -> Outcome<Vec<(String, String)>> {
    let mut files = vec![(format!("bench/record/{}.md", record.name()), every_table(record))];
    let parts = [("README.md", readme(record)), ("docs/performance.md", performance(record))];
    for (path, generated) in parts {
        let text = fs::read_to_string(root().join(path))?;
        let text = with_generated(&text, &generated)
            .ok_or_else(|| format!("{path} has no part from `{BEGIN}` to `{END}`"))?;
        files.push((path.to_owned(), text));
    }
    Ok(files)
}

/// A document with this text between its markers; `None` if it has no markers.
fn with_generated(document: &str, generated: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", generated.trim()))
}

fn readme(record: &Record) -> String {
    let machine = &record.machine;
    format!(
        "{}\nMedians of {}: combined log of {}, {}, {} cores.\n",
        summary::headlines(record),
        record.date,
        input_size(record),
        machine.cpu,
        machine.cores,
    )
}

fn performance(record: &Record) -> String {
    let mut text = format!("{}\n{}", provenance(record, "../bench/record/"), summary::all(record));
    let mut rows = vec![["table", "number", "goal", "measured"].map(str::to_owned).to_vec()];
    for table in &record.tables {
        let missed = table.goals.iter().filter(|goal| !goal.is_reached());
        rows.extend(missed.map(|goal| {
            let title = format!("{}: {}", table.name, table.title);
            vec![title, goal.what.clone(), goal.threshold.text(), number(goal.found)]
        }));
    }
    if rows.len() > 1 {
        let _ = write!(text, "\nGoals that this run missed:\n\n{}", columns(&rows));
    }
    text
}

/// Date, machine, input, command and versions of a record, as a list.
fn provenance(record: &Record, folder: &str) -> String {
    let machine = &record.machine;
    let versions: Vec<String> = record
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {}", short(name, version)))
        .collect();
    format!(
        "- **Date**: {}; load average before the run: {}\n\
         - **Machine**: {}, {} cores, {:.0} GiB of memory, Linux {}\n\
         - **Input**: combined log of {} from `weir demo`, in the page cache\n\
         - **Command**: `cargo xtask bench --record`\n\
         - **Versions**: {}\n\
         - **Record**: [every table]({folder}{name}.md), [every run]({folder}{name}.json)\n",
        record.date,
        machine.load_before,
        machine.cpu,
        machine.cores,
        machine.memory_bytes as f64 / f64::from(1 << 30),
        machine.kernel,
        input_size(record),
        versions.join(", "),
        name = record.name(),
    )
}

/// A version without the name of the program, and without what follows the number.
fn short<'a>(name: &str, version: &'a str) -> &'a str {
    if name == "commit" {
        return version;
    }
    let mut words = version.split_whitespace();
    let number = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    number.unwrap_or(version).trim_end_matches('.')
}

/// The size of the main input.
fn input_size(record: &Record) -> String {
    let row = record.table("parse", "page cache").and_then(|table| table.rows.first());
    let bytes = match row.map(|row| row.unit) {
        Some(Unit::Seconds { bytes }) => bytes,
        _ => 0,
    };
    format!("{:.2} GB", bytes as f64 / 1e9)
}

fn every_table(record: &Record) -> String {
    let mut text = format!("# Benchmarks of {}\n\n{}", record.date, provenance(record, ""));
    text.push_str("\nEach number is the median of the runs, with the least and the most.\n");
    for table in &record.tables {
        let _ = write!(text, "\n{}", table.to_markdown());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, Record, performance, readme, short, with_generated};

    #[test]
    fn only_the_part_between_the_markers_changes() {
        let document = format!("# Speed\n\n{BEGIN}\nold\n{END}\n\nMore.\n");
        let fresh = with_generated(&document, "new\n").unwrap();
        assert_eq!(fresh, format!("# Speed\n\n{BEGIN}\nnew\n{END}\n\nMore.\n"));
        assert_eq!(with_generated(&fresh, "new").unwrap(), fresh);
        assert_eq!(with_generated("# Speed\n", "new"), None);
    }

    #[test]
    fn versions_are_numbers() {
        assert_eq!(short("rustc", "rustc 1.95.0 (59807616e 2026-04-14)"), "1.95.0");
        assert_eq!(short("goaccess", "GoAccess - 1.7."), "1.7");
        assert_eq!(short("commit", "a1b2c3"), "a1b2c3");
    }

    #[test]
    fn the_newest_record_fills_the_documents() {
        let record = Record::newest().unwrap();
        for text in [performance(&record), readme(&record)] {
            assert!(text.contains(&record.machine.cpu), "{text}");
            assert!(text.contains("GoAccess"), "{text}");
        }
    }
}
