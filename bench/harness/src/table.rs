//! The result of a benchmark, and the Markdown that shows it in a terminal and in a document.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::measure::{Measured, Unit};
use crate::statistics;

/// The measurements of one benchmark with one input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The benchmark's name.
    pub(crate) name: String,
    /// The work and its input.
    pub(crate) title: String,
    pub(crate) rows: Vec<Measured>,
    /// Whether the rows did the same work, so that each is compared with the first.
    pub(crate) is_compared: bool,
    pub(crate) goals: Vec<Goal>,
    /// Peers that are missing, and numbers that cannot be compared.
    pub(crate) notes: Vec<String>,
}

/// A number with a threshold.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) found: f64,
    #[serde(flatten)]
    pub(crate) threshold: Threshold,
}

/// The numbers that reach a goal.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Threshold {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn is_reached(&self) -> bool {
        match self.threshold {
            Threshold::AtLeast(least) => self.found >= least,
            Threshold::AtMost(most) => self.found <= most,
        }
    }

    fn verdict(&self) -> &'static str {
        if self.is_reached() { "reached" } else { "missed" }
    }
}

impl Threshold {
    /// In words: `at least 1.8`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {least}"),
            Self::AtMost(most) => format!("at most {most}"),
        }
    }
}

impl Table {
    /// A comparison of all rows with the first, without goals or notes yet.
    pub(crate) fn new(name: &str, title: impl Into<String>, rows: Vec<Measured>) -> Self {
        let (name, title) = (name.to_owned(), title.into());
        Self { name, title, rows, is_compared: true, goals: Vec::new(), notes: Vec::new() }
    }

    /// Rows of different work, which are not compared.
    pub(crate) fn list(name: &str, title: impl Into<String>, rows: Vec<Measured>) -> Self {
        Self { is_compared: false, ..Self::new(name, title, rows) }
    }

    /// A table without rows, with the reason.
    pub(crate) fn missing(name: &str, title: &str, notes: Vec<String>) -> Self {
        Self { notes, ..Self::list(name, title, Vec::new()) }
    }

    /// The row with this name.
    pub(crate) fn row(&self, name: &str) -> Option<&Measured> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The median of the one row divided by that of the other.
    pub(crate) fn ratio(&self, of: &str, to: &str) -> Option<f64> {
        statistics::ratio(&self.row(of)?.runs, &self.row(to)?.runs)
    }

    /// The rate of the one row divided by that of the other. Their inputs may differ in size.
    pub(crate) fn rate_ratio(&self, of: &str, to: &str) -> Option<f64> {
        Some(self.row(of)?.rate()? / self.row(to)?.rate()?)
    }

    /// Adds a goal if its number could be measured.
    pub(crate) fn add_goal(&mut self, what: &str, found: Option<f64>, threshold: Threshold) {
        let goal = |found| Goal { what: what.to_owned(), found, threshold };
        self.goals.extend(found.map(goal));
    }

    /// The rows as Markdown, with the goals and the notes.
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = format!("**{}**: {}\n\n", self.name, self.title);
        if !self.rows.is_empty() {
            text.push_str(&columns(&self.cells()));
            text.push('\n');
        }
        for goal in &self.goals {
            let (found, threshold) = (number(goal.found), goal.threshold.text());
            let _ =
                writeln!(text, "- {}: {found}; goal {threshold}: {}", goal.what, goal.verdict());
        }
        for note in self.notes.iter().filter(|note| !note.is_empty()) {
            let _ = writeln!(text, "- {note}");
        }
        text
    }

    /// The cells of the head and of each row. Columns that no row needs are left out.
    fn cells(&self) -> Vec<Vec<String>> {
        let unit = self.rows.first().map_or("", |row| row.unit.name());
        let has_rates = self
            .rows
            .iter()
            .any(|row| matches!(row.unit, Unit::Seconds { .. }) || row.unit.name() != unit);
        let row_of = |name: &str, numbers: [String; 3]| {
            let [median, rate, times] = numbers;
            let mut cells = vec![name.to_owned(), median];
            cells.extend(has_rates.then_some(rate));
            cells.extend(self.is_compared.then_some(times));
            cells
        };
        let head =
            [format!("{unit}, median (least to most)"), "GB/s".into(), "times the first".into()];
        let rows = self.rows.iter().map(|row| {
            let (least, most) = statistics::range(&row.runs).unwrap_or((f64::NAN, f64::NAN));
            let median =
                format!("{} ({} to {})", number(row.median()), number(least), number(most));
            let rate = row.rate().map(number).unwrap_or_default();
            row_of(&row.name, [median, rate, self.times_first(row).map(number).unwrap_or_default()])
        });
        std::iter::once(row_of("", head)).chain(rows).collect()
    }

    /// The row's time divided by the first one's, per byte if their inputs differ in size.
    fn times_first(&self, row: &Measured) -> Option<f64> {
        let first = self.rows.first().filter(|_| self.is_compared)?;
        match (first.unit, row.unit) {
            (Unit::Seconds { bytes }, Unit::Seconds { bytes: own }) if bytes != own => {
                Some(first.rate()? / row.rate()?)
            }
            (one, other) if one.name() == other.name() => statistics::ratio(&row.runs, &first.runs),
            _ => None,
        }
    }
}

/// A Markdown table of a head and rows, with columns that are aligned in its text too.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|index| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (cell, &width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            let rule = widths.iter().map(|width| "-".repeat(width + 2));
            let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
        }
    }
    text
}

/// A number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        small if small < 1e-9 || !small.is_finite() => format!("{value:.0}"),
        small if small < 1.0 => format!("{value:.3}"),
        small if small < 10.0 => format!("{value:.2}"),
        small if small < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Measured, Table, Threshold, Unit, columns, number};

    fn table() -> Table {
        let row = |name: &str, bytes, runs: &[f64]| Measured {
            name: name.to_owned(),
            unit: Unit::Seconds { bytes },
            runs: runs.to_vec(),
        };
        let rows = vec![
            row("ours", 1_000_000_000, &[0.5, 0.4, 9.0]),
            row("theirs", 100_000_000, &[1.0, 2.0, 1.0]),
        ];
        let mut table = Table::new("report", "a gigabyte", rows);
        table.add_goal(
            "ours by theirs",
            table.rate_ratio("ours", "theirs"),
            Threshold::AtLeast(25.0),
        );
        table.add_goal("no such row", table.ratio("ours", "nobody's"), Threshold::AtMost(1.0));
        table
    }

    #[test]
    fn inputs_of_different_size_are_compared_by_rate() {
        let text = table().to_markdown();
        assert!(
            text.contains("| theirs | 1.00 (1.00 to 2.00)       | 0.100 | 20.0            |"),
            "{text}"
        );
        assert!(text.contains("- ours by theirs: 20.0; goal at least 25: missed"), "{text}");
        assert!(!text.contains("no such row"));
    }

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let text = columns(&[row(["", "µs"]), row(["a name", "1"])]);
        assert_eq!(text, "|        | µs |\n|--------|----|\n| a name | 1  |\n");
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown = [0.0, 0.12345, 1.23456, 12.3456, 123.456, 12_345.6].map(number);
        assert_eq!(shown, ["0", "0.123", "1.23", "12.3", "123", "12346"]);
    }
}
