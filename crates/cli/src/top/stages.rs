//! The stages of a route as a table.

use weir_view::{Route, RouteShare, RouteStage};

use super::table::Content::{Name, Number, Word};
use super::table::{Column, Table};
use crate::display::{bytes, rate, safe, separated};

/// A row for each of these stages, which are indexes; the slowest and those that fail are marked.
pub(super) fn table(route: &Route, shown: &[usize]) -> Table {
    let slowest = route.slowest.stage;
    let mut columns = vec![
        Column::new("stage", Word(8), 0),
        Column::new("name", Name, 1),
        Column::new("bytes", Number(7), 7),
        Column::new("records", Number(9), 6),
        Column::new("bytes/s", Number(9), 3),
        Column::new("records/s", Number(9), 4),
        Column::new("busy", Number(5), 2),
        Column::new("held", Number(0), 5),
    ];
    let mut rows: Vec<_> = shown.iter().map(|at| cells(&route.stages[*at])).collect();
    if shown.iter().any(|at| shown_failures(&route.stages[*at]).is_some()) {
        columns.push(Column::new("failed", Number(0), 2));
        columns.push(Column::new("failed/s", Number(0), 2));
        for (row, at) in rows.iter_mut().zip(shown) {
            row.extend(failure_cells(&route.stages[*at]));
        }
    }
    if shown.iter().any(|at| !route.stages[*at].shares.is_empty()) {
        columns.push(Column::new("share", Number(0), 2));
        for (row, at) in rows.iter_mut().zip(shown) {
            row.resize(columns.len() - 1, String::new());
            row.push(shares_text(&route.stages[*at].shares));
        }
    }
    Table {
        columns,
        rows,
        marked: shown.iter().position(|at| Some(*at) == slowest),
        failing: shown.iter().map(|at| route.stages[*at].is_failing).collect(),
        rest: None,
    }
}

/// A row for each stage, in the order of the route.
pub(super) fn all(route: &Route) -> Table {
    table(route, &Vec::from_iter(0..route.stages.len()))
}

fn cells(stage: &RouteStage) -> Vec<String> {
    let rates = stage.rates.unwrap_or_default();
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    let held = stage.held_bytes.map(|held| match stage.held_bytes_max {
        Some(max) => format!("{} of {}", bytes(held), bytes(max)),
        None => bytes(held),
    });
    vec![
        stage.stage.word().to_owned(),
        safe(&stage.name),
        or_empty(stage.passed.bytes.map(bytes)),
        or_empty(stage.passed.records.map(separated)),
        or_empty(rates.bytes.map(rate)),
        or_empty(rates.records.map(|records| format!("{records:.1}"))),
        or_empty(rates.busy.map(|busy| format!("{busy:.2}"))),
        or_empty(held),
    ]
}

/// The number of failed requests of a stage, if it fails or any have failed.
fn shown_failures(stage: &RouteStage) -> Option<u64> {
    stage.passed.failed.filter(|failed| *failed > 0 || stage.is_failing)
}

fn failure_cells(stage: &RouteStage) -> [String; 2] {
    let failed = shown_failures(stage);
    let rate = failed.and(stage.rates).and_then(|rates| rates.failed);
    [failed.map(separated), rate.map(|failed| format!("{failed:.1}"))]
        .map(Option::unwrap_or_default)
}

/// The shares of a backend in the requests of routes, beside those that their weights ask for. The
/// route is named if there are several.
fn shares_text(shares: &[RouteShare]) -> String {
    let text = |share: &RouteShare| {
        let route = if shares.len() > 1 { safe(&share.route) + " " } else { String::new() };
        let asked = percent(share.asked);
        match share.got {
            Some(got) => format!("{route}{} (asked {asked})", percent(got)),
            None => format!("{route}(asked {asked})"),
        }
    };
    let mut texts: Vec<String> = shares.iter().take(SHARES_MAX).map(text).collect();
    if let Some(rest @ 1..) = shares.len().checked_sub(SHARES_MAX) {
        texts.push(format!("and {rest} more"));
    }
    texts.join(", ")
}

/// The most routes whose shares are in one row.
const SHARES_MAX: usize = 3;

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use weir_view::{
        Passed, PassedRates, Route, RouteShare, RouteStage, RouteStageKind, SlowestStage,
    };

    use super::all;
    use crate::terminal::{Painter, width};

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
            ..Route::default()
        };
        let painter = Painter { colour: false };
        let lines = all(&route).lines(usize::MAX, painter);
        let text = lines.join("\n");
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("  stage"), "{text}");
        assert!(lines[1].starts_with("> source  \\x1b[2J\\n.log"), "{text}");
        assert!(lines[1].contains("1.50 MB") && lines[1].contains("1,234"), "{text}");
        assert!(lines[2].contains("…") && !lines[2].contains(&"long/".repeat(9)), "{text}");
        assert!(lines[3].ends_with("0 B of 6.00 MB"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
        let narrow = all(&route).lines(40, painter);
        assert!(narrow.iter().all(|line| width(line) <= 40), "{narrow:?}");
        assert!(narrow[1].ends_with("2.00 kB/s"), "{narrow:?}");
    }

    #[test]
    fn failures_have_columns_if_there_are_any() {
        let backend = |name: &str, failed, is_failing| {
            let mut stage = RouteStage::new(RouteStageKind::Backend, name);
            stage.passed = Passed { records: Some(799), failed: Some(failed), ..Passed::default() };
            stage.rates = Some(PassedRates { failed: Some(0.0), ..PassedRates::default() });
            RouteStage { is_failing, ..stage }
        };
        let text = |stages| {
            let route = Route { stages, ..Route::default() };
            let shown = [0, 1];
            super::table(&route, &shown).lines(80, Painter { colour: false }).join("\n")
        };
        let none = text(vec![backend("a", 0, false), backend("b", 0, false)]);
        assert!(!none.contains("failed"), "{none}");
        let one = text(vec![backend("dead", 799, true), backend("b", 0, false)]);
        assert!(one.contains("failed  failed/s"), "{one}");
        assert!(one.lines().any(|line| line.starts_with("! backend   dead")), "{one}");
        assert!(one.lines().any(|line| line.ends_with("   799     799       0.0")), "{one}");
    }

    #[test]
    fn the_shares_of_backends_have_a_column_if_there_are_any() {
        let share = |route: &str, asked, got| RouteShare { route: route.to_owned(), asked, got };
        let backend = |name: &str, shares| RouteStage {
            shares,
            ..RouteStage::new(RouteStageKind::Backend, name)
        };
        let stages = [
            backend("one", vec![share("/", 0.95, Some(0.9612)), share("/\x1b", 0.5, None)]),
            backend("canary", vec![share("/", 0.05, Some(0.0388))]),
            backend("other", Vec::new()),
            backend("busy", (0..5).map(|_| share("/", 0.2, Some(0.2))).collect()),
        ];
        let text = |count: usize| {
            let route = Route { stages: stages[..count].to_vec(), ..Route::default() };
            all(&route).lines(200, Painter { colour: false })
        };
        let lines = text(4);
        assert!(lines[0].ends_with("share"), "{lines:?}");
        assert!(lines[1].ends_with("/ 96.1% (asked 95.0%), /\\x1b (asked 50.0%)"), "{lines:?}");
        assert!(lines[2].ends_with("  3.9% (asked 5.0%)"), "{lines:?}");
        assert!(!lines[3].contains('%'), "{lines:?}");
        assert!(lines[4].ends_with("/ 20.0% (asked 20.0%), and 2 more"), "{lines:?}");
        let none = Route { stages: vec![backend("other", Vec::new())], ..Route::default() };
        let none = all(&none).lines(200, Painter { colour: false });
        assert!(!none[0].contains("share"), "{none:?}");
    }
}
