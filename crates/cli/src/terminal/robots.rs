//! Robots that do not call themselves so.

use weir_view::{EMPTY_VALUE, RobotSums, Robots, RowValue};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit_middle, left, right, width, wrap};
use crate::display::{
    ROBOT_COLUMNS, robot_cells, robot_reasons, robot_remarks, robot_sums, safe, safe_bytes,
    separated,
};

/// The sections, with an empty line at the end.
pub(super) fn draw(robots: &Robots, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let title = |title: &str, counts: &str| {
        painter.paint(Style::TITLE, title) + &painter.paint(Style::DIM, &format!("  {counts}"))
    };
    let mut lines = vec![title("Like robots", &robot_sums(&robots.clients))];
    let rows: Vec<([String; 5], String)> = robots
        .rows
        .iter()
        .map(|row| {
            let cells = [robot_reasons(row), shown(&row.value)];
            let agent = row.agent.as_deref().map_or_else(|| "(several)".to_owned(), safe);
            (costs(&row.sums, cells), agent)
        })
        .collect();
    lines.extend(table(&rows, ["why", "client"], screen, &painter));
    let counts = format!("{} of {}", separated(robots.cohorts), robot_sums(&robots.cohort_clients));
    lines.extend([String::new(), title("Cohorts", &counts)]);
    let rows: Vec<([String; 5], String)> = robots
        .cohort_rows
        .iter()
        .map(|row| {
            let cells = [separated(row.sums.clients), safe(&row.pattern)];
            (costs(&row.sums, cells), shown(&row.value))
        })
        .collect();
    lines.extend(table(&rows, ["clients", "paths"], screen, &painter));
    for remark in robot_remarks(robots) {
        let remark = wrap(&remark, ["  ", "    "], screen.text_columns);
        lines.extend(remark.iter().map(|line| painter.paint(Style::DIM, line)));
    }
    lines.push(String::new());
    lines
}

fn shown(value: &RowValue) -> String {
    match safe_bytes(&value.bytes()) {
        empty if empty.is_empty() => EMPTY_VALUE.to_owned(),
        value => value,
    }
}

fn costs(sums: &RobotSums, [one, two]: [String; 2]) -> [String; 5] {
    let [requests, bytes, errors] = robot_cells(sums);
    [requests, bytes, errors, one, two]
}

/// Rows of what clients cost, two cells and an agent, with a head unless there are none.
fn table(
    rows: &[([String; 5], String)],
    heads: [&str; 2],
    screen: &Screen,
    painter: &Painter,
) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let [requests, bytes, errors] = ROBOT_COLUMNS;
    let head = [requests, bytes, errors, heads[0], heads[1]].map(str::to_owned);
    let cells = || std::iter::once(&head).chain(rows.iter().map(|(cells, _)| cells));
    let widths = [0, 1, 2, 3, 4].map(|at| cells().map(|row| width(&row[at])).max().unwrap_or(0));
    let line = |row: &[String; 5]| {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            line += "  ";
            line += &if at < 3 { right(cell, width) } else { left(cell, width) };
        }
        line
    };
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = screen.text_columns.saturating_sub(used + 2);
    let head = painter.paint(Style::DIM, &format!("{}  agent", line(&head)));
    let rows =
        rows.iter().map(|(cells, agent)| format!("{}  {}", line(cells), fit_middle(agent, room)));
    std::iter::once(head).chain(rows).collect()
}
