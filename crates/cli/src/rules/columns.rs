//! Lays out tables for a person.

use crate::terminal::{left, right, width};

/// Rows of cells as lines, each column as wide as its widest cell. Columns for which `is_left` is
/// true are aligned to the left, the others to the right.
pub(super) fn aligned<const N: usize>(
    rows: &[[String; N]],
    is_left: impl Fn(usize) -> bool,
) -> String {
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(widest);
    let mut text = String::new();
    for row in rows {
        let cell = |column: usize| match is_left(column) {
            true => left(&row[column], widths[column]),
            false => right(&row[column], widths[column]),
        };
        let cells: [String; N] = std::array::from_fn(cell);
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}
