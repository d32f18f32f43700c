//! Gestures on the page of a large log, in a real browser.

use serde_json::Value;

use super::upload::missing;
use crate::build;
use crate::input;
use crate::measure::{Measured, Unit};
use crate::settings::Settings;
use crate::statistics;
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// The goals for the time from an input event to its answer on the screen.
const MEDIAN_MS_MAX: f64 = 50.0;
const MOST_MS_MAX: f64 = 80.0;

/// The goal for how much the page jumps while a log is read; web.dev rates a page above it as poor.
const SHIFT_MAX: f64 = 0.1;

/// Measures each gesture until its answer is on the screen, and what the page does while a log is
/// read.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if let Some(missing) = missing(settings)? {
        return Ok(vec![Table::missing("page", "gestures on the page", vec![missing])]);
    }
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let runs = settings.runs.to_string();
    let arguments = ["bench/browser/gestures.mjs", &runs, &log.path];
    let printed = output_of(command("node", &arguments).env("WEIR_BINARY", settings.weir()))?;
    let result: Value = serde_json::from_str(&printed)?;
    let title = format!(
        "gestures on the page of a combined log of {} requests, until the answer is on the screen",
        result["requests"]
    );
    let gestures = result["gestures_ms"].as_object().into_iter().flatten();
    let rows = gestures.map(|(name, runs)| Measured::of_json(name, Unit::Milliseconds, runs));
    let mut table = Table::list("page", title, rows.collect());
    let all: Vec<f64> = table.rows.iter().flat_map(|row| row.runs.clone()).collect();
    let most = all.iter().copied().reduce(f64::max);
    table.add_goal("median, ms", statistics::median(&all), Threshold::AtMost(MEDIAN_MS_MAX));
    table.add_goal("most, ms", most, Threshold::AtMost(MOST_MS_MAX));
    let shift = result["shift"].as_f64();
    table.add_goal("layout shift while reading", shift, Threshold::AtMost(SHIFT_MAX));
    let findings = result["findings"].as_array().map(|all| all.len() as f64);
    table.add_goal("findings of axe-core", findings, Threshold::AtMost(0.0));
    table.notes.push(format!("Chromium: {}", result["version"].as_str().unwrap_or_default()));
    Ok(vec![table])
}
