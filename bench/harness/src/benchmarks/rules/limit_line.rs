//! The limit line of the page, dragged in a browser.

use serde_json::Value;
use weir_tools::shell::{Outcome, command, output_of};

use crate::benchmarks::upload::missing;
use crate::measure::{Measured, Unit};
use crate::settings::{Settings, folder, text};
use crate::statistics;
use crate::table::{Table, Threshold};

/// The goals for a step of the limit line, from the input event to the painted frame.
const STEP_MEDIAN_MS_MAX: f64 = 50.0;
const STEP_P95_MS_MAX: f64 = 100.0;

/// The requests and clients of the log whose limit line is dragged, and those of a smoke run.
const LINE_SIZE: [u32; 2] = [4_000_000, 100_000];
const SMOKE_LINE_SIZE: [u32; 2] = [20_000, 500];

/// Measures the steps of a limit line that is dragged in a browser.
pub(super) fn run(settings: &Settings) -> Outcome<Table> {
    if let Some(missing) = missing(settings)? {
        return Ok(Table::missing("rules", "the limit line on the page", vec![missing]));
    }
    let [requests, clients] = if settings.is_smoke { SMOKE_LINE_SIZE } else { LINE_SIZE };
    let (runs, folder) = (settings.runs.to_string(), text(&folder()?));
    let (of_requests, of_clients) = (requests.to_string(), clients.to_string());
    let arguments = ["bench/browser/limit_line.mjs", &runs, &of_requests, &of_clients, &folder];
    let printed = output_of(command("node", &arguments).env("WEIR_BINARY", settings.weir()))?;
    let result: Value = serde_json::from_str(&printed)?;
    let title = format!(
        "the limit line of {requests} requests of {clients} clients, from an input event to its frame"
    );
    let row =
        Measured::of_json("a step of the limit line", Unit::Milliseconds, &result["steps_ms"]);
    let median = statistics::median(&row.runs);
    let highest_20th = statistics::percentile(&row.runs, 95);
    let mut table = Table::list("rules", title, vec![row]);
    table.add_goal("median, ms", median, Threshold::AtMost(STEP_MEDIAN_MS_MAX));
    table.add_goal("95th percentile, ms", highest_20th, Threshold::AtMost(STEP_P95_MS_MAX));
    table.notes.push(format!("Chromium: {}", result["version"].as_str().unwrap_or_default()));
    Ok(table)
}
