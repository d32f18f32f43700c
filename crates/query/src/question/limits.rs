//! The limits of a query that are checked when it arrives.

use weir_core::{Condition, Field};

use super::query_error::QueryError;

/// The maximum number of regular expressions in a query, including searches in all fields. Each may
/// take a megabyte, and is matched against every distinct value while the parsers wait. Without a
/// limit, a message could contain thousands.
pub(super) const EXPRESSIONS_MAX: usize = 64;

/// The maximum number of comparisons in a query. Each takes a byte for every distinct value of its
/// field.
const COMPARISONS_MAX: usize = 256;

/// The maximum number of buckets in a histogram: more than any screen can show.
pub(super) const BUCKETS_MAX: usize = 10_000;

pub(super) fn check_comparisons<'a>(
    conditions: impl Iterator<Item = &'a Condition>,
) -> Result<(), QueryError> {
    match conditions.map(|condition| condition.fields().len()).sum() {
        ..=COMPARISONS_MAX => Ok(()),
        _ => Err(QueryError::TooManyComparisons(COMPARISONS_MAX)),
    }
}

/// Checks that records can be grouped by a field.
pub(super) fn check_group(field: &str) -> Result<(), QueryError> {
    match Field::by_name(field) {
        Some(Field::Time) => Err(QueryError::GroupByTime),
        Some(number) if Field::NUMBERS.contains(&number) => {
            Err(QueryError::GroupByNumber(field.to_owned()))
        }
        _ => Ok(()),
    }
}
