//! How some records differ from the others.

use serde::{Deserialize, Serialize};

use crate::row_value::RowValue;

/// The values that separate the matching records best from the others of their kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// The number of matching records.
    pub selected: u64,
    /// The number of the other records.
    pub others: u64,
    /// The number of values that were compared, of all fields without a condition.
    pub values: u64,
    /// The values that separate them best, in descending order of the size of `g2`.
    pub rows: Vec<Difference>,
}

/// A value that occurs more or less often among the matching records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// The value.
    #[serde(flatten)]
    pub value: RowValue,
    /// The number of matching records with the value.
    pub count: u64,
    /// The number of other records with the value.
    pub others_count: u64,
    /// The share of the matching records with the value, 0 to 1.
    pub share: f64,
    /// The share of the other records with the value, 0 to 1.
    pub others_share: f64,
    /// The logarithm of the likelihood ratio, times two (G-squared), of the table of records with and
    /// without the value, matching or not. Negative if the share of the matching records is smaller.
    pub g2: f64,
}

impl Difference {
    /// Compares the records with a value: `count` of `selected` and `others_count` of `others`.
    pub fn new(
        (field, value): (&str, RowValue),
        (count, selected): (u64, u64),
        (others_count, others): (u64, u64),
    ) -> Self {
        let part = |count: u64, all: u64| count as f64 / all.max(1) as f64;
        let (share, others_share) = (part(count, selected), part(others_count, others));
        let g2 = g_squared((count, selected), (others_count, others));
        let g2 = if share < others_share { -g2 } else { g2 };
        Self { field: field.to_owned(), value, count, others_count, share, others_share, g2 }
    }
}

/// Returns G-squared of a table with two rows, given how many of each have the property: twice the sum
/// of `observed * ln(observed / expected)` over its four cells.
///
/// It is 0 if both shares are equal, and grows with the difference of the shares and with the number of
/// records behind it. So a value of few records is never far up, as it is in an order by the ratio of
/// the shares (Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence",
/// Computational Linguistics 19, 1993).
pub fn g_squared((a, all_a): (u64, u64), (b, all_b): (u64, u64)) -> f64 {
    let (all_a, all_b) = (all_a as f64, all_b as f64);
    let (a, b) = (a as f64, b as f64);
    let all = all_a + all_b;
    let cell = |observed: f64, row: f64, column: f64| match observed {
        0.0 => 0.0,
        observed => observed * (observed * all / (row * column)).ln(),
    };
    let (with, without) = (a + b, all - a - b);
    let sum = cell(a, all_a, with)
        + cell(all_a - a, all_a, without)
        + cell(b, all_b, with)
        + cell(all_b - b, all_b, without);
    // Rounding may leave a tiny negative number for equal shares.
    (2.0 * sum).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::{Difference, RowValue, g_squared};

    #[test]
    fn g_squared_is_that_of_the_table() {
        // From the sums of o * ln(o / e), computed apart.
        let close = |own: f64, expected: f64| assert!((own - expected).abs() < 1e-6, "{own}");
        close(g_squared((10, 40), (10, 160)), 10.233_047);
        close(g_squared((0, 100), (50, 100)), 86.304_621_7);
        close(g_squared((5, 10), (50, 100)), 0.0);
        close(g_squared((10, 10), (0, 10)), 27.725_887);
        assert_eq!(g_squared((0, 0), (3, 10)), 0.0);
    }

    #[test]
    fn a_rare_value_is_not_far_up_and_the_sign_is_that_of_the_shares() {
        let of = |count, others| {
            Difference::new(("path", RowValue::new(b"/", false)), (count, 1_000), (others, 9_000))
                .g2
        };
        let (only_here, more, less) = (of(2, 0), of(300, 900), of(10, 2_000));
        assert!(only_here > 0.0 && only_here < more && less < 0.0, "{only_here} {more} {less}");
    }
}
