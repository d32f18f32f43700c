//! The top lists, side by side if there is room.

use weir_view::{EMPTY_VALUE, Report, TopRow};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit_middle, left, right, width};
use crate::display::{at_least, fields_with_values, safe, separated, share, title_of};

/// Minimum width of a list; if there is room for two, they are side by side.
const LIST_COLUMNS_MIN: usize = 56;

/// Columns between two lists.
const GAP: usize = 4;

/// Columns of the longest bar.
pub(crate) const BAR_COLUMNS: usize = 8;

/// Columns of a share, such as `>99.9%`.
const SHARE_COLUMNS: usize = 6;

/// Horizontal bars in eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// All lists, line by line.
pub(crate) fn draw(report: &Report, screen: &Screen) -> Vec<String> {
    let room = screen.text_columns.saturating_add(GAP);
    let stacks = match screen.text_columns {
        usize::MAX => 1,
        _ => (room / (LIST_COLUMNS_MIN + GAP)).clamp(1, 2),
    };
    let columns = room / stacks - GAP;
    let lists: Vec<Vec<String>> = fields_with_values(report)
        .into_iter()
        .map(|field| list(report, field, columns, screen))
        .collect();
    let mut placed: Vec<Vec<String>> = vec![Vec::new(); stacks];
    for list in lists {
        // The list is added to the shorter stack.
        if let Some(stack) = placed.iter_mut().min_by_key(|stack| stack.len()) {
            stack.extend(list);
            stack.push(String::new());
        }
    }
    join_stacks(&placed, columns)
}

/// One list: its title and its rows.
fn list(report: &Report, field: &str, columns: usize, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let rows = &report.top[field];
    let mut lines = vec![title(report, field, rows.len(), painter)];
    let counts: Vec<String> =
        rows.iter().map(|row| at_least(row.tally.count, row.value.uncounted_max)).collect();
    let count_columns = counts.iter().map(|count| width(count)).max().unwrap_or(0);
    let count_max = rows.iter().map(|row| row.tally.count).max().unwrap_or(1);
    for (row, count) in rows.iter().zip(&counts) {
        let count = right(count, count_columns);
        let share = right(&share(row.tally.count, report.matching), SHARE_COLUMNS);
        let bar = left(&bar(row.tally.count, count_max), BAR_COLUMNS);
        let used = 2 + count_columns + 2 + SHARE_COLUMNS + 2 + BAR_COLUMNS + 2;
        let value = value(row, columns.saturating_sub(used));
        let bar = painter.paint(Style::BAR, &bar);
        lines.push(format!("  {count}  {share}  {bar}  {value}").trim_end().to_owned());
    }
    lines
}

fn title(report: &Report, field: &str, shown: usize, painter: Painter) -> String {
    let title = title_of(field);
    let distinct = report.distinct.get(field).copied().unwrap_or(0);
    let number = match (report.is_estimated(field), distinct > shown as u64) {
        (true, _) => format!("  {shown} of at least {}, estimated", separated(distinct)),
        (false, true) => format!("  {shown} of {}", separated(distinct)),
        (false, false) => String::new(),
    };
    painter.paint(Style::TITLE, &safe(title)) + &painter.paint(Style::DIM, &number)
}

fn value(row: &TopRow, columns: usize) -> String {
    let value = safe(&row.value.text);
    fit_middle(if value.is_empty() { EMPTY_VALUE } else { &value }, columns)
}

/// A bar whose length is proportional to its count; at least an eighth of a column.
pub(crate) fn bar(count: u64, count_max: u64) -> String {
    let length = count as f64 / count_max.max(1) as f64 * (BAR_COLUMNS * 8) as f64;
    let length = (length.round() as usize).max(usize::from(count > 0));
    format!("{}{}", "█".repeat(length / 8), EIGHTHS[length % 8])
}

/// The stacks side by side, each `columns` wide.
fn join_stacks(stacks: &[Vec<String>], columns: usize) -> Vec<String> {
    let rows = stacks.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: usize| {
        let mut line = String::new();
        let mut used = 0;
        for (index, stack) in stacks.iter().enumerate() {
            let Some(text) = stack.get(row).filter(|text| !text.is_empty()) else { continue };
            let start = index * columns.saturating_add(GAP);
            line.push_str(&" ".repeat(start.saturating_sub(used)));
            line.push_str(text);
            used = start + width(&strip_colours(text));
        }
        line
    };
    (0..rows).map(line).collect()
}

/// Removes our own colours from a text. Those of the log are already escaped.
fn strip_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let end = rest[start..].find('m').map_or(rest.len(), |end| start + end + 1);
        rest = &rest[end..];
    }
    plain + rest
}
