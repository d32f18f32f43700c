//! The numbers of combinations of values.
//!
//! A combination of several keys is numbered step by step: the id of the first value and that of
//! the second have a number, that number and the id of the third value have one, and so on. So each
//! step looks up a pair of 32-bit numbers.
//!
//! ```text
//! method path      status       keys of level 0   keys of level 1
//! GET    /         200          (GET, /) = 2      (2, 200) = 2
//! GET    /         304                            (2, 304) = 3
//! POST   /         200          (POST, /) = 3     (3, 200) = 4
//! ```

use hashbrown::HashMap;

use super::FIRST_ID;
use crate::column::REMAINDER;

#[derive(Debug, Clone, Default)]
pub(super) struct KeyTable {
    levels: Vec<Level>,
    /// The largest number of combinations in a level.
    combinations_max: usize,
}

#[derive(Debug, Clone, Default)]
struct Level {
    numbers: HashMap<u64, u32, foldhash::fast::RandomState>,
    /// The pair of each number, from [`FIRST_ID`] on.
    pairs: Vec<(u32, u32)>,
}

impl KeyTable {
    /// An empty table for combinations of that many keys.
    pub(super) fn new(keys: usize, combinations_max: usize) -> Self {
        let levels = vec![Level::default(); keys.saturating_sub(1)];
        Self { levels, combinations_max }
    }

    /// Replaces the number of each row by that of its combination with an id.
    pub(super) fn combine(&mut self, level: usize, numbers: &mut [u32], ids: &[u32]) {
        let Some(level) = self.levels.get_mut(level) else { return };
        // Neighbouring rows often have the same combination.
        let mut last = ((u32::MAX, u32::MAX), REMAINDER);
        for (number, id) in numbers.iter_mut().zip(ids) {
            let pair = (*number, *id);
            if pair != last.0 {
                last = (pair, level.number(pair, self.combinations_max));
            }
            *number = last.1;
        }
    }

    /// The number of combinations, with the two ids below [`FIRST_ID`].
    pub(super) fn ids(&self) -> usize {
        FIRST_ID as usize + self.levels.last().map_or(0, |level| level.pairs.len())
    }

    /// Returns the ids of a combination; `None` for the remainder.
    pub(super) fn path(&self, number: u32) -> Option<Vec<u32>> {
        let mut path = Vec::with_capacity(self.levels.len() + 1);
        let mut number = number;
        for level in self.levels.iter().rev() {
            let (before, id) = *level.pairs.get(number.checked_sub(FIRST_ID)? as usize)?;
            path.push(id);
            number = before;
        }
        path.push(number);
        path.reverse();
        Some(path)
    }

    /// Adds the combinations of another table. Returns their numbers here, by their numbers there;
    /// `None` if there is only one key, whose ids stay as they are.
    pub(super) fn merge(&mut self, other: &Self) -> Option<Vec<u32>> {
        let mut renumbered: Option<Vec<u32>> = None;
        for (own, other) in self.levels.iter_mut().zip(&other.levels) {
            let before = |number: u32| {
                renumbered.as_ref().map_or(number, |numbers| numbers[number as usize])
            };
            let numbers = other.pairs.iter();
            let numbers = numbers
                .map(|(number, id)| own.number((before(*number), *id), self.combinations_max));
            renumbered = Some((0..FIRST_ID).chain(numbers).collect());
        }
        renumbered
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let entry = size_of::<(u64, u32)>() + 1;
        let bytes = |level: &Level| {
            level.numbers.capacity() * entry + level.pairs.capacity() * size_of::<(u32, u32)>()
        };
        self.levels.iter().map(bytes).sum()
    }
}

impl Level {
    fn number(&mut self, pair: (u32, u32), combinations_max: usize) -> u32 {
        let key = u64::from(pair.0) << 32 | u64::from(pair.1);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.pairs.len() >= combinations_max {
            return REMAINDER;
        }
        let number = FIRST_ID + self.pairs.len() as u32;
        self.pairs.push(pair);
        self.numbers.insert(key, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::KeyTable;

    #[test]
    fn combinations_have_numbers_and_a_way_back() {
        let mut table = KeyTable::new(3, 100);
        let mut numbers = vec![7, 7, 8, 7];
        table.combine(0, &mut numbers, &[4, 4, 4, 5]);
        table.combine(1, &mut numbers, &[9, 0, 9, 9]);
        assert_eq!(numbers, [2, 3, 4, 5]);
        let paths: Vec<_> = numbers.iter().map(|number| table.path(*number)).collect();
        let expected = [[7, 4, 9], [7, 4, 0], [8, 4, 9], [7, 5, 9]].map(|path| Some(path.to_vec()));
        assert_eq!(paths, expected);
        assert_eq!(table.path(1), None);

        let mut other = KeyTable::new(3, 100);
        let mut numbers = vec![8, 6];
        other.combine(0, &mut numbers, &[4, 4]);
        other.combine(1, &mut numbers, &[9, 9]);
        assert_eq!(table.merge(&other), Some(vec![0, 1, 4, 6]));
        assert_eq!(table.path(6), Some(vec![6, 4, 9]));
    }

    #[test]
    fn combinations_beyond_the_limit_are_the_remainder() {
        let mut table = KeyTable::new(2, 2);
        let mut numbers = vec![2, 3, 4, 2];
        table.combine(0, &mut numbers, &[2, 2, 2, 2]);
        assert_eq!((numbers, table.ids()), (vec![2, 3, 1, 2], 4));
        let mut other = KeyTable::new(2, 2);
        other.combine(0, &mut [4, 3], &[2, 2]);
        assert_eq!(table.merge(&other), Some(vec![0, 1, 1, 3]));
    }
}
