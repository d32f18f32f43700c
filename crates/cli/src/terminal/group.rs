//! What each value of a field comes to.

use weir_core::Tally;

use super::Screen;
use super::number::{bytes, separated, share, signed};
use super::style::{Painter, Style};
use super::text::{fit_middle, right, safe, safe_bytes, width};
use crate::report::{Group, GroupRow, difference};

/// The group, line by line: a head, a row for each value, and one for the rest.
pub(super) fn draw(group: &Group, is_compared: bool, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let head = group_columns(is_compared).iter().map(|name| (*name).to_owned()).collect();
    let row = |now, before| group_cells(now, before, group.all.0, is_compared, signed);
    let mut rows: Vec<Vec<String>> = vec![head];
    rows.extend(group.rows.iter().map(|value| row(value.now, value.before)));
    let mut names: Vec<String> = group.rows.iter().map(name).collect();
    if group.rest_values > 0 {
        rows.push(row(group.rest.0, group.rest.1));
        names.push(match group.rest_values {
            1 => "(1 other value)".to_owned(),
            many => format!("({} other values)", separated(many)),
        });
    }
    let columns = rows[0].len();
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0))
        .collect();
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let title = format!("By {}", safe(&group.field));
    let mut lines = vec![painter.paint(Style::TITLE, &title)];
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str("  ");
            line.push_str(&right(cell, *width));
        }
        match index.checked_sub(1) {
            None => lines.push(painter.paint(Style::DIM, line.trim_end())),
            Some(row) => {
                let room = screen.columns.saturating_sub(used + 2);
                lines.push(format!("{line}  {}", fit_middle(&names[row], room)));
            }
        }
    }
    lines
}

/// What the columns are called.
pub(crate) fn group_columns(is_compared: bool) -> &'static [&'static str] {
    match is_compared {
        true => &["requests", "before", "change", "sent", "before", "errors", "before"],
        false => &["requests", "share", "sent", "errors", "of them"],
    }
}

/// The numbers of a value under [`group_columns`]; `all` is what there is of all values now, and `change`
/// writes a difference.
pub(crate) fn group_cells(
    now: Tally,
    before: Tally,
    all: Tally,
    is_compared: bool,
    change: fn(i128) -> String,
) -> Vec<String> {
    if is_compared {
        return vec![
            separated(now.count),
            separated(before.count),
            change(difference(now.count, before.count)),
            bytes(now.bytes_sent),
            bytes(before.bytes_sent),
            separated(now.errors),
            separated(before.errors),
        ];
    }
    vec![
        separated(now.count),
        share(now.count, all.count),
        bytes(now.bytes_sent),
        separated(now.errors),
        share(now.errors, now.count),
    ]
}

fn name(row: &GroupRow) -> String {
    match safe_bytes(&row.value) {
        empty if empty.is_empty() => "(empty)".to_owned(),
        value => value,
    }
}
