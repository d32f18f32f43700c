//! The chart, with the bar that the keys have chosen.

use weir_view::Report;

use super::Frame;
use crate::display::LocalTime;
use crate::terminal::{Painter, Plot, Style, fit, width};
use crate::watch::state::{Pane, Places};

/// Rows of the bars: a part of the height, within bounds.
fn bar_rows(rows: usize) -> usize {
    (rows / 4).clamp(3, 12)
}

/// A title, the bars and the axis.
pub(super) fn lines(frame: &Frame<'_>, report: &Report, places: &Places) -> Vec<String> {
    let Some(histogram) = &report.histogram else { return Vec::new() };
    let (columns, painter) = (frame.size.columns, frame.painter);
    let plot = Plot::new(histogram, columns, bar_rows(frame.size.rows));
    let has_keys = places.pane(report) == Pane::Chart;
    let (mut ticks, labels) = plot.axis();
    let mut lines = Vec::new();
    if has_keys {
        let place = &places.chart;
        let at = place.at(&plot.buckets);
        for bar in place.marked(&plot.buckets).unwrap_or(at..at + 1) {
            ticks = marked(&ticks, plot.column(bar), plot.column(bar + 1));
        }
        let bucket = &plot.buckets[at];
        let start = LocalTime::parse(&bucket.start).map_or_else(String::new, |time| time.full());
        let count = weir_view::separated(bucket.count);
        let text = format!("> {start}  {count} {}", report.kind.noun(bucket.count));
        lines.push(painter.paint(Style::SELECTED, &fit(&text, columns)));
    } else {
        // Painted as a whole only if it is not cut.
        let title = plot.title(report.kind, &report.time, painter);
        let plain = plot.title(report.kind, &report.time, Painter { colour: false });
        let is_cut = width(&plain) > columns;
        lines.push(if is_cut { painter.paint(Style::TITLE, &fit(&plain, columns)) } else { title });
    }
    lines.extend(plot.bars(painter));
    lines.extend([ticks, labels].map(|line| painter.paint(Style::DIM, &fit(&line, columns))));
    lines
}

/// The line of ticks with marks below a bar.
fn marked(ticks: &str, from: usize, to: usize) -> String {
    let mark =
        |(column, tick): (usize, char)| if (from..to).contains(&column) { '▲' } else { tick };
    ticks.chars().enumerate().map(mark).collect()
}
