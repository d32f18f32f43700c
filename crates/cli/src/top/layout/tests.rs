//! Screens as golden files: the answers of a gateway at several sizes. `BLESS=1` writes the files
//! again; review them before they are committed.

use std::path::PathBuf;

use weir_inside::TaskSortKey;
use weir_view::{Route, RouteStage, RouteStageKind, SlowestStage, from_json};

use super::Frame;
use crate::full_screen::Size;
use crate::terminal::{Painter, width};
use crate::top::controls::{Controls, Lists, TaskOrder};
use crate::top::snapshot::Snapshot;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/top").join(name)
}

/// A gateway with slow requests, hostile names, and stages that are idle or have ended.
fn gateway() -> Snapshot {
    let read = |name| std::fs::read_to_string(path(name)).expect("an answer");
    Snapshot {
        route: from_json(&read("gateway-route.json")).expect("a route"),
        tasks: from_json(&read("gateway-tasks.json")).expect("tasks"),
    }
}

fn frame(columns: usize, rows: usize) -> Frame<'static> {
    Frame {
        controls: Controls::default(),
        has_keys: true,
        notice: None,
        size: Size { columns, rows },
        painter: Painter { colour: false },
    }
}

/// Compares a screen with a file.
fn golden(name: &str, frame: Frame<'_>) {
    let text = frame.lines(&gateway()).join("\n") + "\n";
    let path = path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("a golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{} differs; write it with BLESS=1 and review it", path.display());
}

#[test]
fn a_gateway_at_each_size() {
    for (columns, rows) in [(80, 24), (40, 12), (120, 40), (200, 60)] {
        golden(&format!("gateway-{columns}x{rows}.txt"), frame(columns, rows));
    }
}

#[test]
fn a_gateway_with_other_controls() {
    let help = Controls { shows_help: true, ..Controls::default() };
    golden("help-80x24.txt", Frame { controls: help, ..frame(80, 24) });
    let order = TaskOrder { key: TaskSortKey::Age, is_reversed: true };
    let tasks = Controls { order, lists: Lists::Tasks, is_paused: true, ..Controls::default() };
    golden("tasks-by-age-80x24.txt", Frame { controls: tasks, ..frame(80, 24) });
    let threads = Controls { lists: Lists::Threads, ..Controls::default() };
    let notice = Some(
        "No new numbers for 12 s, trying again: 127.0.0.1:9464: it cannot be reached: refused",
    );
    golden("lost-80x24.txt", Frame { controls: threads, notice, ..frame(80, 24) });
}

#[test]
fn every_size_is_filled_and_not_exceeded() {
    let snapshot = gateway();
    for (columns, rows) in
        (1..200).step_by(3).flat_map(|columns| (1..70).map(move |it| (columns, it)))
    {
        let lines = frame(columns, rows).lines(&snapshot);
        assert_eq!(lines.len(), rows, "{columns}: {lines:?}");
        // A line cannot be narrower than a wide character.
        let fits = |line: &String| width(line) <= columns.max(2);
        assert!(lines.iter().all(fits), "{columns}x{rows}: {lines:?}");
        let is_safe = |c: char| !c.is_control() && c != '\u{202e}';
        assert!(lines.iter().all(|line| line.chars().all(is_safe)), "{lines:?}");
    }
}

#[test]
fn the_slowest_stage_is_shown_if_there_is_room_for_one() {
    let stage = |index: usize| RouteStage::new(RouteStageKind::Source, &index.to_string());
    let route = Route {
        stages: (0..50).map(stage).collect(),
        slowest: SlowestStage { stage: Some(49), reason: "A reason.".to_owned() },
        ..Route::default()
    };
    let snapshot = Snapshot { route, ..gateway() };
    for rows in 10..70 {
        let lines = frame(80, rows).lines(&snapshot);
        let has_slowest = lines.iter().any(|line| line.starts_with("> source    49"));
        assert!(has_slowest, "{rows}: {lines:?}");
    }
}
