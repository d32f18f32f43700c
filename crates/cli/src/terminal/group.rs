//! The records of each value of a field.

use weir_view::{EMPTY_VALUE, Group, GroupRow, Report, RowValue};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit_middle, right, width};
use crate::display::{GroupColumns, safe, safe_bytes, signed};

/// The group, line by line: a head, a row for each value, and one for the rest.
pub(super) fn draw(group: &Group, report: &Report, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let columns = GroupColumns::of(group, report);
    let mut rows: Vec<Vec<String>> = vec![columns.heads()];
    rows.extend(group.rows.iter().map(|row| columns.row(row, signed)));
    let mut names: Vec<String> = names(&group.rows);
    if let Some(name) = columns.name_of_rest() {
        rows.push(columns.rest(signed));
        names.push(format!("({name})"));
    }
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0))
        .collect();
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let mut lines = vec![painter.paint(Style::TITLE, &safe(&columns.title()))];
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

/// The names of the rows. The values of several fields stand below each other, except the last.
fn names(rows: &[GroupRow]) -> Vec<String> {
    let values = rows.iter().map(|row| std::iter::once(&row.value).chain(&row.further_values));
    let values: Vec<Vec<String>> = values.map(|values| values.map(name).collect()).collect();
    let columns = values.first().map_or(0, Vec::len);
    let widest = |column: usize| values.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (value, widest) in row.iter().zip(&widths) {
            line += &format!("{value}{}  ", " ".repeat(widest.saturating_sub(width(value))));
        }
        line + row.last().map_or("", String::as_str)
    };
    values.iter().map(line).collect()
}

fn name(value: &RowValue) -> String {
    match safe_bytes(&value.bytes()) {
        empty if empty.is_empty() => EMPTY_VALUE.to_owned(),
        value => value,
    }
}
