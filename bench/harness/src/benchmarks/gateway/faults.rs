//! Three faults that slow a gateway down without being noticed: sessions that are never kept, a log
//! service that each call waits for, and a debug build. Each is measured by the gateway's own
//! records, and drawn.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::client;
use super::proxies;
use crate::settings::{Settings, folder};
use weir_tools::shell::{Outcome, build_workspace};

/// How long each set-up is measured.
const SECONDS: u32 = 3;

/// What the gateway has recorded of one set-up.
#[derive(Debug, PartialEq)]
struct Recorded {
    name: &'static str,
    /// The median of the whole time, in microseconds.
    request_us: f64,
    /// The median of the backend's part of it.
    upstream_us: f64,
    /// The share of requests whose session was kept from before.
    session_hits: f64,
    /// Requests a second, as the client counts them.
    rate: f64,
}

/// Measures all set-ups, and writes the picture.
pub(super) fn draw(settings: &Settings, files: &Path, token: &str) -> Outcome<PathBuf> {
    let log = std::fs::canonicalize(folder()?)?.join("gateway-backend.log");
    let debug = build_workspace(&["--bin", "weir"])?.join("weir").to_string_lossy().into_owned();
    let measured: Outcome<Vec<Recorded>> = [
        ("as it should be", settings.weir(), "300s", None),
        ("sessions never kept", settings.weir(), "0s", None),
        ("a log service on each call", settings.weir(), "300s", Some(log.as_path())),
        ("a debug build", debug, "300s", None),
    ]
    .into_iter()
    .map(|(name, program, lifetime, log)| {
        let backend = proxies::backend(files, log)?;
        let weir = proxies::weir_with_sessions(&program, backend.port, lifetime)?;
        let seconds = if settings.is_smoke { 1 } else { SECONDS };
        let load = client::alone(&weir, "/HS256/1", token, seconds)?;
        recorded(name, load.requests / load.seconds, |condition| weir.report(condition))
    })
    .collect();
    let path = folder()?.join("gateway-faults.svg");
    std::fs::write(&path, picture(&measured?))?;
    Ok(path)
}

/// Reads the numbers that the page shows as well.
fn recorded(
    name: &'static str,
    rate: f64,
    report: impl Fn(&str) -> Outcome<Value>,
) -> Outcome<Recorded> {
    let all = report("status=200")?;
    let median_us = |field: &str| {
        let seconds = all[field]["p50"].as_f64();
        seconds.map(|seconds| seconds * 1e6).ok_or_else(|| format!("no {field} in {all}"))
    };
    let count = |report: &Value| report["matching"].as_f64().unwrap_or(0.0);
    let session_hits = count(&report("session_cache=hit")?) / count(&all);
    let (request_us, upstream_us) = (median_us("request_time")?, median_us("upstream_time")?);
    Ok(Recorded { name, request_us, upstream_us, session_hits, rate })
}

const LABELS_WIDTH: usize = 160;
const BARS_WIDTH: f64 = 300.0;
const WIDTH: usize = 720;
const ROW_HEIGHT: usize = 28;
const TOP: usize = 44;

const UPSTREAM_COLOUR: &str = "#3a9d5d";
const GATEWAY_COLOUR: &str = "#2f7ed8";

/// Draws a bar for each set-up: the backend's part of the time, and the rest of it.
fn picture(measured: &[Recorded]) -> String {
    let most = measured.iter().map(|it| it.request_us).fold(1.0, f64::max);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<style>text {{ fill: #333 }} @media (prefers-color-scheme: dark) {{ text {{ fill: \
         #ddd }} }}</style>\n",
        TOP + measured.len() * ROW_HEIGHT
    );
    for (index, (colour, text)) in
        [(UPSTREAM_COLOUR, "backend (upstream_time)"), (GATEWAY_COLOUR, "the rest of request_time")]
            .into_iter()
            .enumerate()
    {
        let x = LABELS_WIDTH + index * 190;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"10\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" \
             y=\"19\">{text}</text>",
            x + 15
        );
    }
    for (index, row) in measured.iter().enumerate() {
        push_row(&mut svg, row, TOP + index * ROW_HEIGHT, most);
    }
    svg.push_str("</svg>\n");
    svg
}

fn push_row(svg: &mut String, row: &Recorded, y: usize, most: f64) {
    let upstream = row.upstream_us.min(row.request_us) / most * BARS_WIDTH;
    let whole = row.request_us / most * BARS_WIDTH;
    let x = LABELS_WIDTH as f64;
    let (name, text_y) = (row.name, y + 14);
    let _ = writeln!(
        svg,
        "<text x=\"8\" y=\"{text_y}\">{name}</text>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{upstream:.1}\" height=\"20\" fill=\"{UPSTREAM_COLOUR}\"/>\
         <rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"20\" fill=\"{GATEWAY_COLOUR}\"/>\
         <text x=\"{:.1}\" y=\"{text_y}\">{:.0} µs, {:.0} requests/s, session hits {:.0} %</text>",
        x + upstream,
        whole - upstream,
        x + whole + 6.0,
        row.request_us,
        row.rate,
        row.session_hits * 100.0,
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Recorded, picture, recorded};

    #[test]
    fn a_report_becomes_a_bar() {
        let report = |condition: &str| {
            Ok(match condition {
                "status=200" => json!({
                    "matching": 200, "request_time": {"p50": 0.0002}, "upstream_time": {"p50": 0.00015}
                }),
                _ => json!({"matching": 50}),
            })
        };
        let row = recorded("good", 4_000.0, report).unwrap();
        assert_eq!((row.rate, row.session_hits), (4_000.0, 0.25));
        let slow =
            Recorded { name: "slow", request_us: 400.0, ..recorded("", 1.0, report).unwrap() };
        let svg = picture(&[row, slow]);
        assert!(svg.contains("200 µs, 4000 requests/s, session hits 25 %"), "{svg}");
        assert!(svg.contains("width=\"112.5\" height=\"20\" fill=\"#3a9d5d\""), "{svg}");
        assert!(svg.contains("width=\"37.5\" height=\"20\" fill=\"#2f7ed8\""), "{svg}");
    }
}
