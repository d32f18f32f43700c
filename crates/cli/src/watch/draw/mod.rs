//! The lines of the screen, from the state and the last answers. Nothing here changes either.

mod chart;
mod entry;
mod head;
mod help;
mod lines;
mod lists;
mod rules;
mod story;
mod totals;

use weir_view::Report;

use crate::display::safe;
use crate::full_screen::Size;
use crate::terminal::{Painter, Style, fit, left, width};

use super::answers::Answers;
use super::state::{Page, Places, State};

/// What is drawn.
pub(super) struct Frame<'a> {
    pub(super) state: &'a State,
    pub(super) answers: &'a Answers,
    /// Whether the answers are to an earlier question.
    pub(super) is_outdated: bool,
    /// The last message about the log.
    pub(super) message: Option<String>,
    /// Whether keys are read.
    pub(super) has_keys: bool,
    pub(super) size: Size,
    pub(super) painter: Painter,
}

/// From this height on, there is a chart.
const CHART_ROWS_MIN: usize = 16;

/// From this height on, the last row has the keys.
const FOOTER_ROWS_MIN: usize = 4;

/// From this width on, there is a chart.
const CHART_COLUMNS_MIN: usize = 24;

impl Frame<'_> {
    /// The lines: at most as many as the terminal has rows, none wider than the terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        let Size { rows, .. } = self.size;
        let mut lines = match self.state.page() {
            Some(Page::Help) => help::lines(self.size, self.painter),
            Some(Page::Story(page)) => story::lines(self, page),
            Some(Page::Lines(page)) => lines::lines(self, page),
            Some(Page::Rules { row }) => rules::lines(self, *row),
            None => self.overview(),
        };
        let footer_rows = usize::from(rows >= FOOTER_ROWS_MIN);
        lines.truncate(rows - footer_rows);
        lines.resize(rows - footer_rows, String::new());
        if footer_rows > 0 {
            lines.push(self.footer());
        }
        lines
    }

    fn overview(&self) -> Vec<String> {
        let Size { rows, columns } = self.size;
        let mut lines = vec![head::heading(self)];
        match &self.state.entry {
            Some(entry) => lines.extend(entry::lines(self, entry)),
            None => lines.push(head::filter(self)),
        }
        lines.extend(self.refusal());
        let Some(report) = self.answers.report() else {
            lines.push(self.line(Style::DIM, "reading..."));
            return lines;
        };
        let totals_max = if rows >= CHART_ROWS_MIN { 3 } else { 1 };
        lines.extend(totals::lines(report, columns, totals_max, self.painter));
        lines.extend(self.panes(report, &self.state.places, lines.len()));
        lines
    }

    /// The chart, if there is room for it, and the lists, below so many other rows.
    fn panes(&self, report: &Report, places: &Places, rows_above: usize) -> Vec<String> {
        let Size { rows, columns } = self.size;
        let mut lines = Vec::new();
        if rows >= CHART_ROWS_MIN && columns >= CHART_COLUMNS_MIN {
            lines.extend(chart::lines(self, report, places));
        }
        let room = rows.saturating_sub(rows_above + lines.len() + 1);
        lines.extend(lists::lines(self, report, places, room));
        lines
    }

    /// Why the last question has no answer.
    fn refusal(&self) -> Vec<String> {
        let lines = self.answers.refusal.as_deref().map(safe_lines).unwrap_or_default();
        lines.iter().map(|line| self.line(Style::WRONG, line)).collect()
    }

    /// One line of this style, cut to the width of the terminal.
    fn line(&self, style: Style, text: &str) -> String {
        self.painter.paint(style, &fit(text, self.size.columns))
    }

    /// What happened, or else the keys, the most important first.
    fn footer(&self) -> String {
        let message = self.message.as_deref().map(|message| safe(message.trim_end()));
        if let Some(text) = self.state.notice.as_deref().map(safe).or(message) {
            return self.line(Style::TITLE, &text);
        }
        if !self.has_keys {
            return self.line(Style::DIM, "Ctrl-C quit");
        }
        let parts: &[&str] = match (&self.state.entry, self.state.page()) {
            (Some(_), _) => &["Enter apply", "Esc cancel", "Tab complete", "Ctrl-U clear"],
            (None, None) => &[
                "q quit",
                "? help",
                "/ filter",
                "Tab next",
                "Enter drill",
                "Esc back",
                "+ - zoom",
                "o lines",
                "b rules",
                "= include",
                "! exclude",
                "f freeze",
            ],
            (None, Some(Page::Help)) => &["q quit", "Esc back"],
            (None, Some(Page::Story(_))) => {
                &["q quit", "Esc back", "o lines", "Tab next", "Enter include"]
            }
            (None, Some(Page::Lines(_))) => {
                &["q quit", "Esc back", "PgDn next", "g G ends", "arrows scroll"]
            }
            (None, Some(Page::Rules { .. })) => &["q quit", "Esc back", "arrows scroll"],
        };
        let mut text = String::new();
        let can_freeze = self.state.can_freeze(self.answers);
        for part in parts.iter().filter(|part| can_freeze || **part != "f freeze") {
            let longer =
                if text.is_empty() { (*part).to_owned() } else { format!("{text}  {part}") };
            if width(&longer) > self.size.columns {
                break;
            }
            text = longer;
        }
        self.line(Style::DIM, &text)
    }
}

/// The lines of a text that may have characters of the log in it.
fn safe_lines(text: &str) -> Vec<String> {
    text.split('\n').map(safe).collect()
}

/// A text and another at the right end of the line, both cut to the width if need be. Returns the
/// parts, which fill the line together.
fn spread(text: &str, end: &str, columns: usize) -> (String, String) {
    let end = fit(end, columns);
    let room = columns.saturating_sub(width(&end));
    (left(&fit(text, room.saturating_sub(1)), room), end)
}

#[cfg(test)]
mod tests;
