//! The figures of the histogram as a table, for programs that leave out drawings: those for mail, and
//! those that read a page aloud.

use std::ops::Range;

use weir_view::{Bucket, Histogram, RecordKind};

use super::chart::Group;
use super::tables::{column, named_row};
use super::text::time;
use crate::display::{AxisWidths, axis_labels, separated};

/// The most characters that the labels of an axis with a label for each row would have, each with a gap.
/// It leaves about thirty rows, whatever the number of buckets.
const COLUMNS: f64 = 300.0;
const GAP: f64 = 4.0;

/// The table. Each row has the buckets from one round time to the next.
pub(super) fn table(histogram: &Histogram, groups: &[Group], kind: RecordKind) -> String {
    let names: String = groups.iter().map(|group| column(&group.shown())).collect();
    let head = column(kind.column()) + &names;
    let row = |part: Range<usize>| {
        let buckets = &histogram.buckets[part];
        let cells: Vec<String> = counts(buckets, groups).into_iter().map(separated).collect();
        named_row(&time(&buckets[0].start), &cells)
    };
    let rows: String = parts(histogram).into_iter().map(row).collect();
    format!(
        "<details>\n<summary>The chart as a table</summary>\n<div class=\"wide\"><table>\n<tr><th \
         class=\"value\" scope=\"col\">from</th>{head}</tr>\n{rows}</table></div>\n</details>\n"
    )
}

/// The buckets of each row.
fn parts(histogram: &Histogram) -> Vec<Range<usize>> {
    let buckets = &histogram.buckets;
    let bucket = COLUMNS / buckets.len().max(1) as f64;
    let widths = AxisWidths { bucket, character: 1.0, gap: GAP };
    let labels = axis_labels(buckets, histogram.step_s, widths);
    let round = labels.into_iter().map(|(index, _)| index).filter(|index| *index > 0);
    let mut starts: Vec<usize> = [0].into_iter().chain(round).collect();
    starts.retain(|start| *start < buckets.len());
    let ends = starts.iter().skip(1).copied().chain([buckets.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// The number of all records of some buckets, and of those of each group.
fn counts(buckets: &[Bucket], groups: &[Group]) -> Vec<u64> {
    let mut counts = vec![0; 1 + groups.len()];
    for bucket in buckets {
        counts[0] += bucket.count;
        let mut left = bucket.count;
        for (sum, group) in counts[1..].iter_mut().zip(groups) {
            let count = group.count(bucket, left);
            left = left.saturating_sub(count);
            *sum += count;
        }
    }
    counts
}
