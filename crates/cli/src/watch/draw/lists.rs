//! The lists, side by side and below one another as far as there is room.

use weir_view::{EMPTY_VALUE, Report, TopRow};

use super::Frame;
use crate::display::{at_least, fields_with_values, safe, safe_bytes, separated, share, title_of};
use crate::terminal::{BAR_COLUMNS, Style, bar, fit, fit_middle, left, right, width};
use crate::watch::state::{Pane, Places};

/// The least width of a list that stands beside another.
const LIST_COLUMNS_MIN: usize = 36;

/// The least width of a list with bars.
const BARS_COLUMNS_MIN: usize = 50;

/// The least width of a list with shares.
const SHARES_COLUMNS_MIN: usize = 26;

/// The least number of rows of a list below another, with its title.
const LIST_ROWS_MIN: usize = 8;

/// Columns between two lists.
const GAP: usize = 2;

/// Columns of a share, such as `>99.9%`.
const SHARE_COLUMNS: usize = 6;

/// The lists in at most `rows` rows: those among which the one with the keys is.
pub(super) fn lines(
    frame: &Frame<'_>,
    report: &Report,
    places: &Places,
    rows: usize,
) -> Vec<String> {
    let fields = fields_with_values(report);
    if rows == 0 || fields.is_empty() {
        return Vec::new();
    }
    let across = ((frame.size.columns + GAP) / (LIST_COLUMNS_MIN + GAP)).clamp(1, 3);
    let columns = (frame.size.columns + GAP) / across - GAP;
    let down = (rows / LIST_ROWS_MIN).max(1);
    let chosen = match places.pane(report) {
        Pane::Chart => None,
        Pane::List(field) => Some(field),
    };
    let at = chosen.as_ref().and_then(|field| fields.iter().position(|it| it == field));
    let on_screen = across * down;
    let first = at.unwrap_or(0) / on_screen * on_screen;
    let shown = &fields[first..fields.len().min(first + on_screen)];
    let down = shown.len().div_ceil(across);
    let mut lines = Vec::new();
    for (row, fields) in shown.chunks(across).enumerate() {
        let rows = rows / down + usize::from(row < rows % down);
        let lists = fields.iter().map(|field| {
            let has_keys = chosen.as_deref() == Some(field);
            let row = has_keys.then(|| places.row(field, &report.top[*field]));
            list(frame, report, (field, row), (columns, rows))
        });
        let lists: Vec<Vec<(String, usize)>> = lists.collect();
        lines.extend((0..rows).map(|row| beside(&lists, row, columns)));
    }
    lines
}

/// A row of the lists that stand side by side.
fn beside(lists: &[Vec<(String, usize)>], row: usize, columns: usize) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (index, list) in lists.iter().enumerate() {
        let Some((text, text_columns)) = list.get(row) else { continue };
        let start = index * (columns + GAP);
        line.push_str(&" ".repeat(start - used));
        line.push_str(text);
        used = start + text_columns;
    }
    line
}

/// A list: its title and as many rows as there is room for, each with its width. A list that has the
/// keys has a chosen row.
fn list(
    frame: &Frame<'_>,
    report: &Report,
    (field, chosen): (&str, Option<usize>),
    (columns, rows): (usize, usize),
) -> Vec<(String, usize)> {
    let painter = frame.painter;
    let all = &report.top[field];
    let room = rows.saturating_sub(1).max(1);
    let first = chosen.unwrap_or(0) / room * room;
    let shown = &all[first..all.len().min(first + room)];
    let title = fit(&title(report, field, (first, all.len())), columns);
    let title_style = if chosen.is_some() { Style::SELECTED } else { Style::TITLE };
    let mut lines = vec![(painter.paint(title_style, &title), width(&title))];
    let count = |row: &TopRow| at_least(row.tally.count, row.value.uncounted_max);
    let count_columns = all.iter().map(|row| width(&count(row))).max().unwrap_or(0);
    let count_max = all.iter().map(|row| row.tally.count).max().unwrap_or(1);
    for (index, row) in shown.iter().enumerate() {
        let is_chosen = chosen == Some(first + index);
        let mut start = format!("{} ", right(&count(row), count_columns));
        if columns >= SHARES_COLUMNS_MIN {
            let share = share(row.tally.count, report.matching);
            start.push_str(&format!("{} ", right(&share, SHARE_COLUMNS)));
        }
        let bars = match columns >= BARS_COLUMNS_MIN {
            true => left(&bar(row.tally.count, count_max), BAR_COLUMNS) + " ",
            false => String::new(),
        };
        // A mark as well as a colour: a terminal may have no colours.
        let mark = if is_chosen { ">" } else { " " };
        let used = width(&start) + width(&bars) + 1;
        let value = fit_middle(&value(row), columns.saturating_sub(used));
        let text = fit(&format!("{mark}{start}{bars}{value}"), columns);
        let painted = match (is_chosen, width(&text) == used + width(&value)) {
            (true, _) => painter.paint(Style::SELECTED, &text),
            (false, true) => {
                format!("{mark}{start}{}{value}", painter.paint(Style::BAR, &bars))
            }
            (false, false) => text.clone(),
        };
        lines.push((painted, width(&text)));
    }
    lines
}

fn title(report: &Report, field: &str, (first, rows): (usize, usize)) -> String {
    let distinct = report.distinct.get(field).copied().unwrap_or(0).max(rows as u64);
    let number = match report.is_estimated(field) {
        true => format!("at least {}, estimated", separated(distinct)),
        false => separated(distinct),
    };
    let from = if first > 0 { format!(", from {}", first + 1) } else { String::new() };
    format!("{}  {number}{from}", safe(title_of(field)))
}

fn value(row: &TopRow) -> String {
    match safe_bytes(&row.value.bytes()) {
        empty if empty.is_empty() => EMPTY_VALUE.to_owned(),
        value => value,
    }
}
