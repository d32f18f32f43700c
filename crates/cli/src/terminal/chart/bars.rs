//! The bars, each one or more columns wide. With colours they are stacked.

use weir_view::Bucket;

use crate::display::separated;
use crate::terminal::style::{self, Painter, Style};

/// Cells that are filled by zero to eight eighths.
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The widest bar. A wider one would look like an area.
const BAR_COLUMNS_MAX: usize = 12;

/// The bars of a histogram.
pub(super) struct Bars<'a> {
    groups: &'a [String],
    /// For each bucket the height, in eighths of a row, at which each group ends.
    tops: Vec<Vec<usize>>,
    count_max: u64,
    rows: usize,
    bucket_columns: usize,
}

impl<'a> Bars<'a> {
    /// The bars of these buckets. There are at least as many columns as buckets.
    pub(super) fn new(
        buckets: &[Bucket],
        groups: &'a [String],
        columns: usize,
        rows: usize,
    ) -> Self {
        let count_max = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
        let height = |count: u64| scaled(count, count_max, rows * 8);
        let tops = buckets.iter().map(|bucket| tops(bucket, groups, height)).collect();
        let bucket_columns = (columns / buckets.len().max(1)).clamp(1, BAR_COLUMNS_MAX);
        Self { groups, tops, count_max, rows, bucket_columns }
    }

    /// Columns of a bucket.
    pub(super) fn bucket_columns(&self) -> usize {
        self.bucket_columns
    }

    /// Returns the label beside a row: a count, or nothing if the row has no tick. Row 0 is the
    /// lowest.
    pub(super) fn scale(&self, row: usize) -> String {
        self.tick(row).map_or_else(String::new, separated)
    }

    /// The vertical rule beside a row.
    pub(super) fn rule(&self, row: usize) -> &'static str {
        if self.tick(row).is_some() { "┤" } else { "│" }
    }

    fn tick(&self, row: usize) -> Option<u64> {
        if row + 1 == self.rows {
            return Some(self.count_max);
        }
        let step = tick_step(self.count_max);
        let ticks = (1..).map(|n| n * step).take_while(|tick| *tick < self.count_max);
        let row_of = |tick: u64| scaled(tick, self.count_max, self.rows * 8).saturating_sub(1) / 8;
        ticks.filter(|tick| row_of(*tick) + 2 < self.rows).find(|tick| row_of(*tick) == row)
    }

    /// A row of the bars; 0 is the lowest.
    pub(super) fn row(&self, row: usize, painter: Painter) -> String {
        let cells = self.tops.iter().map(|tops| self.cell(tops, row, painter));
        let line: String = cells.collect();
        line.trim_end().to_owned()
    }

    /// One cell of a bar, repeated for each column of the bar.
    fn cell(&self, tops: &[usize], row: usize, painter: Painter) -> String {
        let bottom = row * 8;
        let within = |top: usize| top.saturating_sub(bottom).min(8);
        let full = within(tops.last().copied().unwrap_or(0));
        let repeat = |eighths: usize| EIGHTHS[eighths].repeat(self.bucket_columns);
        if full == 0 || !painter.colour {
            return painter.paint(Style::PLAIN, &repeat(full));
        }
        let parts = self.parts(tops, bottom);
        let named = |group: usize| (group, self.groups[group].as_str());
        match parts[..] {
            [(lower, eighths), .., (upper, _)] if full == 8 => {
                let (style, background) = style::cell(named(lower), named(upper));
                painter.paint_on(style, background, &repeat(eighths))
            }
            _ => {
                // A cell has room for two colours. Of two and the background, the larger part is
                // shown.
                let largest = parts.iter().max_by_key(|(_, eighths)| *eighths);
                let (group, name) = named(largest.map_or(0, |(group, _)| *group));
                painter.paint(style::group(group, name), &repeat(full))
            }
        }
    }

    /// The groups in a cell from the lowest up, with their heights.
    fn parts(&self, tops: &[usize], bottom: usize) -> Vec<(usize, usize)> {
        let mut below = bottom;
        let mut parts = Vec::new();
        for (group, top) in tops.iter().enumerate() {
            let top = (*top).min(bottom + 8);
            if top > below {
                parts.push((group, top - below));
                below = top;
            }
        }
        parts
    }
}

/// The height at which each group of a bucket ends. The last is the height of the bar.
fn tops(bucket: &Bucket, groups: &[String], height: impl Fn(u64) -> usize) -> Vec<usize> {
    let mut below = 0;
    let mut tops: Vec<usize> = groups
        .iter()
        .map(|name| {
            below += bucket.by.get(name).copied().unwrap_or(0);
            height(below)
        })
        .collect();
    // Groups that are not listed are included in the count only.
    if let Some(last) = tops.last_mut() {
        *last = height(bucket.count);
    }
    tops
}

/// The height of a count. A count above 0 has a height of at least 1.
fn scaled(count: u64, count_max: u64, height: usize) -> usize {
    let scaled = count as f64 / count_max as f64 * height as f64;
    (scaled.round() as usize).max(usize::from(count > 0))
}

/// The step between two ticks: about a third of the maximum, and 1, 2 or 5 times a power of ten.
fn tick_step(count_max: u64) -> u64 {
    let wanted = (count_max / 3).max(1);
    let power = 10u64.pow(wanted.ilog10());
    match wanted / power {
        0 | 1 => power,
        2 | 3 => 2 * power,
        _ => 5 * power,
    }
}

#[cfg(test)]
mod tests {
    use weir_view::Bucket;

    use super::{Bars, scaled, tick_step};
    use crate::terminal::style::Painter;

    fn bucket(counts: &[(&str, u64)]) -> Bucket {
        let by = counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let count = counts.iter().map(|(_, count)| count).sum();
        Bucket { start: String::new(), count, by }
    }

    #[test]
    fn bars_are_as_high_as_their_counts() {
        let groups = ["2xx".to_owned(), "5xx".to_owned()];
        let buckets = [
            bucket(&[("2xx", 16)]),
            bucket(&[("2xx", 3), ("5xx", 1)]),
            bucket(&[]),
            bucket(&[("5xx", 9)]),
        ];
        let bars = Bars::new(&buckets, &groups, 4, 2);
        let plain = Painter { colour: false };
        assert_eq!([bars.row(1, plain), bars.row(0, plain)], ["█  ▁", "█▄ █"]);
        let wide = Bars::new(&buckets, &groups, 9, 2);
        assert_eq!(wide.row(1, plain), "██    ▁▁");
        let colour = Painter { colour: true };
        let cells = "\x1b[32m█\x1b[0m\x1b[32m▄\x1b[0m \x1b[31m█\x1b[0m";
        assert_eq!(bars.row(0, colour), cells);
    }

    #[test]
    fn a_full_cell_has_two_colours() {
        let groups = ["2xx".to_owned(), "5xx".to_owned()];
        let buckets = [bucket(&[("2xx", 3), ("5xx", 5)])];
        let bars = Bars::new(&buckets, &groups, 1, 1);
        assert_eq!(bars.row(0, Painter { colour: true }), "\x1b[32;41m▃\x1b[0m");
    }

    #[test]
    fn the_scale_is_round() {
        assert_eq!([1, 7, 100, 1_234].map(tick_step), [1, 2, 20, 500]);
        assert_eq!(scaled(1, 1_000_000, 64), 1, "one request is visible");
        let buckets = [bucket(&[("2xx", 1_234)])];
        let bars = Bars::new(&buckets, &[], 10, 8);
        let scale: Vec<String> = (0..8).map(|row| bars.scale(row)).collect();
        assert_eq!(scale, ["", "", "", "500", "", "", "", "1,234"].map(str::to_owned));
    }
}
