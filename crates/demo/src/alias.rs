//! Samples of a fixed distribution in constant time.

use crate::rng::{Rng, scale};

/// Walker's alias method in the version of Michael Vose ("A Linear Algorithm for Generating Random
/// Numbers with a Given Distribution", IEEE Transactions on Software Engineering 17, 1991).
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    /// One column for each outcome.
    columns: Vec<Column>,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    /// The column's own outcome is drawn if 32 random bits are below this.
    keep_below: u32,
    /// The outcome that is drawn otherwise.
    other: u32,
}

impl Alias {
    /// A table that draws `i` with the probability `weights[i] / sum(weights)`.
    ///
    /// Weights must be finite and not negative, and at least one must be positive.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut scaled: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&i| scaled[i as usize] < 1.0);
        let mut columns: Vec<Column> =
            (0..weights.len() as u32).map(|i| Column { keep_below: u32::MAX, other: i }).collect();
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            let share = scaled[poor as usize];
            columns[poor as usize] =
                Column { keep_below: (share * 4_294_967_296.0) as u32, other: rich };
            scaled[rich as usize] -= 1.0 - share;
            if scaled[rich as usize] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns }
    }

    /// A table for Zipf's law with Mandelbrot's shift: the weight of rank r, counted from 0, is
    /// 1 / (r + 1 + `shift`). The exponent is 1 because a division, unlike a power, has the same
    /// result on every platform.
    pub(crate) fn zipf(len: usize, shift: f64) -> Self {
        Self::new(&(0..len).map(|rank| zipf_weight(rank, shift)).collect::<Vec<_>>())
    }

    /// Draws an outcome, from 64 random bits.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let bits = rng.bits();
        let i = scale((bits >> 32) as u32, self.columns.len() as u32);
        let column = self.columns[i as usize];
        (if (bits as u32) < column.keep_below { i } else { column.other }) as usize
    }
}

/// The weight of a rank, counted from 0.
pub(crate) fn zipf_weight(rank: usize, shift: f64) -> f64 {
    1.0 / (rank as f64 + 1.0 + shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_weights() {
        let weights = [5.0, 0.0, 1.0, 3.0, 1.0];
        let table = Alias::new(&weights);
        let mut rng = Rng::new(9);
        let mut counts = [0_u32; 5];
        for _ in 0..100_000 {
            counts[table.draw(&mut rng)] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let expected = weight * 10_000.0;
            assert!((f64::from(*count) - expected).abs() < 600.0, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn the_first_rank_is_the_most_frequent() {
        let table = Alias::zipf(1000, 0.0);
        let mut rng = Rng::new(2);
        let first = (0..10_000).filter(|_| table.draw(&mut rng) == 0).count();
        assert!((1100..1600).contains(&first), "{first}");
    }
}
