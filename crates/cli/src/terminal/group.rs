//! The records of each value of a field.

use weir_view::{EMPTY_VALUE, Group, GroupRow, PeriodTally, Report};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit_middle, right, width};
use crate::display::{GroupColumn, mark_lower_bound, safe, safe_bytes, separated, signed};

/// The group, line by line: a head, a row for each value, and one for the rest.
pub(super) fn draw(group: &Group, report: &Report, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let columns = GroupColumn::of(report);
    let head = columns.iter().map(|column| column.head(report.kind).to_owned()).collect();
    let row = |tally: &PeriodTally| -> Vec<String> {
        columns.iter().map(|column| column.cell(tally, report.matching, signed)).collect()
    };
    let mut rows: Vec<Vec<String>> = vec![head];
    rows.extend(group.rows.iter().map(|value| {
        let mut cells = row(&value.tally);
        mark_lower_bound(&columns, &mut cells, &value.value);
        cells
    }));
    let mut names: Vec<String> = group.rows.iter().map(name).collect();
    if group.rest.values > 0 {
        rows.push(row(&group.rest.tally));
        names.push(match (report.is_estimated(&group.field), group.rest.values) {
            (true, many) => format!("(at least {} other values)", separated(many)),
            (false, 1) => "(1 other value)".to_owned(),
            (false, many) => format!("({} other values)", separated(many)),
        });
    }
    let widths: Vec<usize> = (0..columns.len())
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
                let room = screen.text_columns.saturating_sub(used + 2);
                lines.push(format!("{line}  {}", fit_middle(&names[row], room)));
            }
        }
    }
    lines
}

fn name(row: &GroupRow) -> String {
    match safe_bytes(&row.value.bytes()) {
        empty if empty.is_empty() => EMPTY_VALUE.to_owned(),
        value => value,
    }
}
