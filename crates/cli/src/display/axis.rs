//! The labels of a time axis: round times at their buckets.

use weir_view::Bucket;

use super::{LocalTime, Span};

use Span::{Months, Seconds};

const DAY_S: u64 = 86_400;

/// The possible distances between labels.
const DISTANCES: [Span; 29] = [
    Seconds(1),
    Seconds(5),
    Seconds(10),
    Seconds(15),
    Seconds(30),
    Seconds(60),
    Seconds(120),
    Seconds(300),
    Seconds(600),
    Seconds(900),
    Seconds(1_800),
    Seconds(3_600),
    Seconds(7_200),
    Seconds(10_800),
    Seconds(14_400),
    Seconds(21_600),
    Seconds(43_200),
    Seconds(DAY_S),
    Seconds(2 * DAY_S),
    Seconds(3 * DAY_S),
    Seconds(4 * DAY_S),
    Seconds(7 * DAY_S),
    Seconds(14 * DAY_S),
    Months(1),
    Months(3),
    Months(6),
    Months(12),
    Months(60),
    Months(120),
];

/// A distance longer than every other.
const DISTANCE_MAX: Span = Months(1_200);

/// The widths on an axis, all in the same unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisWidths {
    /// The width of a bucket.
    pub(crate) bucket: f64,
    /// The width of a character.
    pub(crate) character: f64,
    /// The least distance from the end of a label to the next one.
    pub(crate) gap: f64,
}

/// Returns the labels, each with the index of its bucket, at the shortest distance at which they do
/// not touch. No two labels are equal.
pub(crate) fn axis_labels(
    buckets: &[Bucket],
    step_s: u64,
    widths: AxisWidths,
) -> Vec<(usize, String)> {
    let times: Vec<Option<LocalTime>> =
        buckets.iter().map(|bucket| LocalTime::parse(&bucket.start)).collect();
    let step = Span::of_step(step_s);
    let distance = DISTANCES
        .into_iter()
        .filter(|distance| distance.nominal_s() >= step_s)
        .find(|distance| {
            let room = label_characters(*distance, step) as f64 * widths.character + widths.gap;
            distance.nominal_s() as f64 / step_s.max(1) as f64 * widths.bucket >= room
        })
        .unwrap_or(DISTANCE_MAX);
    let end = times.len() as f64 * widths.bucket;
    let mut labels: Vec<(usize, String)> = Vec::new();
    let mut free_from = 0.0;
    for (index, time) in times.iter().enumerate() {
        let Some(time) = time else { continue };
        let at = index as f64 * widths.bucket;
        let label = label(time, distance, step);
        let width = label.chars().count() as f64 * widths.character;
        let is_due = begins(&times, index, distance, step);
        if is_due && at >= free_from && (at + width <= end || index == 0) {
            free_from = at + width + widths.gap.min(widths.character);
            labels.push((index, label));
        }
    }
    if labels.is_empty()
        && let Some(Some(time)) = times.first()
    {
        labels.push((0, label(time, Seconds(1), step)));
    }
    labels
}

/// Whether an interval of this length begins with a bucket.
fn begins(times: &[Option<LocalTime>], index: usize, distance: Span, step: Span) -> bool {
    let Some(time) = &times[index] else { return false };
    match index.checked_sub(1).and_then(|index| times[index].as_ref()) {
        Some(before) => distance.number(before) != distance.number(time),
        // The first of long buckets has a label, even if it begins within an interval.
        None => distance.begins_at(time) || step.nominal_s() >= 7 * DAY_S,
    }
}

fn label_characters(distance: Span, step: Span) -> usize {
    match distance {
        Seconds(seconds) if seconds >= DAY_S && is_long(step) => "Dec 2025".len(),
        Seconds(seconds) if seconds >= DAY_S => "17 Dec".len(),
        Seconds(_) if step.nominal_s() < 60 => "09:03:01".len(),
        Seconds(_) => "09:03".len(),
        Months(_) if matches!(step, Months(months) if months >= 12) => "2025".len(),
        Months(_) if is_long(step) => "Dec 2025".len(),
        Months(_) => "17 Dec".len(),
    }
}

/// Whether a step is so long that labels need the year.
fn is_long(step: Span) -> bool {
    step.nominal_s() >= 28 * DAY_S
}

fn label(time: &LocalTime, distance: Span, step: Span) -> String {
    let is_midnight = time.local_s().rem_euclid(DAY_S as i64) == 0 && step.nominal_s() >= 60;
    match step {
        _ if distance.nominal_s() < DAY_S && !is_midnight => match step.nominal_s() < 60 {
            true => time.hour_minute_second(),
            false => time.hour_minute(),
        },
        Months(months) if months >= 12 => time.year(),
        _ if is_long(step) => time.month_year(),
        _ => time.day_month(),
    }
}
