//! What the screen shows, line by line.

use super::controls::{Controls, Lists};
use super::snapshot::Snapshot;
use super::stage_order::StageOrder;
use super::table::{Table, share};
use super::{stages, tasks, threads};
use crate::display::safe;
use crate::full_screen::Size;
use crate::terminal::{Painter, Style, fit, width, wrap};

/// What is drawn around the numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) controls: Controls,
    /// Whether keys are read.
    pub(super) has_keys: bool,
    /// A message about the connection to the program.
    pub(super) notice: Option<&'a str>,
    pub(super) size: Size,
    pub(super) painter: Painter,
}

/// The least number of rows of a table that is shown with others. With fewer, threads are left out.
const TABLE_ROWS_MIN: usize = 2;

/// From this height on, an empty line stands before each table.
const SPACED_ROWS_MIN: usize = 20;

const HELP: &str = "s sorts tasks by busy, scheduled, polls, requests, bytes, memory, age or name; \
    r reverses the order. t shows tasks, threads or both. Space pauses. q, Escape and Ctrl-C quit.";

impl Frame<'_> {
    /// Formats at most as many lines as the terminal has rows, none wider than the terminal.
    pub(super) fn lines(&self, snapshot: &Snapshot) -> Vec<String> {
        let Size { rows, .. } = self.size;
        let mut lines = Vec::new();
        lines.extend(self.notice.map(|notice| self.line(Style::WRONG, &safe(notice))));
        // Half of the screen is for the tables, however long the names in the sentence are.
        lines.extend(self.wrapped(&safe(&snapshot.route.slowest.reason), rows / 2));
        let help = if self.controls.shows_help { HELP } else { "" };
        let help = self.wrapped(help, rows / 2);
        let footer_lines = usize::from(rows > 1);
        let room = rows.saturating_sub(lines.len() + help.len() + footer_lines);
        lines.extend(self.tables(snapshot, room));
        lines.extend(help);
        lines.truncate(rows.saturating_sub(footer_lines));
        // The footer is the last row of the terminal.
        lines.resize(rows.saturating_sub(footer_lines), String::new());
        if footer_lines > 0 {
            lines.push(self.line(Style::DIM, &self.footer()));
        }
        lines
    }

    fn line(&self, style: Style, text: &str) -> String {
        self.painter.paint(style, &fit(text, self.size.columns))
    }

    /// Wraps a text into at most `lines_max` lines. The last one ends in `…` if there is more.
    fn wrapped(&self, text: &str, lines_max: usize) -> Vec<String> {
        if text.is_empty() {
            return Vec::new();
        }
        let mut lines = wrap(text, ["", ""], self.size.columns);
        if lines.len() > lines_max {
            lines.truncate(lines_max);
            if let Some(last) = lines.last_mut() {
                *last =
                    fit(last, self.size.columns.saturating_sub(1)).trim_end_matches('…').to_owned();
                last.push('…');
            }
        }
        lines
    }

    /// Formats the tables in at most `room` lines, if their heads fit.
    fn tables(&self, snapshot: &Snapshot, room: usize) -> Vec<String> {
        let space = usize::from(self.size.rows >= SPACED_ROWS_MIN);
        let order = StageOrder::of(&snapshot.route);
        let mut lists = self.lists(snapshot);
        // A table takes its head and a space besides its rows.
        let rows_of = |tables: usize| room.saturating_sub(tables * (1 + space));
        if lists.len() > 1 && rows_of(1 + lists.len()) < TABLE_ROWS_MIN * (1 + lists.len()) {
            lists.truncate(1);
        }
        let rows = rows_of(1 + lists.len());
        let wanted: Vec<usize> =
            lists.iter().map(|(table, others)| rows_wanted(table, *others)).collect();
        let of_lists: usize = wanted.iter().sum();
        // The stages come first: they get half of the screen, and more if the lists are short.
        let of_stages = order.rows().min((rows / 2).max(rows.saturating_sub(of_lists)));
        let (shown, rest) = order.shown(of_stages);
        let stages = Table { rest, ..stages::table(&snapshot.route, &shown) };
        let used = stages.rows.len() + usize::from(stages.rest.is_some());
        let shares = share(rows - used, &wanted);
        let lists = lists.into_iter().zip(shares);
        let lists = lists.map(|((table, others), rows)| table.cut(rows, others));
        let mut lines = Vec::new();
        for table in [stages].into_iter().chain(lists) {
            lines.extend(vec![String::new(); space]);
            lines.extend(table.lines(self.size.columns, self.painter));
        }
        lines.truncate(room);
        lines
    }

    /// Returns the lists below the stages, each with the number of rows that it lacks.
    fn lists(&self, Snapshot { tasks: seen, .. }: &Snapshot) -> Vec<(Table, u64)> {
        let tasks = || (tasks::table(seen, self.controls.order), seen.tasks_left_out);
        let threads = || (threads::table(seen), 0);
        match self.controls.lists {
            Lists::Both => vec![tasks(), threads()],
            Lists::Tasks => vec![tasks()],
            Lists::Threads => vec![threads()],
        }
    }

    /// Lists the keys, the most important first, as many as fit. They stand in their usual order.
    fn footer(&self) -> String {
        if !self.has_keys {
            return "Ctrl-C quit".to_owned();
        }
        let Controls { order, lists, is_paused, .. } = self.controls;
        let lists = match lists {
            Lists::Both => "both",
            Lists::Tasks => "tasks",
            Lists::Threads => "threads",
        };
        let pause = if is_paused { "space go on" } else { "space pause" };
        let parts = [
            ("q quit".to_owned(), 0),
            (format!("s sort: {}", order.key.name()), 2),
            ("r reverse".to_owned(), 4),
            (format!("t show: {lists}"), 5),
            (pause.to_owned(), 3),
            ("h help".to_owned(), 1),
        ];
        let prefix = if is_paused { "Paused. " } else { "" };
        let mut shown = Vec::from_iter(&parts);
        let text = |shown: &[&(String, u8)]| {
            let parts: Vec<&str> = shown.iter().map(|(part, _)| &**part).collect();
            format!("{prefix}{}", parts.join("  "))
        };
        while shown.len() > 1 && width(&text(&shown)) > self.size.columns {
            let last = shown.iter().map(|(_, rank)| *rank).max();
            shown.retain(|(_, rank)| Some(*rank) != last);
        }
        text(&shown)
    }
}

/// Returns the rows of a table that is not cut, with a line about the rows that it lacks.
fn rows_wanted(table: &Table, others: u64) -> usize {
    table.rows.len() + usize::from(others > 0)
}

#[cfg(test)]
mod tests;
