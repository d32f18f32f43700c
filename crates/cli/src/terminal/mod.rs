//! What the terminal shows.

mod chart;
mod comparison;
mod group;
mod lists;
mod moment;
mod number;
mod progress;
mod samples;
mod style;
mod text;
mod totals;

use std::io::IsTerminal;

use weir_ingest::SourceSnapshot;
use weir_view::Report;

pub(crate) use group::{group_cells, group_columns};
pub(crate) use lists::{fields_with_values, title_of, titled_order};
pub(crate) use moment::step;
pub(crate) use number::{bytes, change, duration, separated, share, signed};
pub(crate) use progress::Progress;
pub(crate) use samples::marked;
pub(crate) use style::colour_number;
pub(crate) use text::{fit, safe, safe_bytes, safe_rows, width};

/// Where a report is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Width in columns.
    pub(crate) columns: usize,
    /// Whether colours are shown.
    pub(crate) colour: bool,
}

/// The width where there is no terminal to ask.
const COLUMNS: usize = 80;

/// Below this nothing can be laid out; lines are wrapped by the terminal then.
const COLUMNS_MIN: usize = 40;

/// A line is not read with pleasure beyond this.
const COLUMNS_MAX: usize = 200;

impl Screen {
    /// Standard output: its width, or that of the variable `COLUMNS`; colours on a terminal,
    /// unless the variable `NO_COLOR` is there or the terminal is dumb.
    pub(crate) fn of_stdout() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let variable = || set("COLUMNS")?.to_str()?.parse().ok();
        let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns = variable().or_else(terminal).unwrap_or(COLUMNS);
        let dumb = set("TERM").is_some_and(|value| value == "dumb");
        let colour = std::io::stdout().is_terminal() && set("NO_COLOR").is_none() && !dumb;
        Self { columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX), colour }
    }

    /// Buckets to ask for: more than there are columns, to be joined into steps that fill
    /// the screen.
    pub(crate) fn buckets_max(&self) -> u32 {
        (self.columns * 6) as u32
    }
}

/// The report as text.
pub(crate) fn draw(report: &Report, sources: &[SourceSnapshot], screen: &Screen) -> String {
    let Report { group, compare, .. } = report;
    let mut lines = match compare {
        Some(comparison) => comparison::totals(report, comparison, sources, screen),
        None => totals::draw(report, sources, screen),
    };
    if let Some(histogram) = report.histogram.as_ref().filter(|_| compare.is_none()) {
        lines.push(String::new());
        lines.extend(chart::draw(histogram, &report.time, screen));
    }
    lines.push(String::new());
    if let Some(group) = group {
        lines.extend(group::draw(group, report, screen));
        lines.push(String::new());
    }
    lines.extend(match compare {
        Some(comparison) => comparison::lists(comparison, screen),
        None => lists::draw(report, screen),
    });
    lines.extend(samples::draw(sources, screen));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}
