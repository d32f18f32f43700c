//! The visitors of each day.

use weir_view::Visitors;

use super::Screen;
use super::lists::bar;
use super::style::{Painter, Style};
use super::text::{left, right, width, wrap};
use crate::display::{
    VISITOR_COLUMNS, earlier_days, visitor_cells, visitors_counts, visitors_remarks,
};

/// The section, with an empty line at the end.
pub(super) fn draw(visitors: &Visitors, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let counts = painter.paint(Style::DIM, &format!("  {}", visitors_counts(visitors)));
    let mut lines = vec![painter.paint(Style::TITLE, "Visitors") + &counts];
    let days = &visitors.days[earlier_days(visitors)..];
    let mut rows = vec![VISITOR_COLUMNS.map(str::to_owned)];
    rows.extend(days.iter().map(visitor_cells));
    let columns = [0, 1, 2, 3];
    let widths = columns.map(|cell| rows.iter().map(|row| width(&row[cell])).max().unwrap_or(0));
    let cells = |row: &[String; 4]| {
        columns.map(|cell| format!("  {}", right(&row[cell], widths[cell]))).concat()
    };
    if !days.is_empty() {
        lines.push(painter.paint(Style::DIM, &cells(&rows[0])));
    }
    let most = days.iter().map(|day| day.visitors).max().unwrap_or(1);
    for (day, row) in days.iter().zip(&rows[1..]) {
        let bar = left(&bar(day.visitors, most), super::BAR_COLUMNS);
        lines.push(format!("{}  {}  {}", cells(row), painter.paint(Style::BAR, &bar), day.date));
    }
    for remark in visitors_remarks(visitors) {
        let remark = wrap(&remark, ["  ", "    "], screen.text_columns);
        lines.extend(remark.iter().map(|line| painter.paint(Style::DIM, line)));
    }
    lines.push(String::new());
    lines
}
