//! The time axis: round times under their buckets.

use weir_view::Bucket;

use crate::display::LocalTime;
use crate::terminal::text::width;

/// Columns between two labels.
const GAP: usize = 3;

const DAY_S: i64 = 86_400;

/// The possible distances between labels, in seconds.
const DISTANCES_S: [i64; 26] = [
    1,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    7_200,
    10_800,
    14_400,
    21_600,
    43_200,
    DAY_S,
    2 * DAY_S,
    3 * DAY_S,
    4 * DAY_S,
    7 * DAY_S,
    14 * DAY_S,
    28 * DAY_S,
    91 * DAY_S,
    364 * DAY_S,
];

/// The line of ticks and the line of labels. Each bucket is `bucket_columns` wide.
pub(super) fn draw(buckets: &[Bucket], step_s: u64, bucket_columns: usize) -> (String, String) {
    let columns = buckets.len() * bucket_columns;
    let times: Vec<Option<LocalTime>> =
        buckets.iter().map(|bucket| LocalTime::parse(&bucket.start)).collect();
    let labels = labels(&times, step_s as i64, bucket_columns);
    let mut ticks = vec!['─'; columns];
    let mut line = String::new();
    for (index, label) in labels {
        let column = index * bucket_columns;
        ticks[column] = '┬';
        let used = width(&line);
        // A label may extend beyond the last bucket, because it is short.
        line.push_str(&" ".repeat(column.saturating_sub(used)));
        line.push_str(&label);
    }
    (ticks.into_iter().collect(), line)
}

/// The labels, with the index of their bucket, at the shortest distance at which they do not touch.
fn labels(times: &[Option<LocalTime>], step_s: i64, bucket_columns: usize) -> Vec<(usize, String)> {
    let span = |distance_s: i64| distance_s as usize * bucket_columns / step_s.max(1) as usize;
    let room = |distance_s: i64| label_columns(distance_s, step_s) + GAP;
    let distance_s = DISTANCES_S
        .into_iter()
        .filter(|distance_s| *distance_s >= step_s)
        .find(|distance_s| span(*distance_s) >= room(*distance_s))
        .unwrap_or(3640 * DAY_S);
    let mut labels: Vec<(usize, String)> = Vec::new();
    let columns = times.len() * bucket_columns;
    let mut free_from = 0;
    for (index, time) in times.iter().enumerate() {
        let Some(time) = time else { continue };
        let due = index == 0 && step_s >= 7 * DAY_S
            || local_number(time, distance_s) != previous_number(times, index, distance_s);
        let column = index * bucket_columns;
        let label = label(time, distance_s, step_s);
        if due && column >= free_from && (column + width(&label) <= columns || index == 0) {
            free_from = column + width(&label) + 1;
            labels.push((index, label));
        }
    }
    if labels.is_empty()
        && let Some(Some(time)) = times.first()
    {
        labels.push((0, label(time, 1, step_s)));
    }
    labels
}

/// The number of the interval of this length that contains a time.
fn local_number(time: &LocalTime, distance_s: i64) -> i64 {
    time.local_s().div_euclid(distance_s)
}

/// The [`local_number`] of the previous bucket. The first bucket has a virtual predecessor that
/// ends just before it.
fn previous_number(times: &[Option<LocalTime>], index: usize, distance_s: i64) -> i64 {
    match index.checked_sub(1).and_then(|index| times[index].as_ref()) {
        Some(time) => local_number(time, distance_s),
        None => {
            let first = times[index].as_ref().map_or(0, LocalTime::local_s);
            (first - 1).div_euclid(distance_s)
        }
    }
}

fn label_columns(distance_s: i64, step_s: i64) -> usize {
    match (distance_s < DAY_S, step_s < 60) {
        (true, true) => "09:03:01".len(),
        (true, false) => "09:03".len(),
        (false, _) if step_s >= 28 * DAY_S => "Dec 2025".len(),
        (false, _) => "17 Dec".len(),
    }
}

fn label(time: &LocalTime, distance_s: i64, step_s: i64) -> String {
    if distance_s >= DAY_S || (time.local_s().rem_euclid(DAY_S) == 0 && step_s >= 60) {
        if step_s >= 28 * DAY_S { time.month_year() } else { time.day_month() }
    } else if step_s < 60 {
        time.hour_minute_second()
    } else {
        time.hour_minute()
    }
}

#[cfg(test)]
mod tests {
    use weir_view::Bucket;

    use super::draw;

    fn buckets(starts: &[&str]) -> Vec<Bucket> {
        let bucket = |start: &&str| Bucket { start: (*start).to_owned(), ..Bucket::default() };
        starts.iter().map(bucket).collect()
    }

    #[test]
    fn hours_are_labelled_and_midnight_is_a_date() {
        let starts: Vec<String> = (20..28)
            .map(|hour| format!("2025-12-{:02}T{:02}:00:00Z", 17 + hour / 24, hour % 24))
            .collect();
        let starts: Vec<&str> = starts.iter().map(String::as_str).collect();
        let (ticks, labels) = draw(&buckets(&starts), 3_600, 4);
        assert_eq!(ticks, "┬───────┬───────┬───────┬───────");
        assert_eq!(labels, "20:00   22:00   18 Dec  02:00");
    }

    #[test]
    fn one_bucket_has_a_label() {
        let (ticks, labels) = draw(&buckets(&["2025-12-17T09:03:05Z"]), 5, 1);
        assert_eq!((ticks.as_str(), labels.as_str()), ("┬", "09:03:05"));
    }
}
