//! What is different in the records that match, in words.

use weir_view::{Differences, RecordKind};

use super::separated;

/// What was compared: `1,234 of 56,789 requests, 310 values compared`.
pub(crate) fn differences_counts(differences: &Differences, kind: RecordKind) -> String {
    let Differences { selected, others, values, .. } = differences;
    let all = selected + others;
    format!(
        "{} of {} {}, {} values compared",
        separated(*selected),
        separated(all),
        kind.noun(all),
        separated(*values)
    )
}
