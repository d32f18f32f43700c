//! The time axis: round times under their buckets.

use weir_view::Bucket;

use crate::display::{AxisWidths, axis_labels};
use crate::terminal::text::width;

/// Columns between two labels.
const GAP: usize = 3;

/// The line of ticks and the line of labels. Each bucket is `bucket_columns` wide.
pub(super) fn draw(buckets: &[Bucket], step_s: u64, bucket_columns: usize) -> (String, String) {
    let columns = buckets.len() * bucket_columns;
    let widths = AxisWidths { bucket: bucket_columns as f64, character: 1.0, gap: GAP as f64 };
    let mut ticks = vec!['─'; columns];
    let mut line = String::new();
    for (index, label) in axis_labels(buckets, step_s, widths) {
        let column = index * bucket_columns;
        ticks[column] = '┬';
        let used = width(&line);
        // A label may extend beyond the last bucket, because it is short.
        line.push_str(&" ".repeat(column.saturating_sub(used)));
        line.push_str(&label);
    }
    (ticks.into_iter().collect(), line)
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
