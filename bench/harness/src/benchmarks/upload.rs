//! A log dropped on the page, in two real browsers.

use serde_json::Value;

use crate::build;
use crate::input::{self, Log};
use crate::measure::{Measured, Unit};
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, is_installed, output_of, root};
use weir_tools::{browsers, npm};

/// The browsers: name in the script, name in the table, and the goal as a multiple of the bare
/// page's rate.
const BROWSERS: [(&str, &str, f64); 2] =
    [("chromium", "Chromium", 1.8), ("firefox", "Firefox", 1.3)];

/// The goal for the first picture.
const PICTURE_MS_MAX: f64 = 200.0;

/// The measurements of one browser.
struct BrowserRuns {
    title: &'static str,
    goal: f64,
    version: String,
    seconds: Vec<f64>,
    bare_seconds: Vec<f64>,
    picture_ms: Vec<f64>,
}

/// Measures the time until a whole log is uploaded and parsed, beside a page and a server that do
/// nothing with it, and the time to the first picture.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if let Some(missing) = missing(settings)? {
        return Ok(vec![Table::missing("upload", "a log given to the page", vec![missing])]);
    }
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let program = build::contender(settings, "acknowledge")?;
    let mut browsers = Vec::new();
    for (name, title, goal) in BROWSERS {
        browsers.push(in_browser(settings, &log, &program, name, title, goal)?);
    }
    Ok(vec![upload_table(&log, &browsers), picture_table(&log, &browsers)])
}

/// Installs missing programs, except in a smoke run. Returns a note about those still missing.
pub(super) fn missing(settings: &Settings) -> Outcome<Option<String>> {
    let has_page = root().join("web/node_modules/puppeteer-core").exists();
    if settings.is_smoke {
        let mut missing = browsers::missing();
        if !has_page {
            missing.push("the packages of `npm ci` in web");
        }
        let names = missing.join(" and ");
        return Ok((!missing.is_empty()).then(|| format!("missing: {names}")));
    }
    if !is_installed("node") || !is_installed("npm") {
        return Ok(Some("missing: Node.js 20.19 or later with npm".to_owned()));
    }
    if let Err(error) = browsers::install() {
        return Ok(Some(format!("missing: {error}")));
    }
    if !has_page {
        npm::install()?;
    }
    Ok(None)
}

fn in_browser(
    settings: &Settings,
    log: &Log,
    program: &str,
    name: &str,
    title: &'static str,
    goal: f64,
) -> Outcome<BrowserRuns> {
    let runs = settings.runs.to_string();
    let arguments = ["bench/browser/upload.mjs", name, &runs, &log.path, program];
    let printed = output_of(command("node", &arguments).env("WEIR_BINARY", settings.weir()))?;
    let result: Value = serde_json::from_str(&printed)?;
    let list = |key: &str| result[key].as_array().cloned().unwrap_or_default();
    let numbers = |key: &str| list("weir").iter().filter_map(|run| run[key].as_f64()).collect();
    Ok(BrowserRuns {
        title,
        goal,
        version: result["version"].as_str().unwrap_or_default().to_owned(),
        seconds: numbers("seconds"),
        bare_seconds: list("bare").iter().filter_map(Value::as_f64).collect(),
        picture_ms: numbers("picture_ms"),
    })
}

fn upload_table(log: &Log, browsers: &[BrowserRuns]) -> Table {
    let unit = Unit::Seconds { bytes: log.bytes };
    let rows = browsers.iter().flat_map(|browser| {
        let row = |what: &str, runs: &[f64]| Measured {
            name: format!("{}, {what}", browser.title),
            unit,
            runs: runs.to_vec(),
        };
        [row(OURS, &browser.seconds), row(BARE, &browser.bare_seconds)]
    });
    let title =
        format!("a combined log of {} given to the page, parsed and shown", log.size_text());
    let mut table = Table::new("upload", title, rows.collect());
    for browser in browsers {
        let [ours, bare] = [OURS, BARE].map(|what| format!("{}, {what}", browser.title));
        let what = format!("{}, rate by the bare page's", browser.title);
        table.add_goal(&what, table.rate_ratio(&ours, &bare), Threshold::AtLeast(browser.goal));
        table.notes.push(format!("{}: {}", browser.title, browser.version));
    }
    table.notes.push(
        "the bare page sends Blobs of 1 MiB, each after the answer to the one before, to a \
         tungstenite server that does not parse them; browser and server share the cores"
            .to_owned(),
    );
    table
}

const OURS: &str = "Weir's page";
const BARE: &str = "bare page";

fn picture_table(log: &Log, browsers: &[BrowserRuns]) -> Table {
    let rows = browsers.iter().map(|browser| Measured {
        name: browser.title.to_owned(),
        unit: Unit::Milliseconds,
        runs: browser.picture_ms.clone(),
    });
    let title =
        format!("from the choice of a log of {} to the first picture of it", log.size_text());
    let mut table = Table::list("picture", title, rows.collect());
    for browser in browsers {
        let median = table.row(browser.title).map(Measured::median);
        table.add_goal(
            &format!("{}, ms", browser.title),
            median,
            Threshold::AtMost(PICTURE_MS_MAX),
        );
    }
    table
}
