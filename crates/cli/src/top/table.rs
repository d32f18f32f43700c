//! The stages of a route as a table of text.

use weir_view::{Route, RouteStage};

use crate::display::{bytes, rate, safe, separated};
use crate::terminal::{Painter, Screen, Style, fit, fit_middle, left, right, width};

const HEAD: [&str; 8] =
    ["stage", "name", "bytes", "records", "bytes/s", "records/s", "busy", "held"];

/// Columns of a name, which may be a path of any length.
const NAME_COLUMNS_MAX: usize = 40;

/// The columns that stand on the left of their cells.
const LEFT_COLUMNS: usize = 2;

/// A line for each stage; the slowest has an arrow before it.
pub(super) fn table(route: &Route, screen: Screen) -> String {
    let rows: Vec<[String; 8]> = route.stages.iter().map(cells).collect();
    let mut widths = HEAD.map(width);
    for row in &rows {
        for (columns, cell) in widths.iter_mut().zip(row) {
            *columns = (*columns).max(width(cell));
        }
    }
    let painter = Painter { colour: screen.colour };
    let mut text = String::new();
    let mut push = |style, line: &str| {
        text += &painter.paint(style, &fit(line, screen.text_columns));
        text.push('\n');
    };
    push(Style::DIM, &line(&HEAD, &widths, "  "));
    for (index, row) in rows.iter().enumerate() {
        match route.slowest.stage == Some(index) {
            true => push(Style::TITLE, &line(row, &widths, "> ")),
            false => push(Style::PLAIN, &line(row, &widths, "  ")),
        }
    }
    text
}

fn line(cells: &[impl AsRef<str>; 8], widths: &[usize; 8], mark: &str) -> String {
    let cells = cells.iter().zip(widths).enumerate().map(|(index, (cell, columns))| {
        let align = if index < LEFT_COLUMNS { left } else { right };
        align(cell.as_ref(), *columns)
    });
    let cells: Vec<String> = cells.collect();
    format!("{mark}{}", cells.join("  ")).trim_end().to_owned()
}

fn cells(stage: &RouteStage) -> [String; 8] {
    let rates = stage.rates.unwrap_or_default();
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    let held = stage.held_bytes.map(|held| match stage.held_bytes_max {
        Some(max) => format!("{} of {}", bytes(held), bytes(max)),
        None => bytes(held),
    });
    [
        stage.stage.word().to_owned(),
        fit_middle(&safe(&stage.name), NAME_COLUMNS_MAX),
        or_empty(stage.passed.bytes.map(bytes)),
        or_empty(stage.passed.records.map(separated)),
        or_empty(rates.bytes.map(rate)),
        or_empty(rates.records.map(|records| format!("{records:.1}"))),
        or_empty(rates.busy.map(|busy| format!("{busy:.2}"))),
        or_empty(held),
    ]
}

#[cfg(test)]
mod tests {
    use weir_view::{Passed, PassedRates, Route, RouteStage, RouteStageKind, SlowestStage};

    use super::table;
    use crate::terminal::Screen;

    #[test]
    fn stages_are_lined_up_and_hostile_names_escaped() {
        let mut source = RouteStage::new(RouteStageKind::Source, "\x1b[2J\n.log");
        source.passed =
            Passed { bytes: Some(1_500_000), records: Some(1_234), ..Passed::default() };
        source.rates = Some(PassedRates {
            bytes: Some(2_000.0),
            records: Some(1.5),
            ..PassedRates::default()
        });
        let mut queue = RouteStage::new(RouteStageKind::Queue, "");
        (queue.held_bytes, queue.held_bytes_max) = (Some(0), Some(6_000_000));
        let long = RouteStage::new(RouteStageKind::Source, &"long/".repeat(20));
        let route = Route {
            span: Some(1.0),
            stages: vec![source, long, queue],
            slowest: SlowestStage { stage: Some(0), reason: String::new() },
        };
        let screen = Screen { columns: 80, text_columns: usize::MAX, colour: false };
        let text = table(&route, screen);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("  stage"), "{text}");
        assert!(lines[1].starts_with("> source  \\x1b[2J\\n.log"), "{text}");
        assert!(lines[1].contains("1.50 MB") && lines[1].contains("1,234"), "{text}");
        assert!(lines[2].contains("…") && !lines[2].contains(&"long/".repeat(9)), "{text}");
        assert!(lines[3].ends_with("0 B of 6.00 MB"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
        let narrow = table(&route, Screen { text_columns: 40, ..screen });
        assert!(narrow.lines().all(|line| crate::terminal::width(line) <= 40), "{narrow}");
    }
}
