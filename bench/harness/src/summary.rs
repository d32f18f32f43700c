//! The table of a record that people quote: Weir, its peers and its limits, a row for each.

use std::fmt::Write;

use crate::measure::{Measured, Unit};
use crate::record::Record;
use crate::table::{Table, number};

/// A piece of work that Weir and others did with the same input.
struct Task {
    name: &'static str,
    benchmark: &'static str,
    /// A part of the title of the benchmark's table.
    title_part: &'static str,
    /// The row of Weir. `{cores}` stands for the number of cores.
    ours: &'static str,
    peers: &'static [&'static str],
    /// Rows that do only a part of the work, so that no program can be faster.
    limits: &'static [&'static str],
    /// Whether the README shows it.
    is_headline: bool,
}

const TASKS: [Task; 14] = [
    Task {
        limits: &["wc -l"],
        ..task("Parse a log, one job", "parse", "page cache", "weir report, 1 job")
    },
    Task {
        limits: &["wc -l"],
        ..task("Parse a log, {cores} jobs", "parse", "page cache", "weir report, {cores} jobs")
    },
    Task {
        peers: &["DuckDB", "GoAccess"],
        is_headline: true,
        ..task("Report on a log", "report", "whole process", "weir report")
    },
    Task {
        peers: &["rg"],
        is_headline: true,
        ..task(
            "Search for a rare literal",
            "grep",
            "rare literal, plain",
            "weir grep, {cores} jobs",
        )
    },
    Task {
        peers: &["rg"],
        is_headline: true,
        ..task("Search by an expression", "grep", "regular expression", "weir grep, {cores} jobs")
    },
    Task {
        peers: &["zgrep"],
        is_headline: true,
        ..task("Search a gzip file", "grep", "one gzip file", "weir grep")
    },
    Task {
        peers: &["wc -l"],
        is_headline: true,
        ..task("Count lines", "grep", "lines of a plain log", "weir count")
    },
    Task {
        peers: &["DuckDB"],
        is_headline: true,
        ..task(
            "Apply a filter",
            "filter",
            "the medians of all queries",
            "Weir, with no answer known",
        )
    },
    Task {
        peers: &["Chromium, bare page"],
        ..task(
            "Drop a log on the page, Chromium",
            "upload",
            "given to the page",
            "Chromium, Weir's page",
        )
    },
    Task {
        peers: &["Firefox, bare page"],
        ..task(
            "Drop a log on the page, Firefox",
            "upload",
            "given to the page",
            "Firefox, Weir's page",
        )
    },
    Task {
        peers: &["tungstenite", "fastwebsockets"],
        limits: &["sender alone"],
        ..task(
            "Receive WebSocket frames",
            "receive",
            "over loopback, each frame a message",
            "weir, payload into a block",
        )
    },
    Task {
        peers: &["socat to /dev/null"],
        ..task(
            "Receive lines of one sender",
            "feed",
            "1 flooding connection, lines dropped",
            "passive",
        )
    },
    task(
        "Parse lines of 1,000 senders",
        "feed",
        "1000 flooding connections, lines parsed",
        "passive",
    ),
    task("Memory of the data set", "memory", "bytes of memory", "data set"),
];

const fn task(
    name: &'static str,
    benchmark: &'static str,
    title_part: &'static str,
    ours: &'static str,
) -> Task {
    Task { name, benchmark, title_part, ours, peers: &[], limits: &[], is_headline: false }
}

/// Every task that the record has.
pub(crate) fn all(record: &Record) -> String {
    table(record, "peer or limit", TASKS.iter())
}

/// The tasks that the README shows.
pub(crate) fn headlines(record: &Record) -> String {
    table(record, "peer", TASKS.iter().filter(|task| task.is_headline))
}

fn table<'a>(record: &Record, others: &str, tasks: impl Iterator<Item = &'a Task>) -> String {
    let mut text = format!("| | Weir | {others} | Weir's speed |\n|---|---|---|---|\n");
    for task in tasks {
        push_task(record, task, &mut text);
    }
    text
}

fn push_task(record: &Record, task: &Task, text: &mut String) {
    let with_cores = |text: &str| text.replace("{cores}", &record.machine.cores.to_string());
    let Some(table) = record.table(task.benchmark, task.title_part) else { return };
    let Some(ours) = table.row(&with_cores(task.ours)) else { return };
    let (name, shown) = (with_cores(task.name), cell(ours));
    let rows = task.peers.iter().map(|peer| (*peer, ""));
    let mut rows = rows.chain(task.limits.iter().map(|limit| (*limit, "limit: "))).peekable();
    if rows.peek().is_none() {
        let _ = writeln!(text, "| {name} | {shown} | | |");
    }
    for (other, kind) in rows {
        let Some(row) = table.row(other) else { continue };
        let (ratio, row) = (speed(table, ours, row), cell(row));
        let _ = writeln!(text, "| {name} | {shown} | {kind}{other}, {row} | {ratio} × |");
    }
}

/// The median with its unit, and the rate.
fn cell(row: &Measured) -> String {
    let median = number(row.median());
    match row.unit {
        Unit::Seconds { .. } => {
            let rate = row.rate().map(number).unwrap_or_default();
            format!("{median} s ({rate} GB/s)")
        }
        unit => format!("{median} {}", unit.name()),
    }
}

/// How many times as fast the one row is as the other.
fn speed(table: &Table, ours: &Measured, other: &Measured) -> String {
    let by_rate = table.rate_ratio(&ours.name, &other.name);
    by_rate.or_else(|| table.ratio(&other.name, &ours.name)).map(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Record, TASKS, all, headlines};

    #[test]
    fn every_task_is_in_the_newest_record() {
        let record = Record::newest().unwrap();
        let text = all(&record);
        for task in &TASKS {
            let name = task.name.replace("{cores}", &record.machine.cores.to_string());
            assert!(text.contains(&format!("| {name} |")), "{name}");
            for other in task.peers.iter().chain(task.limits) {
                assert!(text.contains(other), "{name}: {other}");
            }
        }
        assert!(headlines(&record).lines().count() < text.lines().count());
    }
}
