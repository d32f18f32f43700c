//! Numbers rounded to 11 significant bits, in 16 bits each.
//!
//! ```text
//! number          code
//! 0 to 2,047      itself
//! 2,048 to 4,095  2,048 + half of what it is above 2,048
//! 2^n to 2^(n+1)  1,024 codes for each power of two
//! ```
//!
//! Codes have the order of the numbers, and a number that does not fit exactly shares its code with
//! its neighbours.

/// Returns the code of a number.
#[inline]
pub(super) fn code(number: u64) -> u16 {
    let dropped = (64 - number.leading_zeros()).saturating_sub(11);
    ((dropped << 10) + (number >> dropped) as u32) as u16
}

/// Returns a number that stands for a code. `unit` divides all numbers that were added.
///
/// If only one multiple of the unit has this code, it is that, and exact. Otherwise it is the number in
/// the middle, so the error is at most 2^-11 of the number.
pub(super) fn number(code: u16, unit: u64) -> u64 {
    let code = u64::from(code);
    let dropped = (code >> 10).saturating_sub(1);
    let floor = (code - (dropped << 10)) << dropped;
    let width = 1u64 << dropped;
    let (last, unit) = (floor + (width - 1), unit.max(1));
    let (first_multiple, last_multiple) = (floor.div_ceil(unit), last / unit);
    if first_multiple == last_multiple { first_multiple * unit } else { floor + width / 2 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{code, number};

    #[test]
    fn small_numbers_are_exact() {
        for small in 0..2_048 {
            assert_eq!((u64::from(code(small)), number(code(small), 1)), (small, small));
        }
        assert_eq!((code(2_048), code(2_049), code(2_050)), (2_048, 2_048, 2_049));
        assert_eq!(code(u64::MAX), 56_319);
        // Whole milliseconds below 2^30 ns, in nanoseconds.
        for ms in 0..1_074 {
            assert_eq!(number(code(ms * 1_000_000), 1_000_000), ms * 1_000_000);
        }
    }

    proptest! {
        #[test]
        fn codes_keep_the_order_and_the_number(one in any::<u64>(), shift in 0u32..64, other in any::<u64>()) {
            let (one, other) = (one >> shift, other >> shift);
            prop_assert_eq!(code(one).cmp(&code(other)), if code(one) == code(other) {
                std::cmp::Ordering::Equal
            } else {
                one.cmp(&other)
            });
            let back = number(code(one), 1);
            prop_assert_eq!(code(back), code(one));
            prop_assert!(back.abs_diff(one) <= one >> 11);
        }

        #[test]
        fn a_multiple_of_a_unit_is_as_near(ms in 0u64..1 << 40) {
            let one = ms * 1_000_000;
            prop_assert!(number(code(one), 1_000_000).abs_diff(one) <= one >> 11);
        }
    }
}
