//! Draws the report for a terminal, and the progress of reading.

mod blocks;
mod chart;
mod comparison;
mod differences;
mod group;
mod lists;
mod progress;
mod robots;
mod samples;
mod style;
mod text;
mod totals;
mod visitors;

use std::io::IsTerminal;

use weir_ingest::SourceSnapshot;
use weir_view::{BlocksReport, Group, Report};

pub(crate) use chart::{Plot, shown_buckets};
pub(crate) use lists::{BAR_COLUMNS, bar};
pub(crate) use progress::Progress;
pub(crate) use samples::marked;
pub(crate) use style::{Painter, Style};
pub(crate) use text::{fit, fit_middle, left, right, width, wrap};

/// The output on which a report is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Width of charts and of excerpts of lines, in columns.
    pub(crate) columns: usize,
    /// The width to which values and sentences are cut, in columns; `usize::MAX` if they are not
    /// cut.
    pub(crate) text_columns: usize,
    /// Whether colours are shown.
    pub(crate) colour: bool,
}

/// The width of charts if there is no terminal.
const COLUMNS: usize = 80;

/// The least width of a report. A narrower terminal wraps its lines.
const COLUMNS_MIN: usize = 40;

/// The greatest width of a chart. A wider one is hard to read.
const COLUMNS_MAX: usize = 200;

impl Screen {
    /// Creates the screen of standard output. Its width is that of the variable `COLUMNS` or of the
    /// terminal. Values are not cut if `is_wide`, or if neither width is known, as in a pipe. A
    /// terminal shows colours, unless the variable `NO_COLOR` is set or `TERM` is `dumb`.
    pub(crate) fn of_stdout(is_wide: bool) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let from_variable = || variable("COLUMNS")?.to_str()?.parse().ok();
        let from_terminal =
            || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width: Option<usize> = from_variable().or_else(from_terminal);
        let text_columns =
            width.filter(|_| !is_wide).map_or(usize::MAX, |width| width.max(COLUMNS_MIN));
        let columns = width.unwrap_or(COLUMNS).clamp(COLUMNS_MIN, COLUMNS_MAX);
        let is_plain = variable("NO_COLOR").is_some() || is_dumb();
        let colour = std::io::stdout().is_terminal() && !is_plain;
        Self { columns, text_columns, colour }
    }

    /// The number of buckets to request: more than there are columns. The chart joins them into
    /// a step that fills the screen.
    pub(crate) fn buckets_max(&self) -> u32 {
        (self.columns * 6) as u32
    }
}

/// Whether the terminal can only append text, without colours.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// The report as text: what was read, the records of the main kind and of each other kind, and
/// lines that could not be parsed.
pub(crate) fn draw(report: &Report, sources: &[SourceSnapshot], screen: &Screen) -> String {
    let mut lines = vec![totals::heading(report, sources, screen), String::new()];
    lines.extend(totals::incomplete(report, screen));
    lines.extend(records(report, true, screen));
    if let Some(blocks) = &report.blocks {
        lines.extend(blocks::draw(blocks, screen));
    }
    if let Some(different) = &report.different {
        lines.extend(differences::draw(different, report.kind, screen));
    }
    if let Some(visitors) = &report.visitors {
        lines.extend(visitors::draw(visitors, screen));
    }
    if let Some(robots) = &report.robots {
        lines.extend(robots::draw(robots, screen));
    }
    for other in &report.other_kinds {
        lines.extend(records(other, false, screen));
    }
    lines.extend(samples::draw(sources, screen));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// What tripped the rules in force alone, with what would let an address pass.
pub(crate) fn draw_blocks(report: &BlocksReport, screen: &Screen) -> String {
    let mut lines = blocks::draw(report, screen);
    lines.extend(blocks::remedies(report, screen));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// The group of a report alone.
pub(crate) fn draw_group(group: &Group, report: &Report, screen: &Screen) -> String {
    group::draw(group, report, screen).join("\n") + "\n"
}

/// The records of one kind: totals, chart and lists, with an empty line at the end.
fn records(report: &Report, is_main: bool, screen: &Screen) -> Vec<String> {
    let Report { group, compare, .. } = report;
    let mut lines = match compare {
        Some(comparison) => comparison::totals(report, comparison, screen),
        None => totals::draw(report, is_main, screen),
    };
    if let Some(histogram) = report.histogram.as_ref().filter(|_| compare.is_none()) {
        lines.push(String::new());
        lines.extend(chart::draw(histogram, report.kind, &report.time, screen));
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
    lines
}
