//! The stages of a route as a table.

use weir_view::{Route, RouteStage};

use super::table::{NAME_COLUMNS_MAX, Table};
use crate::display::{bytes, rate, safe, separated};
use crate::terminal::fit_middle;

/// A row for each stage; the slowest is marked.
pub(super) fn stages(route: &Route) -> Table<8> {
    Table {
        head: ["stage", "name", "bytes", "records", "bytes/s", "records/s", "busy", "held"],
        left_columns: 2,
        rows: route.stages.iter().map(cells).collect(),
        marked: route.slowest.stage,
    }
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

    use super::stages;
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
        let lines = stages(&route).lines(usize::MAX, screen);
        let text = lines.join("\n");
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("  stage"), "{text}");
        assert!(lines[1].starts_with("> source  \\x1b[2J\\n.log"), "{text}");
        assert!(lines[1].contains("1.50 MB") && lines[1].contains("1,234"), "{text}");
        assert!(lines[2].contains("…") && !lines[2].contains(&"long/".repeat(9)), "{text}");
        assert!(lines[3].ends_with("0 B of 6.00 MB"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
        let narrow = stages(&route).lines(usize::MAX, Screen { text_columns: 40, ..screen });
        assert!(narrow.iter().all(|line| crate::terminal::width(line) <= 40), "{narrow:?}");
    }
}
