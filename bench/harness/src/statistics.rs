//! Medians and their ratios.

/// The middle value, or the mean of the two in the middle; `None` if there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper))
}

/// The value that this many of a hundred values do not exceed; `None` if there are none.
pub(crate) fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * percent / 100).copied()
}

/// The smallest and the largest value; `None` if there are none.
pub(crate) fn range(values: &[f64]) -> Option<(f64, f64)> {
    let smallest = values.iter().copied().min_by(f64::total_cmp)?;
    let largest = values.iter().copied().max_by(f64::total_cmp)?;
    Some((smallest, largest))
}

/// The one median divided by the other; `None` if either list is empty, or the divisor is 0.
pub(crate) fn ratio(of: &[f64], to: &[f64]) -> Option<f64> {
    let to = median(to).filter(|median| *median != 0.0)?;
    Some(median(of)? / to)
}

#[cfg(test)]
mod tests {
    use super::{median, percentile, range, ratio};

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4.0]), Some(4.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[8.0, 1.0, 4.0, 2.0]), Some(3.0));
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (0..20).rev().map(f64::from).collect();
        assert_eq!(percentile(&values, 95), Some(19.0));
        assert_eq!(percentile(&[4.0], 95), Some(4.0));
        assert_eq!(percentile(&[], 95), None);
    }

    #[test]
    fn the_range_is_from_the_smallest_to_the_largest() {
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
    }

    #[test]
    fn a_ratio_is_one_of_medians() {
        assert_eq!(ratio(&[6.0, 600.0, 5.0], &[2.0, 3.0, 4.0]), Some(2.0));
        assert_eq!(ratio(&[1.0], &[]), None);
        assert_eq!(ratio(&[], &[1.0]), None);
        assert_eq!(ratio(&[1.0], &[0.0]), None);
    }
}
