//! The columns of a group.

use weir_view::PeriodTally;

use super::number::{bytes, separated, share};

/// The heads of the columns.
pub(crate) fn group_columns(is_compared: bool) -> &'static [&'static str] {
    if is_compared {
        &["requests", "prev.", "change", "bytes sent", "prev.", "errors", "prev."]
    } else {
        &["requests", "share", "bytes sent", "errors", "error rate"]
    }
}

/// The numbers of a value under [`group_columns`]. `matching` is the number of all requests, and
/// `change` writes a difference.
pub(crate) fn group_cells(
    tally: &PeriodTally,
    matching: u64,
    change: fn(i64) -> String,
) -> Vec<String> {
    let now = tally.selected;
    if let (Some(before), Some(difference)) = (tally.previous, tally.difference) {
        return vec![
            separated(now.count),
            separated(before.count),
            change(difference),
            bytes(now.bytes_sent),
            bytes(before.bytes_sent),
            separated(now.errors),
            separated(before.errors),
        ];
    }
    vec![
        separated(now.count),
        share(now.count, matching),
        bytes(now.bytes_sent),
        separated(now.errors),
        share(now.errors, now.count),
    ]
}
