//! The histogram, in columns of eighth blocks.

mod axis;
mod bars;
mod join;

use std::collections::BTreeMap;

use weir_view::{Bucket, Histogram, RecordKind, TimeRange};

use super::Screen;
use super::style::{self, Painter, Style};
use super::text::{right, width};
use crate::display::{left_out_text, safe, separated, share, step};
use bars::Bars;

/// Rows of the bars.
const ROWS: usize = 8;

/// The most groups that are shown. If there are more, the smallest form one group.
const GROUPS_MAX: usize = 7;

/// The name of the group of the smallest ones.
const OTHERS: &str = "(all others)";

/// The histogram with its title, axes and legend, line by line.
pub(crate) fn draw(
    histogram: &Histogram,
    kind: RecordKind,
    time: &TimeRange,
    screen: &Screen,
) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let groups = groups(histogram);
    let scale_columns = separated(histogram.buckets.iter().map(|b| b.count).max().unwrap_or(0))
        .len()
        .max("1,000".len());
    let columns = screen.columns - scale_columns - 2;
    let (buckets, step_s) = join::to_fit(&histogram.buckets, histogram.step_s, columns);

    let bars = Bars::new(&buckets, &groups, columns, ROWS);
    let mut lines = vec![title(kind, step_s, (time, histogram.left_out), painter), String::new()];
    for row in (0..ROWS).rev() {
        let scale = right(&bars.scale(row), scale_columns);
        let rule = painter.paint(Style::DIM, &format!("{scale} {}", bars.rule(row)));
        lines.push(rule + &bars.row(row, painter));
    }
    let margin = " ".repeat(scale_columns + 1);
    let (ticks, labels) = axis::draw(&buckets, step_s, bars.bucket_columns());
    lines.push(painter.paint(Style::DIM, &format!("{}└{ticks}", &margin)));
    lines.push(painter.paint(Style::DIM, &format!("{margin} {labels}")));
    lines.push(String::new());
    lines.extend(legend(&buckets, &groups, " ", screen));
    lines
}

fn title(
    kind: RecordKind,
    step_s: u64,
    (time, left_out): (&TimeRange, u64),
    painter: Painter,
) -> String {
    let zone = safe(&time.zone);
    let left_out = left_out_text(left_out);
    painter.paint(Style::TITLE, &format!("{} per {}", kind.title(), step(step_s)))
        + &painter.paint(Style::DIM, &format!(", times in {zone}{left_out}"))
}

/// The groups to show, in stacking order. If there are too many, the largest and [`OTHERS`].
fn groups(histogram: &Histogram) -> Vec<String> {
    if histogram.groups.len() <= GROUPS_MAX {
        return histogram.groups.clone();
    }
    let totals = totals(&histogram.buckets);
    let total = |name: &str| totals.get(name).copied().unwrap_or(0);
    let mut groups = histogram.groups.clone();
    groups.sort_by_key(|name| std::cmp::Reverse(total(name)));
    groups.truncate(GROUPS_MAX - 1);
    groups.push(OTHERS.to_owned());
    groups
}

fn totals(buckets: &[Bucket]) -> BTreeMap<&str, u64> {
    let mut totals = BTreeMap::new();
    for (name, count) in buckets.iter().flat_map(|bucket| &bucket.by) {
        *totals.entry(name.as_str()).or_insert(0) += count;
    }
    totals
}

/// The groups with their colour, count and share, in as many lines as they need.
fn legend(buckets: &[Bucket], groups: &[String], margin: &str, screen: &Screen) -> Vec<String> {
    let painter = Painter { colour: screen.colour };
    let totals = totals(buckets);
    let all: u64 = totals.values().sum();
    let mut lines = vec![margin.to_owned()];
    let mut used = margin.len();
    let listed: u64 = groups.iter().filter_map(|name| totals.get(name.as_str())).sum();
    for (index, name) in groups.iter().enumerate() {
        let count = totals.get(name.as_str()).copied().unwrap_or(all - listed);
        let text = format!("{} {} ({})", safe(name), separated(count), share(count, all));
        let columns = width(&text) + if screen.colour { 5 } else { 3 };
        if used + columns > screen.columns && used > margin.len() {
            lines.push(margin.to_owned());
            used = margin.len();
        }
        used += columns;
        let mark = if screen.colour {
            format!("{} ", painter.paint(style::group(index, name), "■"))
        } else {
            String::new()
        };
        if let Some(line) = lines.last_mut() {
            line.push_str(&format!(" {mark}{text}  "));
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}
