//! The histogram as an SVG drawing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use weir_view::{Bucket, Histogram, Hue, RecordKind, group_hues};

use super::chart_table;
use super::text::{safe, time};
use crate::display::{AxisWidths, axis_labels, left_out_text, separated, share, step};

/// The height of the drawing in its own units.
const HEIGHT: f64 = 1_000.0;

/// The most colours. If there are more groups, the smallest share the last one.
const GROUPS_MAX: usize = 7;

/// The name of the groups that share the last colour.
const OTHERS: &str = "(all others)";

/// The width of the drawing in characters of a label, on a narrow screen.
const LABEL_COLUMNS: f64 = 70.0;

/// The least distance between two labels, in characters.
const LABEL_GAP: f64 = 4.0;

/// The least number of steps on the scale.
const TICKS: u64 = 4;

/// The figure.
pub(super) fn draw(histogram: &Histogram, kind: RecordKind, zone: &str) -> String {
    let groups = groups(histogram);
    let count_max = histogram.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let count_top = scale_top(count_max);
    let mut paths = vec![String::new(); groups.len()];
    let mut hits = String::new();
    for (index, bucket) in histogram.buckets.iter().enumerate() {
        push_bucket(&mut paths, index, bucket, &groups, count_top);
        let _ = writeln!(
            hits,
            "<rect class=\"hit\" x=\"{index}\" y=\"0\" width=\"1\" height=\"{HEIGHT}\"><title>{}</title></rect>",
            tip(bucket, histogram.unfiltered.as_ref().and_then(|counts| counts.get(index)))
        );
    }
    let drawn: String = paths
        .iter()
        .zip(&groups)
        .filter(|(path, _)| !path.is_empty())
        .map(|(path, group)| format!("<path {} d=\"{path}\"/>\n", group.paint))
        .collect();
    let title = format!("{} per {}", kind.title(), step(histogram.step_s));
    format!(
        "<figure>\n<h2>{title} <small>times in {}{}</small></h2>\n<div class=\"chart\">\
         <svg class=\"scale\" aria-hidden=\"true\">{}</svg>\n\
         <svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\">\n\
         {}{drawn}{hits}</svg>\n<svg class=\"times\" aria-hidden=\"true\">{}</svg></div>\n{}{}</figure>\n",
        safe(zone),
        left_out_text(histogram.left_out),
        scale_labels(count_top),
        histogram.buckets.len(),
        grid(count_top, histogram.buckets.len()) + &backdrop(histogram),
        time_labels(histogram),
        legend(histogram, &groups, kind),
        chart_table::table(histogram, &groups, kind)
    )
}

/// Draws the shape of all records behind those that match the filter, to its own scale.
fn backdrop(histogram: &Histogram) -> String {
    let Some(unfiltered) = &histogram.unfiltered else { return String::new() };
    let most = unfiltered.iter().copied().max().unwrap_or(0).max(1);
    let column = |(index, count): (usize, &u64)| {
        let height = *count as f64 / most as f64 * HEIGHT;
        format!("M{index} {:.1}h1.02v{height:.1}h-1.02z", HEIGHT - height)
    };
    let columns = unfiltered.iter().enumerate().filter(|(_, count)| **count > 0).map(column);
    format!("<path class=\"backdrop\" d=\"{}\"/>\n", columns.collect::<String>())
}

/// Returns the counts at the grid lines: whole steps of 1, 2 or 5 times a power of ten.
fn ticks(count_top: u64) -> impl Iterator<Item = u64> {
    let step = tick_step(count_top);
    (0..=count_top / step).map(move |number| number * step)
}

/// Returns the upper end of the scale for bars of up to `count_max`: a whole or a half step.
fn scale_top(count_max: u64) -> u64 {
    let half = (tick_step(count_max) / 2).max(1);
    count_max.div_ceil(half).max(1) * half
}

/// The step between two grid lines, so that there are at least four of them.
fn tick_step(count_max: u64) -> u64 {
    let wanted = (count_max / TICKS).max(1);
    let power = 10u64.pow(wanted.ilog10());
    [5, 2, 1].into_iter().map(|factor| factor * power).find(|step| *step <= wanted).unwrap_or(1)
}

/// Converts a position from the bottom to a percentage from the top.
fn percent_y(count: u64, count_top: u64) -> f64 {
    100.0 - count as f64 / count_top as f64 * 100.0
}

fn scale_labels(count_top: u64) -> String {
    let label = |count: u64| {
        let y = percent_y(count, count_top);
        // The outermost labels stay within the drawing.
        let shift = if y < 5.0 {
            "1em"
        } else if y > 95.0 {
            "0"
        } else {
            ".35em"
        };
        format!("<text x=\"100%\" y=\"{y:.2}%\" dy=\"{shift}\">{}</text>\n", separated(count))
    };
    ticks(count_top).map(label).collect()
}

fn grid(count_top: u64, buckets: usize) -> String {
    let line = |count: u64| {
        let y = HEIGHT - count as f64 / count_top as f64 * HEIGHT;
        format!("M0 {y:.1}h{buckets}")
    };
    format!("<path class=\"grid\" d=\"{}\"/>\n", ticks(count_top).map(line).collect::<String>())
}

/// Round times below their buckets.
fn time_labels(histogram: &Histogram) -> String {
    let buckets = histogram.buckets.len().max(1);
    let widths =
        AxisWidths { bucket: LABEL_COLUMNS / buckets as f64, character: 1.0, gap: LABEL_GAP };
    let label = |(index, text): (usize, String)| {
        let x = index as f64 / buckets as f64 * 100.0;
        format!(
            "<line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"5\"/>\
             <text x=\"{x:.2}%\" y=\"1.3em\">{text}</text>\n"
        )
    };
    axis_labels(&histogram.buckets, histogram.step_s, widths).into_iter().map(label).collect()
}

/// One of the groups, in stacking order.
pub(super) struct Group {
    /// `None` for the groups that share the last colour.
    name: Option<String>,
    /// The attributes of its shapes.
    paint: String,
}

impl Group {
    /// Its name, as HTML.
    pub(super) fn shown(&self) -> String {
        safe(self.name.as_deref().unwrap_or(OTHERS))
    }

    /// The number of its records in a bucket, of which `left` belong to no group before it.
    pub(super) fn count(&self, bucket: &Bucket, left: u64) -> u64 {
        self.name.as_ref().map_or(left, |name| bucket.by.get(name).copied().unwrap_or(0))
    }
}

/// Returns the attributes of a shape in a hue of the style sheet, faded by a percentage.
fn paint((hue, fade_percent): (Hue, u8)) -> String {
    let class = match hue {
        Hue::Status(digit) => format!("s{digit}"),
        Hue::Series(at) => format!("c{at}"),
        Hue::Other => "so".to_owned(),
    };
    match fade_percent {
        0 => format!("class=\"{class}\""),
        _ => format!("class=\"{class}\" fill-opacity=\".{}\"", 100 - fade_percent),
    }
}

fn groups(histogram: &Histogram) -> Vec<Group> {
    let totals = totals(histogram);
    let mut names: Vec<&String> = histogram.groups.iter().collect();
    let has_others = names.len() > GROUPS_MAX;
    if has_others {
        names.sort_by_key(|name| Reverse(totals.get(name.as_str()).copied().unwrap_or(0)));
        names.truncate(GROUPS_MAX - 1);
    }
    let names: Vec<String> = names.into_iter().cloned().collect();
    let hues = group_hues(&histogram.field, &names).into_iter();
    let named = names.into_iter().map(Some).zip(hues);
    named
        .chain(has_others.then_some((None, (Hue::Other, 0))))
        .map(|(name, hue)| Group { name, paint: paint(hue) })
        .collect()
}

fn totals(histogram: &Histogram) -> BTreeMap<&str, u64> {
    let mut totals = BTreeMap::new();
    for (name, count) in histogram.buckets.iter().flat_map(|bucket| &bucket.by) {
        *totals.entry(name.as_str()).or_insert(0) += count;
    }
    totals
}

fn push_bucket(
    paths: &mut [String],
    index: usize,
    bucket: &Bucket,
    groups: &[Group],
    count_top: u64,
) {
    let height = |count: u64| count as f64 / count_top as f64 * HEIGHT;
    let mut below = 0;
    let mut left = bucket.count;
    for (path, group) in paths.iter_mut().zip(groups) {
        let count = group.count(bucket, left);
        left = left.saturating_sub(count);
        if count > 0 {
            // Drawn from its top, and slightly wider than a bucket, so that no gap shows.
            let top = HEIGHT - height(below + count);
            let _ = write!(path, "M{index} {top:.1}h1.02v{:.1}h-1.02z", height(count));
            below += count;
        }
    }
}

/// The text that is shown when the pointer is over a bucket.
fn tip(bucket: &Bucket, unfiltered: Option<&u64>) -> String {
    let mut tip = format!("{}: {}", time(&bucket.start), separated(bucket.count));
    if let Some(all) = unfiltered {
        let _ = write!(tip, " of {}", separated(*all));
    }
    let mut groups: Vec<(&String, &u64)> = bucket.by.iter().collect();
    groups.sort_by_key(|(name, count)| (Reverse(**count), *name));
    for (name, count) in groups.into_iter().take(GROUPS_MAX) {
        let _ = write!(tip, "\n{} {}", safe(name), separated(*count));
    }
    tip
}

fn legend(histogram: &Histogram, groups: &[Group], kind: RecordKind) -> String {
    let totals = totals(histogram);
    let all: u64 = totals.values().sum();
    let mut left = all;
    let mut items = String::new();
    for group in groups {
        let name = group.name.as_deref();
        let count = name.map_or(left, |name| totals.get(name).copied().unwrap_or(0));
        left = left.saturating_sub(count);
        let _ = writeln!(
            items,
            "<span><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect {} width=\"1\" height=\"1\"/></svg><bdi>{}</bdi> {} <span class=\"dim\">{}</span></span>",
            group.paint,
            group.shown(),
            separated(count),
            share(count, all)
        );
    }
    if histogram.unfiltered.is_some() {
        let _ = writeln!(
            items,
            "<span><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"backdrop\" width=\"1\" height=\"1\"/></svg>all {}, to their own scale</span>",
            kind.noun(2)
        );
    }
    format!("<div class=\"legend\">\n{items}</div>\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weir_view::{Bucket, Histogram, RecordKind};

    use super::draw;

    /// The labels of a drawing of `buckets` seconds, each with more records than the one before.
    fn labels(starts: impl Iterator<Item = String>, step_s: u64) -> (Vec<String>, Vec<String>) {
        let bucket = |(count, start)| Bucket { start, count, ..Bucket::default() };
        let buckets: Vec<Bucket> = (1..).zip(starts).map(bucket).collect();
        let until = "2019-01-23T00:00:00Z".to_owned();
        let histogram = Histogram { step_s, buckets, until, ..Histogram::default() };
        let drawing = draw(&histogram, RecordKind::Request, "UTC");
        let texts_of = |class: &str| {
            let start = drawing.find(&format!("<svg class=\"{class}\"")).expect("the drawing");
            let svg = &drawing[start..];
            let svg = &svg[..svg.find("</svg>").expect("its end")];
            let texts = svg.split("<text ").skip(1);
            texts
                .map(|text| {
                    let text = &text[text.find('>').expect("a tag") + 1..];
                    text[..text.find('<').expect("its end")].to_owned()
                })
                .collect()
        };
        (texts_of("times"), texts_of("scale"))
    }

    #[test]
    fn three_minutes_have_different_labels_with_seconds() {
        let seconds = (0..180)
            .map(|second| format!("2019-01-22T03:{:02}:{:02}Z", 56 + second / 60, second % 60));
        let (times, counts) = labels(seconds, 1);
        assert!(times.len() > 2, "{times:?}");
        assert_eq!(times.iter().collect::<BTreeSet<_>>().len(), times.len(), "{times:?}");
        assert!(
            times.iter().all(|time| time.ends_with(":00") || time.ends_with(":30")),
            "{times:?}"
        );
        assert!(counts.len() > 3, "{counts:?}");
    }

    #[test]
    fn hours_are_labelled_at_round_times() {
        let hours =
            (0..96).map(|hour| format!("2019-01-{:02}T{:02}:00:00Z", 18 + hour / 24, hour % 24));
        let (times, counts) = labels(hours, 3_600);
        assert!(times.len() > 2, "{times:?}");
        let is_round = |time: &String| !time.contains(':') || time.ends_with("12:00");
        assert!(times.iter().all(is_round), "{times:?}");
        assert_eq!(counts, ["0", "20", "40", "60", "80", "100"]);
    }
}
