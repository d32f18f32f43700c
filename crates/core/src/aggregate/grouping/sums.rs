//! The sum, the count and the maximum of a number in each group.

use crate::column::{Numbers, Selection};

/// The sum of a number over the records of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NumberSum {
    /// How many records have the number.
    pub count: u64,
    /// Their sum, in the unit of the column. 2^64 records of 2^64 fit.
    pub sum: u128,
    /// The largest number.
    pub max: u64,
}

/// By group.
#[derive(Debug, Clone, Default)]
pub(super) struct NumberSums(Vec<NumberSum>);

impl NumberSums {
    pub(super) fn add(&mut self, groups: &[u32], numbers: &Numbers, selection: &Selection) {
        let most = groups.iter().max().map_or(0, |group| *group as usize + 1);
        if self.0.len() < most {
            self.0.resize(most, NumberSum::default());
        }
        let mut groups = groups.iter();
        numbers.for_each(selection, |number| {
            let (Some(group), Some(number)) = (groups.next(), number) else { return };
            let own = &mut self.0[*group as usize];
            own.add(NumberSum { count: 1, sum: u128::from(number), max: number });
        });
    }

    pub(super) fn merge(&mut self, other: &Self, new_number: impl Fn(u32) -> u32) {
        for (group, sum) in other.0.iter().enumerate().filter(|(_, sum)| sum.count > 0) {
            let place = new_number(group as u32) as usize;
            if self.0.len() <= place {
                self.0.resize(place + 1, NumberSum::default());
            }
            self.0[place].add(*sum);
        }
    }

    pub(super) fn of(&self, group: u32) -> Option<NumberSum> {
        self.0.get(group as usize).copied().filter(|sum| sum.count > 0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<NumberSum>()
    }
}

impl NumberSum {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}
