//! The first lines: sources, period and totals.

use weir_ingest::SourceSnapshot;
use weir_view::{Quantiles, Report};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit, fit_middle, left, width};
use crate::display::{LocalTime, bytes, duration, safe, separated, share, span};

/// Columns of the names.
const NAME_COLUMNS: usize = 16;

/// The lines of the totals.
pub(crate) fn draw(report: &Report, sources: &[SourceSnapshot], screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let mut lines = vec![heading(report, sources, screen, painter), String::new()];
    let mut add = |name: &str, text: String| {
        let text = fit(&text, screen.columns.saturating_sub(NAME_COLUMNS));
        let name = painter.paint(Style::DIM, &left(name, NAME_COLUMNS));
        lines.push(format!("{name}{text}"));
    };
    add("Requests", requests(report));
    if let Some(unparsed) = unparsed_lines(report) {
        add("Unparsed lines", unparsed);
    }
    if report.directive_lines > 0 {
        add("Directives", format!("{} lines", separated(report.directive_lines)));
    }
    if let Some(period) = period(report) {
        add("Period", period);
    }
    if report.matching > 0 {
        let has = |sum: &str| !report.absent.iter().any(|absent| absent == sum);
        if has("errors") {
            let errors = separated(report.errors);
            let share = share(report.errors, report.matching);
            add("Errors", format!("{errors} (error rate {share}, status 400 to 599)"));
        }
        if has("bytes_sent") {
            let (short, all) = (bytes(report.bytes_sent), separated(report.bytes_sent));
            add("Bytes sent", format!("{short} ({all} bytes)"));
        }
    }
    if let Some(clients) = report.distinct.get("client") {
        add("Clients", separated(*clients));
    }
    for (name, quantiles) in
        [("Request time", &report.request_time), ("Upstream time", &report.upstream_time)]
    {
        if let Some(quantiles) = quantiles {
            add(name, quantile_words(quantiles));
        }
    }
    lines
}

/// The sources' names, the format and the size.
pub(super) fn heading(
    report: &Report,
    sources: &[SourceSnapshot],
    screen: &Screen,
    painter: Painter,
) -> String {
    let names = match sources {
        [source] => safe(&source.name),
        _ => format!("{} files", separated(sources.len() as u64)),
    };
    let format = match report.format.name.as_str() {
        "" => String::new(),
        "mixed" => ", mixed formats".to_owned(),
        name => format!(", {}", safe(name)),
    };
    let rest = format!("{format}, {}", bytes(report.bytes_read));
    let names = fit_middle(&names, screen.columns.saturating_sub(width(&rest)));
    painter.paint(Style::TITLE, &names) + &painter.paint(Style::DIM, &rest)
}

fn requests(report: &Report) -> String {
    if report.matching == report.records {
        return separated(report.records);
    }
    format!(
        "{} of {} match the filter ({})",
        separated(report.matching),
        separated(report.records),
        share(report.matching, report.records)
    )
}

/// Lines that were not parsed, if there are any.
fn unparsed_lines(report: &Report) -> Option<String> {
    let count = report.unparsed_lines + report.too_long_lines;
    let too_long = match (report.unparsed_lines, report.too_long_lines) {
        (0, 0) => return None,
        (_, 0) => String::new(),
        (0, _) => ", over 1 MiB long".to_owned(),
        (_, too_long) => format!(", {} of them over 1 MiB long", separated(too_long)),
    };
    let (lines, share) = (separated(report.lines), share(count, report.lines));
    Some(format!("{} of {lines} ({share}){too_long}", separated(count)))
}

fn period(report: &Report) -> Option<String> {
    let first = LocalTime::parse(report.time.first.as_deref()?)?;
    let last = LocalTime::parse(report.time.last.as_deref()?)?;
    let length_s = (last.local_s() - first.local_s()).unsigned_abs();
    Some(format!("{} to {} ({})", first.full(), last.full(), span(length_s)))
}

fn quantile_words(quantiles: &Quantiles) -> String {
    let Quantiles { p50, p90, p95, p99, max } = quantiles;
    let named = [("median", p50), ("p90", p90), ("p95", p95), ("p99", p99), ("max", max)];
    let words = named.map(|(name, seconds)| format!("{name} {}", duration(*seconds)));
    words.join(", ")
}
