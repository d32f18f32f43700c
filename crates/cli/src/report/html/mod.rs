//! `--html`: the report as one page that needs nothing else: no server, no request to
//! anywhere, no script. Whatever the log holds is text in it, see [`text`].

mod chart;
mod tables;
mod text;

use std::io::{self, Write};
use std::path::Path;

use weir_core::Zone;
use weir_ingest::{Input, SourceSnapshot};
use weir_view::{Report, find_zone};

use super::Contents;
use super::compare::{Comparison, Range};
use crate::outcome::{Failure, print};
use crate::terminal::{bytes, change, duration, separated, share};
use text::{safe, safe_bytes, time};

const STYLE: &str = include_str!("style.css");

/// The SHA-256 of [`STYLE`], so that no other style is obeyed (CSP Level 3, 6.7.2.3). The test
/// below works it out.
const STYLE_HASH: &str = "hpYYwwL+GuWTBEX3hyjxC1CGkbrcfn4zuPY1SfrI6YI=";

/// Lines that did not fit which are shown.
const SAMPLES_MAX: usize = 8;

/// Writes the page to a file; `-` is standard output.
///
/// # Errors
/// Where the file cannot be written.
pub(super) fn write(
    file: &Path,
    contents: &Contents,
    sources: &[SourceSnapshot],
) -> Result<(), Failure> {
    let page = page(contents, sources);
    if file.as_os_str() == "-" {
        return print(&page);
    }
    let name = file.to_string_lossy();
    let written = std::fs::File::create(file).and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| Failure::output(&name, &error))
}

/// A log must not be lost to a slip of the hand.
pub(super) fn refuse_input(file: &Path, inputs: &[Input]) -> Result<(), Failure> {
    let is_same = |path: &Path| -> io::Result<bool> {
        Ok(std::fs::canonicalize(path)? == std::fs::canonicalize(file)?)
    };
    let is_named = |input: &Input| match input {
        Input::File(path) => is_same(path).unwrap_or(false),
        _ => false,
    };
    // It may have another name, or come as standard input.
    let there = std::fs::metadata(file).ok();
    let is_input = |input: &Input| there.as_ref().is_some_and(|there| input.is_same(there));
    if inputs.iter().any(|input| is_named(input) || is_input(input)) {
        let name = file.to_string_lossy();
        return Err(Failure::new(format_args!(
            "--html: {name} is one of the logs and would be overwritten; name another file"
        )));
    }
    Ok(())
}

/// The page.
fn page(contents: &Contents, sources: &[SourceSnapshot]) -> String {
    let Contents { report, group, comparison } = contents;
    let name = match sources {
        [source] => safe(&source.name),
        _ => format!("{} files", separated(sources.len() as u64)),
    };
    // The policy comes before anything it could forbid. What follows the title is ours but for
    // text that was made safe.
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name} – Weir</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <h1>{name}</h1>\n<p class=\"dim\">{}</p>\n",
        subtitle(report)
    );
    match comparison {
        Some(comparison) => page += &ranges(report, comparison),
        None => page += &period(report),
    }
    page += "</header>\n";
    page += &totals(report, comparison.as_ref().map(|comparison| &comparison.before));
    if let Some(histogram) = &report.histogram {
        page += &chart::draw(histogram, &report.time.zone);
    }
    if let Some(group) = group {
        page += &tables::group(group, comparison.is_some());
    }
    page += &match comparison {
        Some(comparison) => tables::changes(comparison),
        None => tables::lists(report),
    };
    page += &samples(sources);
    page + &format!(
        "<footer>Made by Weir {}. Whatever is not seen, such as control characters, is shown as an \
         escape.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn subtitle(report: &Report) -> String {
    let format = match report.format.name.as_str() {
        "" => String::new(),
        "mixed" => "mixed formats, ".to_owned(),
        name => format!("{}, ", safe(name)),
    };
    format!("{format}{}, {} lines", bytes(report.bytes_read), separated(report.lines))
}

fn period(report: &Report) -> String {
    match (&report.time.first, &report.time.last) {
        (Some(first), Some(last)) => format!(
            "<p>{} to {}, times in {}</p>\n",
            time(first),
            time(last),
            safe(&report.time.zone)
        ),
        _ => String::new(),
    }
}

fn ranges(report: &Report, comparison: &Comparison) -> String {
    let zone = find_zone(&report.time.zone).unwrap_or_else(|_| Zone::utc());
    let words = |range: Range| {
        let [since, until] = range.stamps(&zone);
        format!("{} to before {}", time(&since), time(&until))
    };
    format!(
        "<p>{}, compared with {}, times in {}</p>\n",
        words(comparison.now_range),
        words(comparison.before_range),
        safe(&report.time.zone)
    )
}

/// The sums, each with a smaller line beneath.
fn totals(report: &Report, before: Option<&Report>) -> String {
    let mut items: Vec<(&str, String, String)> = Vec::new();
    let was = |shown: &dyn Fn(&Report) -> String, number: &dyn Fn(&Report) -> u64| {
        before.map(|before| {
            let (now, then) = (number(report), number(before));
            format!("{}, before {}", change(now, then), shown(before))
        })
    };
    let number =
        |number: fn(&Report) -> u64| was(&move |report| separated(number(report)), &number);
    let requests =
        number(|report| report.matched).unwrap_or_else(|| match report.matched == report.records {
            true => String::new(),
            false => format!("of {} that were read", separated(report.records)),
        });
    items.push(("Requests", separated(report.matched), requests));
    let errors = format!("{}, status 400 to 599", share(report.errors, report.matched));
    let errors = number(|report| report.errors).unwrap_or(errors);
    items.push(("Errors", separated(report.errors), errors));
    let sent = was(&|report| bytes(report.bytes_sent), &|report| report.bytes_sent);
    let sent = sent.unwrap_or_else(|| format!("{} bytes", separated(report.bytes_sent)));
    items.push(("Sent", bytes(report.bytes_sent), sent));
    if let Some(clients) = report.distinct.get("client") {
        let then = number(|report| report.distinct.get("client").copied().unwrap_or(0));
        items.push(("Clients", separated(*clients), then.unwrap_or_default()));
    }
    let unfit = report.unmatched + report.too_long;
    if unfit > 0 {
        let share = format!("{} of all lines", share(unfit, report.lines));
        items.push(("Lines left out", separated(unfit), share));
    }
    for (name, quantiles) in
        [("Median time", &report.request_time), ("Median upstream time", &report.upstream_time)]
    {
        if let Some(quantiles) = quantiles {
            let rest = format!("99% {}, max {}", duration(quantiles.p99), duration(quantiles.max));
            items.push((name, duration(quantiles.p50), rest));
        }
    }
    let item = |(name, value, small): &(&str, String, String)| {
        format!("<div><dt>{name}</dt><dd>{value}<small>{small}</small></dd></div>\n")
    };
    format!("<dl>\n{}</dl>\n", items.iter().map(item).collect::<String>())
}

fn samples(sources: &[SourceSnapshot]) -> String {
    let samples = sources.iter().flat_map(|source| {
        source.samples.iter().map(|sample| {
            format!(
                "<p class=\"dim\"><bdi>{}</bdi>, line {}, column {}: {}</p>\n<pre>{}</pre>\n",
                safe(&source.name),
                separated(sample.line),
                separated(sample.column),
                safe(&sample.reason),
                safe_bytes(&sample.text)
            )
        })
    });
    let samples: String = samples.take(SAMPLES_MAX).collect();
    if samples.is_empty() {
        return samples;
    }
    format!("<section>\n<h2>Lines that did not fit</h2>\n{samples}</section>\n")
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_allows_this_style_alone() {
        let digest = Sha256::digest(super::STYLE.as_bytes());
        let hash = base64::engine::general_purpose::STANDARD.encode(digest);
        assert_eq!(super::STYLE_HASH, hash, "set STYLE_HASH to what it is");
    }
}
