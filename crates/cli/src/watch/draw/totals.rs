//! The totals of the matching records, in few lines.

use weir_view::Report;

use crate::display::{LocalTime, SUM_MAX, bytes, duration, lower_bound, separated, share, span};
use crate::terminal::{Painter, Style, fit, width};

/// At most so many lines of names and numbers, the most important first.
pub(super) fn lines(
    report: &Report,
    columns: usize,
    lines_max: usize,
    painter: Painter,
) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (name, text) in totals(report) {
        let text = fit(&text, columns.saturating_sub(width(name) + 1));
        let columns_of = width(name) + 1 + width(&text);
        let painted = format!("{} {text}", painter.paint(Style::DIM, name));
        match lines.last_mut() {
            Some((line, used)) if *used + 3 + columns_of <= columns => {
                line.push_str("   ");
                line.push_str(&painted);
                *used += 3 + columns_of;
            }
            _ if columns_of > columns => {}
            _ => lines.push((painted, columns_of)),
        }
    }
    lines.truncate(lines_max);
    lines.into_iter().map(|(line, _)| line).collect()
}

fn totals(report: &Report) -> Vec<(&'static str, String)> {
    let mut rows = vec![(report.kind.title(), matching(report))];
    if report.matching > 0 && report.has_sum("errors") {
        let errors = lower_bound(report.errors, report.is_estimated("status"));
        rows.push(("Errors", format!("{errors} ({})", share(report.errors, report.matching))));
    }
    if let Some(clients) = report.distinct.get("client") {
        rows.push(("Clients", lower_bound(*clients, report.is_estimated("client"))));
    }
    if report.matching > 0 && report.has_sum("bytes_sent") {
        let sent = bytes(report.bytes_sent);
        let bound = if report.bytes_sent == SUM_MAX { "at least " } else { "" };
        rows.push(("Bytes sent", format!("{bound}{sent}")));
    }
    if report.unparsed_lines + report.too_long_lines > 0 {
        let unparsed = report.unparsed_lines + report.too_long_lines;
        rows.push(("Unparsed lines", separated(unparsed)));
    }
    rows.extend(period(report).map(|period| ("Period", period)));
    for (_, title, quantiles) in report.durations() {
        let [p50, p99, max] = [quantiles.p50, quantiles.p99, quantiles.max].map(duration);
        rows.push((title, format!("median {p50}, p99 {p99}, max {max}")));
    }
    rows
}

/// The number of records, and how many match the filter.
fn matching(report: &Report) -> String {
    let (matching, all) = (separated(report.matching), report.records_of_kind());
    let about = if report.filter_estimated { "about " } else { "" };
    match report.matching == all && !report.filter_estimated {
        true => matching,
        false => {
            format!("{about}{matching} of {} ({})", separated(all), share(report.matching, all))
        }
    }
}

fn period(report: &Report) -> Option<String> {
    let first = LocalTime::parse(report.time.first.as_deref()?)?;
    let last = LocalTime::parse(report.time.last.as_deref()?)?;
    let length_s = (last.local_s() - first.local_s()).unsigned_abs();
    Some(format!("{} to {} ({})", first.full(), last.full(), span(length_s)))
}
