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
    let plot = Plot::new(histogram, screen.columns, ROWS);
    let mut lines = vec![plot.title(kind, time, painter), String::new()];
    lines.extend(plot.bars(painter));
    let (ticks, labels) = plot.axis();
    lines.extend([ticks, labels].map(|line| painter.paint(Style::DIM, &line)));
    lines.push(String::new());
    lines.extend(legend(&plot.buckets, &plot.groups, " ", screen));
    lines
}

/// The buckets of a histogram, joined so that they fit beside a scale in so many columns, and their
/// step in seconds.
pub(crate) fn shown_buckets(histogram: &Histogram, columns: usize) -> (Vec<Bucket>, u64) {
    let columns = columns.saturating_sub(scale_columns(histogram) + 2).max(1);
    join::to_fit(&histogram.buckets, histogram.step_s, columns)
}

/// Columns of the numbers beside the bars.
fn scale_columns(histogram: &Histogram) -> usize {
    let count_max = histogram.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    separated(count_max).len().max("1,000".len())
}

/// The bars of a histogram with their axes.
pub(crate) struct Plot {
    pub(crate) buckets: Vec<Bucket>,
    groups: Vec<String>,
    step_s: u64,
    left_out: u64,
    scale_columns: usize,
    columns: usize,
    rows: usize,
}

impl Plot {
    /// The bars in so many columns and rows.
    pub(crate) fn new(histogram: &Histogram, columns: usize, rows: usize) -> Self {
        let (buckets, step_s) = shown_buckets(histogram, columns);
        let scale_columns = scale_columns(histogram);
        let columns = columns.saturating_sub(scale_columns + 2).max(buckets.len());
        let (groups, left_out) = (groups(histogram), histogram.left_out);
        Self { buckets, groups, step_s, left_out, scale_columns, columns, rows }
    }

    /// What the bars are, and in which zone their times are.
    pub(crate) fn title(&self, kind: RecordKind, time: &TimeRange, painter: Painter) -> String {
        title(kind, self.step_s, (time, self.left_out), painter)
    }

    /// The rows of the bars from the highest on, each with its scale.
    pub(crate) fn bars(&self, painter: Painter) -> Vec<String> {
        let bars = self.shape();
        let line = |row: usize| {
            let scale = right(&bars.scale(row), self.scale_columns);
            let rule = painter.paint(Style::DIM, &format!("{scale} {}", bars.rule(row)));
            rule + &bars.row(row, painter)
        };
        (0..self.rows).rev().map(line).collect()
    }

    /// The line of ticks and the line of labels below the bars.
    pub(crate) fn axis(&self) -> (String, String) {
        let margin = " ".repeat(self.scale_columns + 1);
        let (ticks, labels) = axis::draw(&self.buckets, self.step_s, self.bucket_columns());
        (format!("{margin}└{ticks}"), format!("{margin} {labels}"))
    }

    /// The column at which a bucket begins.
    pub(crate) fn column(&self, bucket: usize) -> usize {
        self.scale_columns + 2 + bucket * self.bucket_columns()
    }

    fn bucket_columns(&self) -> usize {
        self.shape().bucket_columns()
    }

    fn shape(&self) -> Bars<'_> {
        Bars::new(&self.buckets, &self.groups, self.columns, self.rows)
    }
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
