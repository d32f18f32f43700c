//! The histogram as an SVG drawing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use weir_view::{Bucket, Histogram, RecordKind};

use super::text::{safe, time};
use crate::display::{colour_number, separated, share, step};

/// The height of the drawing in units of its own.
const HEIGHT: f64 = 1_000.0;

/// The maximum number of colours. If there are more groups, the smallest share the last one.
const GROUPS_MAX: usize = 7;

/// The name of the groups that share the last colour.
const OTHERS: &str = "(all others)";

/// The number of labels below the drawing, at equal distances.
const LABELS: usize = 5;

/// The figure.
pub(super) fn draw(histogram: &Histogram, kind: RecordKind, zone: &str) -> String {
    let groups = groups(histogram);
    let count_max = histogram.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let mut paths = vec![String::new(); groups.len()];
    let mut hits = String::new();
    for (index, bucket) in histogram.buckets.iter().enumerate() {
        push_bucket(&mut paths, index, bucket, &groups, count_max);
        let _ = writeln!(
            hits,
            "<rect class=\"hit\" x=\"{index}\" y=\"0\" width=\"1\" height=\"{HEIGHT}\"><title>{}</title></rect>",
            tip(bucket)
        );
    }
    let drawn: String = paths
        .iter()
        .zip(&groups)
        .filter(|(path, _)| !path.is_empty())
        .map(|(path, group)| format!("<path class=\"g{}\" d=\"{path}\"/>\n", group.colour))
        .collect();
    let title = format!("{} per {}", kind.title(), step(histogram.step_s));
    format!(
        "<figure>\n<h2>{title} <small>times in {}</small></h2>\n<div class=\"chart\">\
         <div class=\"scale\"><span>{}</span><span>0</span></div>\n\
         <svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\">\n\
         {drawn}{hits}</svg>\n<div class=\"times\">{}</div></div>\n{}</figure>\n",
        safe(zone),
        separated(count_max),
        histogram.buckets.len(),
        labels(histogram),
        legend(histogram, &groups)
    )
}

/// One of the groups, in stacking order.
struct Group {
    /// `None` for the groups that share the last colour.
    name: Option<String>,
    colour: usize,
}

fn groups(histogram: &Histogram) -> Vec<Group> {
    let totals = totals(histogram);
    let mut names: Vec<&String> = histogram.groups.iter().collect();
    let has_others = names.len() > GROUPS_MAX;
    if has_others {
        names.sort_by_key(|name| Reverse(totals.get(name.as_str()).copied().unwrap_or(0)));
        names.truncate(GROUPS_MAX - 1);
    }
    let group = |(index, name): (usize, &&String)| Group {
        name: Some((*name).clone()),
        colour: colour_number(index, name, GROUPS_MAX),
    };
    let mut groups: Vec<Group> = names.iter().enumerate().map(group).collect();
    groups.extend(has_others.then_some(Group { name: None, colour: GROUPS_MAX - 1 }));
    groups
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
    count_max: u64,
) {
    let height = |count: u64| count as f64 / count_max as f64 * HEIGHT;
    let mut below = 0;
    let mut left = bucket.count;
    for (path, group) in paths.iter_mut().zip(groups) {
        let count = match &group.name {
            Some(name) => bucket.by.get(name).copied().unwrap_or(0),
            None => left,
        };
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
fn tip(bucket: &Bucket) -> String {
    let mut tip = format!("{}: {}", time(&bucket.start), separated(bucket.count));
    for (name, count) in bucket.by.iter().take(GROUPS_MAX) {
        let _ = write!(tip, "\n{} {}", safe(name), separated(*count));
    }
    tip
}

/// The times at the left end, at each quarter, and at the right end.
fn labels(histogram: &Histogram) -> String {
    let buckets = &histogram.buckets;
    let label = |number: usize| {
        let at = buckets.len() * number / (LABELS - 1);
        let stamp = buckets.get(at).map_or(&histogram.until, |bucket| &bucket.start);
        // A step of a day or more has no time of day.
        let stamp = time(stamp);
        let length = if histogram.step_s >= 86_400 { 10 } else { 16 };
        format!("<span>{}</span>", stamp.get(..length).unwrap_or(&stamp))
    };
    (0..LABELS).map(label).collect()
}

fn legend(histogram: &Histogram, groups: &[Group]) -> String {
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
            "<span><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"g{}\" width=\"1\" height=\"1\"/></svg><bdi>{}</bdi> {} <span class=\"dim\">{}</span></span>",
            group.colour,
            safe(name.unwrap_or(OTHERS)),
            separated(count),
            share(count, all)
        );
    }
    format!("<div class=\"legend\">\n{items}</div>\n")
}
