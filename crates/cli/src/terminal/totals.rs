//! The first lines: sources, period and totals.

use weir_ingest::SourceSnapshot;
use weir_view::{FormatCount, IncompleteSource, Quantiles, Report, YearSource};

use super::Screen;
use super::style::{Painter, Style};
use super::text::{fit, fit_middle, left, width};
use crate::display::{
    LocalTime, SUM_MAX, bytes, duration, lower_bound, safe, separated, share, span,
};

/// The width of the names in columns, unless one is longer.
const NAME_COLUMNS: usize = 16;

/// The least number of columns between the longest name and the text beside it.
const GAP_COLUMNS: usize = 1;

/// The most incomplete sources that are named. Standard error names all of them.
const INCOMPLETE_MAX: usize = 3;

/// Formats a line with a name and the text beside it.
fn name_line(name: &str, text: &str, columns: usize, screen: &Screen) -> String {
    let painter = Painter { colour: screen.colour };
    let text = fit(text, screen.text_columns.saturating_sub(columns));
    painter.paint(Style::DIM, &left(name, columns)) + &text
}

/// The totals of the records of one kind. Those of the main kind include the lines that are not
/// records.
pub(super) fn draw(report: &Report, is_main: bool, screen: &Screen) -> Vec<String> {
    let mut rows = Vec::new();
    let mut add = |name, text: String| rows.push((name, text));
    add(report.kind.title(), records(report));
    if let Some(unparsed) = unparsed_lines(report).filter(|_| is_main) {
        add("Unparsed lines", unparsed);
    }
    if report.directive_lines > 0 && is_main {
        add("Directives", format!("{} lines", separated(report.directive_lines)));
    }
    if let [_, _, ..] = &report.formats[..]
        && is_main
    {
        let one =
            |count: &FormatCount| format!("{} {}", safe(&count.name), separated(count.records));
        let all: Vec<String> = report.formats.iter().map(one).collect();
        add("Formats", all.join(", "));
    }
    if let Some(period) = period(report) {
        add("Period", period);
    }
    if let Some(doubt) = report.time.year_from.and_then(YearSource::doubt) {
        add("Year", format!("{doubt}; see --year"));
    }
    if report.matching > 0 {
        if report.has_sum("errors") {
            let errors = lower_bound(report.errors, report.is_estimated("status"));
            let share = share(report.errors, report.matching);
            add("Errors", format!("{errors} (error rate {share}, status 400 to 599)"));
        }
        if report.has_sum("bytes_sent") {
            let all = lower_bound(report.bytes_sent, report.bytes_sent == SUM_MAX);
            let short = bytes(report.bytes_sent);
            add("Bytes sent", format!("{short} ({all} bytes)"));
        }
    }
    if let Some(clients) = report.distinct.get("client") {
        add("Clients", lower_bound(*clients, report.is_estimated("client")));
    }
    for (_, title, quantiles) in report.durations() {
        add(title, quantile_words(quantiles));
    }
    let longest = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let columns = NAME_COLUMNS.max(longest + GAP_COLUMNS);
    rows.iter().map(|(name, text)| name_line(name, text, columns, screen)).collect()
}

/// The sources' names, the format and the size.
pub(super) fn heading(report: &Report, sources: &[SourceSnapshot], screen: &Screen) -> String {
    let painter = Painter { colour: screen.colour };
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
    let names = fit_middle(&names, screen.text_columns.saturating_sub(width(&rest)));
    painter.paint(Style::TITLE, &names) + &painter.paint(Style::DIM, &rest)
}

/// The number of records of the kind, and how many of them match the filter.
fn records(report: &Report) -> String {
    let all = report.records_of_kind();
    if report.filter_estimated {
        let (matching, all) = (separated(report.matching), separated(all));
        return format!("about {matching} of {all} match the filter");
    }
    if report.matching == all {
        return separated(all);
    }
    if !report.missing_fields.is_empty() {
        let fields = safe(&report.missing_fields.join(", "));
        let count = separated(report.matching);
        return format!("{count} of {} match the filter: they have no {fields}", separated(all));
    }
    format!(
        "{} of {} match the filter ({})",
        separated(report.matching),
        separated(all),
        share(report.matching, all)
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

/// Lists the sources that were not read completely, each with the reason.
pub(super) fn incomplete(report: &Report, screen: &Screen) -> Vec<String> {
    let sources = &report.incomplete;
    let line = |text: &str| name_line("Not read whole", text, NAME_COLUMNS, screen);
    let sentence = |incomplete: &IncompleteSource| {
        line(&format!("{}: {}", safe(&incomplete.source), safe(&incomplete.reason)))
    };
    let mut lines: Vec<String> = sources.iter().take(INCOMPLETE_MAX).map(sentence).collect();
    if let more @ 1.. = sources.len().saturating_sub(INCOMPLETE_MAX) {
        lines.push(line(&format!("{} more", separated(more as u64))));
    }
    lines
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
