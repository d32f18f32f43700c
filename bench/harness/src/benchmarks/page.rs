//! Gestures on the page of a large log, in real browsers.

use serde_json::Value;

use super::upload::missing;
use crate::build;
use crate::input;
use crate::measure::{Measured, Unit};
use crate::settings::Settings;
use crate::statistics;
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// The browsers in which a person makes the gestures.
const BROWSERS: [&str; 2] = ["chromium", "firefox"];

/// The goals for the time from an input event to its answer on the screen.
const MEDIAN_MS_MAX: f64 = 50.0;
const MOST_MS_MAX: f64 = 100.0;

/// The percentile to which the second of these goals applies.
const MOST_PERCENT: usize = 95;

/// The goal for how much the page jumps while a log is read; web.dev rates a page above 0.1 as poor.
const SHIFT_MAX: f64 = 0.02;

/// The goal for the heap of the page's script, in megabytes.
const HEAP_MB_MAX: f64 = 60.0;

/// Measures each gesture until its answer is on the screen, and what the page does while a log is
/// read.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if let Some(missing) = missing(settings)? {
        return Ok(vec![Table::missing("page", "gestures on the page", vec![missing])]);
    }
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let runs = settings.runs.to_string();
    let tables = BROWSERS.into_iter().map(|browser| {
        let arguments = ["bench/browser/gestures.mjs", &runs, &log.path, browser];
        let printed = output_of(command("node", &arguments).env("WEIR_BINARY", settings.weir()))?;
        Ok(table(browser, &serde_json::from_str(&printed)?))
    });
    tables.collect()
}

/// The result of one browser, with its goals.
fn table(browser: &str, result: &Value) -> Table {
    let title = format!(
        "{browser}: gestures on the page of a combined log of {} requests, until the answer is on \
         the screen",
        result["requests"]
    );
    let gestures = result["gestures_ms"].as_object().into_iter().flatten();
    let rows = gestures.map(|(name, runs)| Measured::of_json(name, Unit::Milliseconds, runs));
    let mut table = Table::list("page", title, rows.collect());
    let all: Vec<f64> = table.rows.iter().flat_map(|row| row.runs.clone()).collect();
    table.add_goal("median, ms", statistics::median(&all), Threshold::AtMost(MEDIAN_MS_MAX));
    let most = statistics::percentile(&all, MOST_PERCENT);
    table.add_goal("95th percentile, ms", most, Threshold::AtMost(MOST_MS_MAX));
    let shift = result["shift"].as_f64();
    table.add_goal("layout shift while reading", shift, Threshold::AtMost(SHIFT_MAX));
    let heap = result["heap_bytes"].as_f64().map(|bytes| bytes / 1e6);
    table.add_goal("heap of the script, MB", heap, Threshold::AtMost(HEAP_MB_MAX));
    let findings = result["findings"].as_array().map(|all| all.len() as f64);
    table.add_goal("findings of axe-core", findings, Threshold::AtMost(0.0));
    let until_lists: Vec<f64> = runs_of(&result["all_lists_ms"]);
    if let Some(median) = statistics::median(&until_lists) {
        table.notes.push(format!("until no list is awaited: {median:.0} ms at the median"));
    }
    table.notes.push(format!("{browser}: {}", result["version"].as_str().unwrap_or_default()));
    table
}

/// All runs of all gestures.
fn runs_of(gestures: &Value) -> Vec<f64> {
    let lists = gestures.as_object().into_iter().flatten().filter_map(|(_, runs)| runs.as_array());
    lists.flatten().filter_map(Value::as_f64).collect()
}
