//! A table that chooses its columns by the width of the screen.

use crate::display::separated;
use crate::terminal::{Painter, Style, fit, fit_middle, left, right, width};

/// The widest name if the width of the screen is unknown, in columns. A name may be a path of any
/// length.
const NAME_COLUMNS_MAX: usize = 40;

/// The most columns that a name keeps while numbers are left out for it.
const NAME_COLUMNS_MIN: usize = 16;

/// The columns between two cells.
const GAP: usize = 2;

/// A table with a head that names its columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    /// The cells, one for each column.
    pub(super) rows: Vec<Vec<String>>,
    /// The most important row, which is marked by an arrow.
    pub(super) marked: Option<usize>,
    /// For each row whether it is about something that fails; those are marked by `!`. Rows beyond
    /// its end are not.
    pub(super) failing: Vec<bool>,
    /// A line below the rows, about those that are left out.
    pub(super) rest: Option<String>,
}

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) head: String,
    pub(super) content: Content,
    /// A screen that is too narrow leaves out the columns with the highest ranks.
    pub(super) rank: u8,
}

/// What the cells of a column contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Names, which may be shortened.
    Name,
    /// Words, which are never cut, of usually this many columns. A steady width keeps the columns
    /// in place while the cells change.
    Word(usize),
    /// Numbers, likewise.
    Number(usize),
}

impl Column {
    /// Creates a column.
    pub(super) fn new(head: &str, content: Content, rank: u8) -> Self {
        Self { head: head.to_owned(), content, rank }
    }
}

impl Table {
    /// Leaves out the rows that do not fit into `rows_max`. The last line then states their number,
    /// with `others` rows that are already missing.
    pub(super) fn cut(mut self, rows_max: usize, others: u64) -> Self {
        if self.rows.len() > rows_max || (others > 0 && rows_max > 0) {
            let shown = self.rows.len().min(rows_max.saturating_sub(1));
            let left_out = (self.rows.len() - shown) as u64 + others;
            self.rows.truncate(shown);
            self.rest = (rows_max > 0).then(|| format!("and {} more", separated(left_out)));
        }
        self
    }

    /// Formats the head, the rows and the rest. No line is wider than `columns`, or names alone are
    /// shortened if that is `usize::MAX`.
    pub(super) fn lines(&self, columns: usize, painter: Painter) -> Vec<String> {
        let widths = self.widths(columns);
        let paint = |style, line: &str| painter.paint(style, &fit(line, columns));
        let heads: Vec<&str> = self.columns.iter().map(|column| &*column.head).collect();
        let mut lines = vec![paint(Style::DIM, &self.line(&heads, &widths, "  "))];
        for (index, row) in self.rows.iter().enumerate() {
            let is_failing = self.failing.get(index).is_some_and(|is_failing| *is_failing);
            let (style, mark) = match (is_failing, self.marked == Some(index)) {
                (true, _) => (Style::WRONG, "! "),
                (_, true) => (Style::TITLE, "> "),
                (_, false) => (Style::PLAIN, "  "),
            };
            lines.push(paint(style, &self.line(row, &widths, mark)));
        }
        lines.extend(self.rest.iter().map(|rest| paint(Style::DIM, &format!("  {rest}"))));
        lines
    }

    /// Returns the width of each column; `None` for columns that are left out.
    fn widths(&self, columns: usize) -> Vec<Option<usize>> {
        let wanted: Vec<usize> =
            (0..self.columns.len()).map(|at| self.wanted(at, columns)).collect();
        let name_min = (columns / 5).min(NAME_COLUMNS_MIN);
        let least = |at: usize| match self.columns[at].content {
            Content::Name => wanted[at].min(name_min),
            _ => wanted[at],
        };
        // The mark takes as much as a gap, so each column has one before it.
        let total = |shown: &[usize], width: &dyn Fn(usize) -> usize| -> usize {
            shown.iter().map(|at| width(*at).saturating_add(GAP)).sum()
        };
        let mut shown: Vec<usize> = (0..self.columns.len())
            .filter(|at| columns == usize::MAX || self.has_cells(*at))
            .collect();
        while shown.len() > 1 && total(&shown, &least) > columns {
            let last = shown.iter().max_by_key(|at| self.columns[**at].rank).copied();
            shown.retain(|at| Some(*at) != last);
        }
        let spare = columns.saturating_sub(total(&shown, &least));
        let growth: Vec<usize> = shown.iter().map(|at| wanted[*at] - least(*at)).collect();
        let mut widths = vec![None; self.columns.len()];
        for (at, more) in shown.iter().zip(share(spare, &growth)) {
            widths[*at] = Some(least(*at) + more);
        }
        widths
    }

    /// Whether a column has content, or the table has no rows.
    fn has_cells(&self, at: usize) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| !row[at].is_empty())
    }

    /// Returns the width at which nothing of a column is shortened.
    fn wanted(&self, at: usize, columns: usize) -> usize {
        let Column { head, content, .. } = &self.columns[at];
        let widest = self.rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
        let widest = widest.max(width(head));
        match content {
            Content::Name if columns == usize::MAX => widest.min(NAME_COLUMNS_MAX),
            Content::Word(usual) | Content::Number(usual) if columns != usize::MAX => {
                widest.max(*usual)
            }
            _ => widest,
        }
    }

    fn line(&self, cells: &[impl AsRef<str>], widths: &[Option<usize>], mark: &str) -> String {
        let cells = cells.iter().zip(widths).zip(&self.columns);
        let cells = cells.filter_map(|((cell, columns), column)| {
            let columns = (*columns)?;
            Some(match column.content {
                Content::Name => left(&fit_middle(cell.as_ref(), columns), columns),
                Content::Word(_) => left(cell.as_ref(), columns),
                Content::Number(_) => right(cell.as_ref(), columns),
            })
        });
        let cells: Vec<String> = cells.collect();
        format!("{mark}{}", cells.join("  ")).trim_end().to_owned()
    }
}

/// Distributes an amount equally, except that nobody gets more than they want.
pub(super) fn share(amount: usize, wanted: &[usize]) -> Vec<usize> {
    let mut shares = vec![0; wanted.len()];
    let mut left = wanted.iter().fold(0, |sum: usize, one| sum.saturating_add(*one)).min(amount);
    while left > 0 {
        for (share, wanted) in shares.iter_mut().zip(wanted) {
            if left > 0 && *share < *wanted {
                *share += 1;
                left -= 1;
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{Column, Content, Table, share};
    use crate::terminal::{Painter, width};

    const PLAIN: Painter = Painter { colour: false };

    fn table(rows: usize) -> Table {
        let rows = (0..rows).map(|row| vec![format!("row {row}"), "x".repeat(row)]).collect();
        let columns =
            vec![Column::new("name", Content::Name, 0), Column::new("x", Content::Number(1), 1)];
        Table { columns, rows, marked: None, failing: Vec::new(), rest: None }
    }

    #[test]
    fn amounts_are_shared_equally() {
        assert_eq!(share(100, &[3, 10, 20]), [3, 10, 20]);
        assert_eq!(share(12, &[3, 10, 20]), [3, 5, 4]);
        assert_eq!(share(2, &[3, 10, 20]), [1, 1, 0]);
        assert_eq!(share(0, &[3, 10, 20]), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn all_is_shared_and_only_the_satisfied_have_less(
            amount in 0..200_usize,
            wanted in proptest::collection::vec(0..40_usize, 0..8),
        ) {
            let shares = share(amount, &wanted);
            prop_assert_eq!(shares.iter().sum::<usize>(), amount.min(wanted.iter().sum()));
            let most = shares.iter().max().copied().unwrap_or(0);
            for (share, wanted) in shares.iter().zip(&wanted) {
                prop_assert!(share == wanted || share < wanted && share + 1 >= most);
            }
        }

        #[test]
        fn what_everyone_wants_may_be_endless(amount in any::<u16>()) {
            let shares = share(usize::from(amount), &[usize::MAX, usize::MAX]);
            prop_assert_eq!(shares.iter().sum::<usize>(), usize::from(amount));
        }
    }

    #[test]
    fn a_table_fits_its_rows() {
        let lines = |rows, others| table(5).cut(rows, others).lines(usize::MAX, PLAIN).join("|");
        assert_eq!(lines(3, 0), "  name   x|  row 0|  row 1  x|  and 3 more");
        assert_eq!(lines(3, 7), "  name   x|  row 0|  row 1  x|  and 10 more");
        assert_eq!(lines(1, 0), "  name  x|  and 5 more");
        assert_eq!(lines(0, 9), "  name  x");
        assert_eq!(table(5).cut(5, 0).lines(usize::MAX, PLAIN).len(), 6);
        let marked = Table { marked: Some(1), ..table(2) };
        assert_eq!(marked.lines(80, PLAIN).join("|"), "  name   x|  row 0|> row 1  x");
        let failing = Table { failing: vec![true, false], ..marked };
        assert_eq!(failing.lines(80, PLAIN).join("|"), "  name   x|! row 0|> row 1  x");
    }

    #[test]
    fn names_are_shortened_before_numbers_are_left_out() {
        let mut table = table(0);
        table.columns.push(Column::new("more", Content::Number(4), 9));
        table.rows = vec![vec!["日本語-".repeat(9), "123,456".to_owned(), "99%".to_owned()]];
        let row = |columns| table.lines(columns, PLAIN)[1].clone();
        assert_eq!(width(&row(usize::MAX)), 2 + 40 + 2 + 7 + 2 + 4);
        assert_eq!(row(40), "  日本語-日本…語-日本語-   123,456   99%");
        assert_eq!(row(20), "  日本…語-   123,456");
        assert_eq!(row(12), "  日本…本語-");
        for columns in 1..90 {
            let lines = table.lines(columns, PLAIN);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:?}");
            let numbers = lines[1].split("  ").filter(|cell| cell.starts_with("123"));
            assert!(numbers.into_iter().all(|cell| cell == "123,456"), "{columns}: {lines:?}");
        }
    }
}
