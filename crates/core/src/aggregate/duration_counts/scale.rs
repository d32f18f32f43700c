//! A logarithmic scale of durations: 20 steps for each power of ten.
//!
//! The bounds are the preferred numbers of ISO 3 (the series R20) with at most three digits, from 1 µs
//! to 10^6 s. They are regular to within one part in a hundred, and every second and every fourth of
//! them are such series again. A first step holds what is shorter, a last one what is longer.

/// The number of steps.
pub(super) const STEPS: usize = 2 + DECADES * MANTISSAS.len();

/// The shortest duration of the second step: 1 µs in nanoseconds.
const FIRST_NS: u64 = 1_000;

/// From 1 µs to 10^6 s.
const DECADES: usize = 12;

/// The bounds within a power of ten, in hundredths.
const MANTISSAS: [u64; 20] = [
    100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800,
    900,
];

/// For each step its shortest duration, in nanoseconds. A number above all ends the table.
pub(super) const LEAST_NS: [u64; STEPS + 1] = {
    let mut least = [u64::MAX; STEPS + 1];
    least[0] = 0;
    let (mut power, mut at) = (FIRST_NS, 1);
    while at < STEPS {
        least[at] = MANTISSAS[(at - 1) % MANTISSAS.len()] * power / 100;
        if at.is_multiple_of(MANTISSAS.len()) {
            power *= 10;
        }
        at += 1;
    }
    least
};

/// The step of the smallest number of each cell: the numbers whose highest bit and the four bits below
/// it are the same. A cell is narrower than a step, so it has at most one bound.
const STEP_OF_CELL: [u8; 64 * 16] = {
    let mut steps = [0; 64 * 16];
    let (mut cell, mut step) = (4 * 16, 0);
    while cell < steps.len() {
        let smallest = (16 + (cell as u64 % 16)) << (cell / 16 - 4);
        while LEAST_NS[step + 1] <= smallest {
            step += 1;
        }
        steps[cell] = step as u8;
        cell += 1;
    }
    steps
};

/// Returns the step of a duration.
#[inline]
pub(super) fn step_of(number_ns: u64) -> u8 {
    // Below 16, where a cell would be less than a number, all are in the first step.
    let number = number_ns | 16;
    let bits = 63 - number.leading_zeros() as usize;
    let cell = bits * 16 + ((number >> (bits - 4)) & 15) as usize;
    let step = STEP_OF_CELL[cell];
    // The largest number is the end of the table, and in the last step.
    (step + u8::from(number_ns >= LEAST_NS[usize::from(step) + 1])).min(STEPS as u8 - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LEAST_NS, STEPS, step_of};

    /// The step by a look at every bound.
    fn naive(number_ns: u64) -> usize {
        LEAST_NS[..STEPS].iter().rposition(|least| *least <= number_ns).unwrap_or(0)
    }

    #[test]
    fn every_bound_begins_its_step() {
        assert_eq!(LEAST_NS[..4], [0, 1_000, 1_120, 1_250]);
        assert_eq!(LEAST_NS[STEPS - 1], 1_000_000_000_000_000);
        for (step, least) in LEAST_NS[..STEPS].iter().enumerate().skip(1) {
            assert_eq!(usize::from(step_of(*least)), step);
            assert_eq!(usize::from(step_of(*least - 1)), step - 1);
        }
        assert_eq!((step_of(0), usize::from(step_of(u64::MAX))), (0, STEPS - 1));
    }

    proptest! {
        #[test]
        fn steps_are_those_of_a_look_at_every_bound(number in any::<u64>(), shift in 0u32..64) {
            let number = number >> shift;
            prop_assert_eq!(usize::from(step_of(number)), naive(number));
        }
    }
}
