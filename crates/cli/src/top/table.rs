//! A table of text that fits a number of rows.

use crate::terminal::{Painter, Screen, Style, fit, left, right, width};

/// Columns of a name, which may be a path of any length.
pub(super) const NAME_COLUMNS_MAX: usize = 40;

/// A table with a line above it that names its columns.
pub(super) struct Table<const N: usize> {
    pub(super) head: [&'static str; N],
    /// The columns that stand on the left of their cells: the first ones.
    pub(super) left_columns: usize,
    pub(super) rows: Vec<[String; N]>,
    /// The row that matters most, which has an arrow before it.
    pub(super) marked: Option<usize>,
}

impl<const N: usize> Table<N> {
    /// Its lines: the head and so many rows. If it has more, the last line says how many, and the marked row is
    /// shown nonetheless.
    pub(super) fn lines(&self, rows_max: usize, screen: Screen) -> Vec<String> {
        let shown = self.shown(rows_max);
        let mut widths = self.head.map(width);
        for row in &shown {
            for (columns, cell) in widths.iter_mut().zip(&self.rows[*row]) {
                *columns = (*columns).max(width(cell));
            }
        }
        let painter = Painter { colour: screen.colour };
        let paint = |style, line: &str| painter.paint(style, &fit(line, screen.text_columns));
        let mut lines = vec![paint(Style::DIM, &self.line(&self.head, &widths, "  "))];
        for row in &shown {
            let (style, mark) = match self.marked == Some(*row) {
                true => (Style::TITLE, "> "),
                false => (Style::PLAIN, "  "),
            };
            lines.push(paint(style, &self.line(&self.rows[*row], &widths, mark)));
        }
        let left_out = self.rows.len() - shown.len();
        if left_out > 0 && rows_max > 0 {
            lines.push(paint(Style::DIM, &format!("  and {left_out} more")));
        }
        lines
    }

    /// The rows that are shown, by their places.
    fn shown(&self, rows_max: usize) -> Vec<usize> {
        if self.rows.len() <= rows_max {
            return (0..self.rows.len()).collect();
        }
        // One row is for the number of the others.
        let mut shown: Vec<usize> = (0..rows_max.saturating_sub(1)).collect();
        if let (Some(marked), Some(last)) = (self.marked, shown.last_mut()) {
            *last = marked.max(*last);
        }
        shown
    }

    fn line(&self, cells: &[impl AsRef<str>; N], widths: &[usize; N], mark: &str) -> String {
        let cells = cells.iter().zip(widths).enumerate().map(|(index, (cell, columns))| {
            let align = if index < self.left_columns { left } else { right };
            align(cell.as_ref(), *columns)
        });
        let cells: Vec<String> = cells.collect();
        format!("{mark}{}", cells.join("  ")).trim_end().to_owned()
    }
}

/// Shares rows among tables that want so many each: equally, except that none gets more than it wants.
pub(super) fn share<const TABLES: usize>(rows: usize, wanted: [usize; TABLES]) -> [usize; TABLES] {
    let mut shares = [0; TABLES];
    let mut left = rows.min(wanted.iter().sum());
    while left > 0 {
        for (share, wanted) in shares.iter_mut().zip(wanted) {
            if left > 0 && *share < wanted {
                *share += 1;
                left -= 1;
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::{Table, share};
    use crate::terminal::Screen;

    #[test]
    fn rows_are_shared_equally() {
        assert_eq!(share(100, [3, 10, 20]), [3, 10, 20]);
        assert_eq!(share(12, [3, 10, 20]), [3, 5, 4]);
        assert_eq!(share(2, [3, 10, 20]), [1, 1, 0]);
        assert_eq!(share(0, [3, 10, 20]), [0, 0, 0]);
    }

    #[test]
    fn a_table_fits_its_rows_and_keeps_the_marked_one() {
        let screen = Screen { columns: 80, text_columns: usize::MAX, colour: false };
        let rows = (0..5).map(|row| [format!("row {row}"), "x".repeat(row)]).collect();
        let mut table = Table { head: ["name", "x"], left_columns: 1, rows, marked: None };
        let lines = |table: &Table<2>, rows| table.lines(rows, screen).join("|");
        assert_eq!(lines(&table, 3), "  name   x|  row 0|  row 1  x|  and 3 more");
        assert_eq!(lines(&table, 1), "  name  x|  and 5 more");
        assert_eq!(lines(&table, 0), "  name  x");
        assert_eq!(table.lines(5, screen).len(), 6);
        table.marked = Some(4);
        assert_eq!(lines(&table, 3), "  name      x|  row 0|> row 4  xxxx|  and 3 more");
    }
}
