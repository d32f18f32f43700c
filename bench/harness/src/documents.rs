//! The parts of the documents that are generated from the newest record.
//!
//! A generated part stands between two markers, and everything around it is written by hand. The
//! test command fails if a generated part differs from the record.

use std::fmt::Write;
use std::fs;

use crate::record::Record;
use crate::summary;
use crate::table::{Table, number};
use weir_tools::shell::{Outcome, root};

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Makes the generated part of a document.
type Generate = fn(&Record) -> String;

/// The documents with a generated part.
const DOCUMENTS: &[(&str, Generate)] = &[
    ("README.md", readme),
    ("docs/performance.md", performance),
    ("docs/flow-control.md", flow_control),
];

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
    let mut files = vec![(format!("bench/record/{}.md", record.name), every_table(record))];
    for (path, generate) in DOCUMENTS {
        let text = fs::read_to_string(root().join(path))?;
        let text = with_generated(&text, &generate(record))
            .ok_or_else(|| format!("{path} has no part from `{BEGIN}` to `{END}`"))?;
        files.push(((*path).to_owned(), text));
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
    let missed = record.tables.iter().flat_map(|table| {
        let goals = table.goals.iter().filter(|goal| !goal.is_reached());
        goals.map(|goal| {
            let (found, threshold) = (number(goal.found), goal.threshold.text());
            format!("| {}: {} | {} | {threshold} | {found} |\n", table.name, table.title, goal.what)
        })
    });
    let missed: Vec<String> = missed.collect();
    if !missed.is_empty() {
        let _ = write!(
            text,
            "\nGoals that this run missed:\n\n| table | number | goal | measured |\n\
             |---|---|---|---|\n{}",
            missed.concat()
        );
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
        name = record.name,
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
    let table = record.table("parse", "page cache");
    let bytes = table.and_then(|table| table.rows.first()?.unit.bytes()).unwrap_or(0);
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

/// The modes of reading: rates, memory, and the share of the threads that receive.
fn flow_control(record: &Record) -> String {
    let machine = &record.machine;
    let mut text = format!(
        "Measured on {}: {}, {} cores, load average {} before; 1 GiB over loopback, medians.\n",
        record.date, machine.cpu, machine.cores, machine.load_before
    );
    for connections in ["1 flooding connection,", "1000 flooding connections,"] {
        let table = |sink: &str| record.table("feed", &format!("{connections} lines {sink}"));
        let (Some(dropped), Some(parsed)) = (table("dropped"), table("parsed")) else { continue };
        let _ = write!(
            text,
            "\n{}\n\n| mode | GB/s, dropped | peak MiB | GB/s, parsed | peak MiB | processor time \
             of receiving, parsed |\n|---|---|---|---|---|---|\n",
            if connections.starts_with("1 ") {
                "One connection:"
            } else {
                "A thousand connections:"
            }
        );
        for row in &dropped.rows {
            let rate = |table: &Table| {
                table.row(&row.name).and_then(|row| row.rate()).map(number).unwrap_or_default()
            };
            let peak = |table: &Table| noted(table, &row.name, "peak ", " MiB");
            let share = noted(parsed, &row.name, "; ", " of the processor time");
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {share} |",
                row.name,
                rate(dropped),
                peak(dropped),
                rate(parsed),
                peak(parsed),
            );
        }
    }
    text
}

/// A number in the note about a row, between two texts; empty if there is no such note.
fn noted(table: &Table, row: &str, before: &str, after: &str) -> String {
    let mut notes = table.notes.iter();
    let note = notes.find_map(|note| note.strip_prefix(row)?.strip_prefix(": "));
    let rest = note.and_then(|note| note.split_once(before));
    rest.and_then(|(_, rest)| rest.split_once(after))
        .map(|(number, _)| number.to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{
        BEGIN, END, Record, flow_control, noted, performance, readme, short, with_generated,
    };
    use crate::table::Table;

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
    fn numbers_are_read_out_of_notes() {
        let mut table = Table::new("feed", "lines", Vec::new());
        table
            .notes
            .push("64: 9 reads a MiB; 100 % of the processor time; peak 9.75 MiB".to_owned());
        assert_eq!(noted(&table, "64", "peak ", " MiB"), "9.75");
        assert_eq!(noted(&table, "64", "; ", " of the processor time"), "100 %");
        assert_eq!(noted(&table, "passive", "peak ", " MiB"), "");
    }

    #[test]
    fn the_newest_record_fills_the_documents() {
        let record = Record::newest().unwrap();
        for text in [performance(&record), readme(&record)] {
            assert!(text.contains(&record.machine.cpu), "{text}");
            assert!(text.contains("GoAccess"), "{text}");
        }
        let modes = flow_control(&record);
        for mode in ["unlimited", "passive", "once", "64"] {
            let rows = modes.lines().filter(|line| line.starts_with(&format!("| {mode} |")));
            let rows: Vec<&str> = rows.collect();
            assert_eq!(rows.len(), 2, "{mode}");
            assert!(rows.iter().all(|row| !row.contains("|  |")), "{rows:?}");
        }
    }
}
