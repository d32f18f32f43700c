//! The cost of a log call, and a check that release builds leave out the debug and trace events.

use crate::build;
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, folder, text};
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// A call that the filter leaves out may take this much longer than none: a few loads and branches,
/// a ten thousandth of a request of the gateway.
const DISABLED_NS_MAX: f64 = 2.0;

const NONE: &str = "no call";
const DISABLED: &str = "off by the filter";

/// The calls that are timed, with the arguments of the example.
const CALLS: [(&str, &str, bool); 7] = [
    (NONE, "none", false),
    (DISABLED, "disabled", false),
    ("repeated and only counted", "counted", false),
    ("as text, dropped", "text", false),
    ("as text, to a file", "text", true),
    ("as JSON, dropped", "json", false),
    ("as JSON, to a file", "json", true),
];

/// The table; with the shares of the processor time of a request in microseconds, if that is known.
pub(super) fn table(settings: &Settings, request_us: Option<f64>) -> Outcome<Table> {
    let example = build::example(settings, "log_calls")?;
    let file = text(&folder()?.join("log-calls.log"));
    let contenders = CALLS.map(|(name, kind, is_to_file)| {
        let (example, file) = (&example, if is_to_file { &file } else { "-" });
        Contender::new(name, settings.runs, move || {
            Ok(output_of(&mut command(example, &[kind, file]))?.trim().parse()?)
        })
    });
    let [rows] = take_turns(contenders.into(), [Unit::Nanoseconds])?;
    let mut table = Table::list("inside", "a call of the log at info, with two fields", rows);
    let median = |name| table.row(name).map(|row| row.median());
    let cost = median(DISABLED).zip(median(NONE)).map(|(disabled, none)| disabled - none);
    if let Some(request_us) = request_us {
        table.notes.push(shares(&table, request_us));
    }
    // The cost in an unoptimized build is meaningless.
    let cost = cost.filter(|_| !settings.is_smoke);
    table.add_goal("ns for a call that is off", cost, Threshold::AtMost(DISABLED_NS_MAX));
    Ok(table)
}

/// The share of the gateway's processor time that one call for each request would take.
fn shares(table: &Table, request_us: f64) -> String {
    let share = |ns: f64| format!("{:.2} %", ns / 1e3 / request_us * 100.0);
    let rows = table.rows.iter().filter(|row| row.name != NONE);
    let shares: Vec<String> =
        rows.map(|row| format!("{} {}", row.name, share(row.median()))).collect();
    format!(
        "one call for each request of the gateway, by its processor time of {request_us:.1} µs: {}",
        shares.join(", ")
    )
}

/// Texts of events at the levels info and debug.
const INFO_TEXT: &str = "the filter of the log is changed";
const DEBUG_TEXT: &str = "a connection is refused: its client does not use TLS";

/// Checks that a release build leaves out the events below the level info, and a debug build does
/// not.
pub(super) fn check_levels(settings: &Settings) -> Outcome {
    let program = std::fs::read(settings.weir())?;
    let has = |text: &str| program.windows(text.len()).any(|it| it == text.as_bytes());
    match (has(INFO_TEXT), has(DEBUG_TEXT)) {
        (true, has_debug) if has_debug == settings.is_smoke => Ok(()),
        (false, _) => Err(format!("the program lacks the event `{INFO_TEXT}`").into()),
        (true, _) => Err(format!("the event `{DEBUG_TEXT}` is in the wrong build").into()),
    }
}
