//! The first two lines: what is watched, and the filter.

use weir_ingest::SourceSnapshot;
use weir_view::separated;

use super::{Frame, spread};
use crate::display::{LocalTime, bytes, safe};
use crate::terminal::{Style, fit};

/// The names and the size of the logs, and how far they were read.
pub(super) fn heading(frame: &Frame<'_>) -> String {
    let sources = frame.answers.sources();
    let name = match sources {
        [] => "no log yet".to_owned(),
        [source] => safe(&source.name),
        _ => format!("{} files", separated(sources.len() as u64)),
    };
    let format = match frame.answers.report().map(|report| report.format.name.as_str()) {
        None | Some("") => String::new(),
        Some("mixed") => ", mixed formats".to_owned(),
        Some(name) => format!(", {}", safe(name)),
    };
    let size = frame.answers.report().map_or(0, |report| report.bytes_read);
    let text = match sources {
        [] => name,
        _ => format!("{name}{format}, {}", bytes(size)),
    };
    let (start, end) = spread(&text, &progress(frame, sources), frame.size.columns);
    frame.painter.paint(Style::TITLE, &start) + &frame.painter.paint(Style::DIM, &end)
}

/// Whether lines are still read, and whether the numbers are those of the filter.
fn progress(frame: &Frame<'_>, sources: &[SourceSnapshot]) -> String {
    let open: Vec<_> = sources.iter().filter(|source| source.end.is_none()).collect();
    let read = match (frame.state.is_frozen, &open[..]) {
        (true, _) => "frozen".to_owned(),
        (false, []) => String::new(),
        (false, _) if frame.state.follows => "following".to_owned(),
        (false, _) => reading(sources),
    };
    match (frame.is_outdated, read.as_str()) {
        (false, _) => read,
        (true, "") => "counting...".to_owned(),
        (true, read) => format!("counting... {read}"),
    }
}

fn reading(sources: &[SourceSnapshot]) -> String {
    let done: u64 = sources.iter().map(|source| source.bytes_done).sum();
    let total: Option<u64> = sources.iter().map(|source| source.bytes_total).sum();
    match total.filter(|total| *total > 0) {
        Some(total) => {
            format!("reading {}%", (done.min(total) as f64 * 100.0 / total as f64) as u64)
        }
        None => "reading".to_owned(),
    }
}

/// The kinds of records, if there are several, and the filter.
pub(super) fn filter(frame: &Frame<'_>) -> String {
    let (filter, kinds) = (filter_text(frame), kinds(frame));
    let style = if has_filter(frame) { Style::TITLE } else { Style::DIM };
    if kinds.is_empty() {
        return frame.painter.paint(style, &fit(&filter, frame.size.columns));
    }
    let (start, end) = spread(&filter, &kinds, frame.size.columns);
    frame.painter.paint(style, &start) + &frame.painter.paint(Style::DIM, &end)
}

fn has_filter(frame: &Frame<'_>) -> bool {
    let selection = &frame.state.selection;
    !selection.conditions.is_empty() || selection.period.is_some()
}

/// The filter in words.
pub(super) fn filter_text(frame: &Frame<'_>) -> String {
    let selection = &frame.state.selection;
    if !has_filter(frame) {
        return "no filter".to_owned();
    }
    let mut parts = selection.conditions.iter().map(|it| safe(it)).collect::<Vec<_>>();
    if let Some(period) = &selection.period {
        let time =
            |stamp: &str| LocalTime::parse(stamp).map_or_else(|| safe(stamp), |it| it.full());
        parts.push(match &period.until {
            Some(until) => format!("{} to before {}", time(&period.since), time(until)),
            None => format!("from {} on", time(&period.since)),
        });
    }
    format!("filter: {}", parts.join(" and "))
}

/// The kinds with their keys, if there are several.
fn kinds(frame: &Frame<'_>) -> String {
    let kinds = frame.answers.kinds();
    if kinds.len() < 2 {
        return String::new();
    }
    let shown = frame.answers.report().map(|report| report.kind);
    let text = |(index, count): (usize, &weir_view::KindCount)| {
        let text = format!("{} {}", index + 1, count.kind.title());
        if shown == Some(count.kind) { format!("[{text}]") } else { text }
    };
    kinds.iter().enumerate().map(text).collect::<Vec<_>>().join("  ")
}
