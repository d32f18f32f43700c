//! Ranges of addresses, each with a number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Debug;
use std::ops::{Add, Sub};

/// An address as a number: `u32` for IPv4, `u128` for IPv6.
pub(crate) trait Address:
    Copy + Ord + Debug + From<u8> + Add<Output = Self> + Sub<Output = Self>
{
}

impl Address for u32 {}
impl Address for u128 {}

/// The first and last address of a range, and its number.
pub(crate) type Range<A> = (A, A, u32);

/// Ranges in which an address is looked up.
#[derive(Debug)]
pub(crate) struct Ranges<A> {
    /// By the first address. They do not overlap.
    sorted: Vec<Range<A>>,
}

impl<A: Address> Ranges<A> {
    /// The ranges of a file in its order, whose first addresses are not after their last ones.
    ///
    /// Published files have ranges that overlap. An address is then in the smallest range around it,
    /// as in the longest prefix, and among ranges of one size in the last one.
    pub(crate) fn new(ranges: Vec<Range<A>>) -> Self {
        let in_order = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        let mut sorted = if in_order { ranges } else { flattened(&ranges) };
        sorted.shrink_to_fit();
        Self { sorted }
    }

    /// The number of the range of an address.
    pub(crate) fn find(&self, address: A) -> Option<u32> {
        let after = self.sorted.partition_point(|(first, _, _)| *first <= address);
        let (_, last, number) = self.sorted[..after].last()?;
        (*last >= address).then_some(*number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.sorted.capacity() * size_of::<Range<A>>()
    }
}

/// The same answers by ranges that do not overlap, in order.
///
/// Goes through the addresses from the first to the last one, with the ranges that have begun in a
/// heap, the smallest on top. A part ends where that one does or where the next one begins.
fn flattened<A: Address>(ranges: &[Range<A>]) -> Vec<Range<A>> {
    let mut by_first: Vec<(usize, Range<A>)> = ranges.iter().copied().enumerate().collect();
    by_first.sort_unstable_by_key(|(place, (first, _, _))| (*first, *place));
    let mut next = by_first.iter().peekable();
    let mut begun = BinaryHeap::new();
    let mut parts: Vec<Range<A>> = Vec::with_capacity(ranges.len());
    let greatest = ranges.iter().map(|(_, last, _)| *last).max();
    // The first address that is in no part yet.
    let mut at = A::from(0);
    loop {
        while let Some((place, (first, last, number))) = next.next_if(|it| it.1.0 <= at) {
            let size = Reverse(*last - *first);
            begun.push((size, *place, *last, *number));
        }
        let Some((_, _, last, number)) = begun.peek().copied() else {
            // A gap, or the end.
            let Some((_, (first, _, _))) = next.peek() else { return parts };
            at = *first;
            continue;
        };
        if last < at {
            begun.pop();
            continue;
        }
        let one = A::from(1);
        let end = next.peek().map_or(last, |(_, (first, _, _))| last.min(*first - one));
        match parts.last_mut() {
            Some(part) if part.2 == number && part.1 + one == at => part.1 = end,
            _ => parts.push((at, end, number)),
        }
        if Some(end) == greatest {
            return parts;
        }
        at = end + one;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Range, Ranges};

    /// The smallest range around an address, and of those the last one.
    fn naive(ranges: &[Range<u32>], address: u32) -> Option<u32> {
        let around = ranges.iter().filter(|(first, last, _)| (*first..=*last).contains(&address));
        let smallest = around.rev().min_by_key(|(first, last, _)| last - first);
        smallest.map(|(_, _, number)| *number)
    }

    fn assert_same(ranges: &[Range<u32>], addresses: impl IntoIterator<Item = u32>) {
        let found = Ranges::new(ranges.to_vec());
        assert!(found.sorted.windows(2).all(|pair| pair[0].1 < pair[1].0), "{found:?}");
        for address in addresses {
            assert_eq!(found.find(address), naive(ranges, address), "{address} in {ranges:?}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_in_the_smallest_range_around_it(
            ranges in proptest::collection::vec((0_u32..60, 0_u32..20, 0_u32..4), 0..20),
        ) {
            let ranges: Vec<_> = ranges.iter().map(|(at, size, it)| (*at, at + size, *it)).collect();
            assert_same(&ranges, 0..90);
        }
    }

    #[test]
    fn the_first_and_the_last_address_are_in_ranges() {
        const MAX: u32 = u32::MAX;
        let ends = [0, 1, 2, 3, MAX - 2, MAX - 1, MAX];
        assert_same(&[(0, MAX, 1)], ends);
        assert_same(&[(MAX, MAX, 2), (0, MAX, 1), (0, 0, 3)], ends);
        assert_same(&[(MAX - 1, MAX, 2), (1, MAX - 1, 1)], ends);
        assert_same(&[], ends);
    }

    #[test]
    fn ranges_in_order_stay_as_they_are() {
        let ranges = vec![(1_u32, 4, 7), (5, 5, 7), (8, 9, 1)];
        assert_eq!(Ranges::new(ranges.clone()).sorted, ranges);
    }
}
