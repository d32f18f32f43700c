//! What is different in the records that match.

use weir_view::{Differences, EMPTY_VALUE, RecordKind};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit_middle, left, right, width};
use crate::display::{differences_counts, safe, safe_bytes, separated, share};

/// The section, with an empty line at the end.
pub(super) fn draw(differences: &Differences, kind: RecordKind, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let counts = painter.paint(Style::DIM, &format!("  {}", differences_counts(differences, kind)));
    let mut lines = vec![painter.paint(Style::TITLE, "What is different") + &counts];
    let head = ["here", "elsewhere", kind.column(), "field"].map(str::to_owned);
    let mut rows = vec![head];
    rows.extend(differences.rows.iter().map(|row| {
        [
            share(row.count, differences.selected),
            share(row.others_count, differences.others),
            separated(row.count),
            safe(&row.field),
        ]
    }));
    let widest = |cell: usize| rows.iter().map(|row| width(&row[cell])).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(widest);
    let used: usize = widths.iter().map(|width| width + 2).sum();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (cell, width) in row[..3].iter().zip(widths) {
            line += &format!("  {}", right(cell, width));
        }
        line += &format!("  {}", left(&row[3], widths[3]));
        lines.push(match index.checked_sub(1).map(|row| &differences.rows[row]) {
            None => painter.paint(Style::DIM, line.trim_end()),
            Some(row) => {
                let value = match safe_bytes(&row.value.bytes()) {
                    empty if empty.is_empty() => EMPTY_VALUE.to_owned(),
                    value => value,
                };
                let room = screen.text_columns.saturating_sub(used + 2);
                format!("{line}  {}", fit_middle(&value, room))
            }
        });
    }
    lines.push(String::new());
    lines
}
