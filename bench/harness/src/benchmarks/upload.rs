//! A log dropped on the page, in two real browsers.

use serde_json::Value;

use crate::build;
use crate::input::{self, Log};
use crate::measure::{Measured, Unit};
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, is_installed, output_of, root};
use weir_tools::{browsers, npm};

/// The browsers, and the goal as a multiple of the bare page's rate.
const BROWSERS: [(&str, f64); 2] = [("Chromium", 1.8), ("Firefox", 1.3)];

/// The goal for the first picture.
const PICTURE_MS_MAX: f64 = 200.0;

/// Measures the time until a whole log is uploaded and parsed, beside a page and a server that do
/// nothing with it, and the time to the first picture.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if let Some(missing) = missing(settings)? {
        return Ok(vec![Table::missing("upload", "a log given to the page", vec![missing])]);
    }
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let program = build::contender(settings, "acknowledge")?;
    let size = log.size_text();
    let title = format!("a combined log of {size} given to the page, parsed and shown");
    let mut uploads = Table::new("upload", title, Vec::new());
    let title = format!("from the choice of a log of {size} to the first picture of it");
    let mut pictures = Table::list("picture", title, Vec::new());
    for (browser, goal) in BROWSERS {
        let result = in_browser(settings, &log, &program, browser)?;
        let [ours, bare] = ["Weir's page", "bare page"].map(|what| format!("{browser}, {what}"));
        let runs = |key: &str| {
            result["weir"].as_array().into_iter().flatten().map(|run| run[key].clone()).collect()
        };
        for (name, list) in [(&ours, runs("seconds")), (&bare, result["bare"].clone())] {
            let unit = Unit::Seconds { bytes: log.bytes };
            uploads.rows.push(Measured::of_json(name, unit, &list));
        }
        pictures.rows.push(Measured::of_json(browser, Unit::Milliseconds, &runs("picture_ms")));
        let what = format!("{browser}, rate by the bare page's");
        let rate = uploads.rate_ratio(&ours, &bare);
        uploads.add_goal(&what, rate, Threshold::AtLeast(goal));
        let version = result["version"].as_str().unwrap_or_default();
        uploads.notes.push(format!("{browser}: {version}"));
        let median = pictures.row(browser).map(Measured::median);
        let what = format!("{browser}, ms");
        pictures.add_goal(&what, median, Threshold::AtMost(PICTURE_MS_MAX));
    }
    uploads.notes.push(
        "the bare page sends Blobs of 1 MiB, each after the answer to the one before, to a \
         tungstenite server that does not parse them; browser and server share the cores"
            .to_owned(),
    );
    Ok(vec![uploads, pictures])
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

/// The runs of a browser, as the script prints them.
fn in_browser(settings: &Settings, log: &Log, program: &str, browser: &str) -> Outcome<Value> {
    let (browser, runs) = (browser.to_ascii_lowercase(), settings.runs.to_string());
    let arguments = ["bench/browser/upload.mjs", &browser, &runs, &log.path, program];
    let printed = output_of(command("node", &arguments).env("WEIR_BINARY", settings.weir()))?;
    Ok(serde_json::from_str(&printed)?)
}
