//! The table of a record that people quote: Weir, its peers and its limits, a row for each.

use crate::measure::{Measured, Unit};
use crate::record::Record;
use crate::table::{Table, columns, number};

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

const TASKS: [Task; 11] = [
    task("Parse a log, one job", "parse", "page cache", "weir report, 1 job").within(&["wc -l"]),
    task("Parse a log, {cores} jobs", "parse", "page cache", "weir report, {cores} jobs")
        .within(&["wc -l"]),
    task("Report on a log", "report", "whole process", "weir report")
        .headline(&["DuckDB", "GoAccess"]),
    task("Search for a rare literal", "grep", "rare literal, plain", "weir grep, {cores} jobs")
        .headline(&["rg"]),
    task("Search by an expression", "grep", "regular expression", "weir grep, {cores} jobs")
        .headline(&["rg"]),
    task("Search a gzip file", "grep", "one gzip file", "weir grep").headline(&["zgrep"]),
    task("Count lines", "grep", "lines of a plain log", "weir count").headline(&["wc -l"]),
    task("Apply a filter", "filter", "medians of all queries", "Weir, with no answer known")
        .headline(&["DuckDB"]),
    task("Drop a log on the page, Chromium", "upload", "given to", "Chromium, Weir's page")
        .beside(&["Chromium, bare page"]),
    task("Drop a log on the page, Firefox", "upload", "given to", "Firefox, Weir's page")
        .beside(&["Firefox, bare page"]),
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

impl Task {
    const fn within(self, limits: &'static [&'static str]) -> Self {
        Self { limits, ..self }
    }

    const fn beside(self, peers: &'static [&'static str]) -> Self {
        Self { peers, ..self }
    }

    const fn headline(self, peers: &'static [&'static str]) -> Self {
        Self { peers, is_headline: true, ..self }
    }
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
    let head = ["", "Weir", others, "Weir's speed"].map(str::to_owned).to_vec();
    let rows = tasks.flat_map(|task| rows(record, task).unwrap_or_default());
    columns(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// A row for each peer and limit of a task, or one if it has none; `None` if the record has no such
/// task.
fn rows(record: &Record, task: &Task) -> Option<Vec<Vec<String>>> {
    let with_cores = |text: &str| text.replace("{cores}", &record.machine.cores.to_string());
    let table = record.table(task.benchmark, task.title_part)?;
    let ours = table.row(&with_cores(task.ours))?;
    let first = [with_cores(task.name), cell(ours)];
    let peers = task.peers.iter().map(|peer| (*peer, ""));
    let others = peers.chain(task.limits.iter().map(|limit| (*limit, "limit: ")));
    let mut rows: Vec<Vec<String>> = others
        .filter_map(|(other, kind)| {
            let row = table.row(other)?;
            let compared =
                [format!("{kind}{other}, {}", cell(row)), format!("{} ×", speed(table, ours, row))];
            Some([first.clone(), compared].concat())
        })
        .collect();
    if task.peers.is_empty() && task.limits.is_empty() {
        rows.push([first, Default::default()].concat());
    }
    Some(rows)
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
            assert!(text.contains(&format!("| {name} ")), "{name}");
            for other in task.peers.iter().chain(task.limits) {
                assert!(text.contains(other), "{name}: {other}");
            }
        }
        assert!(headlines(&record).lines().count() < text.lines().count());
    }
}
