//! The subjects of a bucket's events.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::summary::Place;

/// The most lines that a ban lists: the last lines of its subject.
pub(super) const LINES_MAX: usize = 100;

/// A subject of the events of a bucket, such as an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    /// The interned number of its text.
    pub(super) number: u32,
    /// The sources and the numbers of its last lines.
    pub(super) lines: VecDeque<(u32, u64)>,
}

/// Groups events by subject, in the order of their first events, with the lines of each subject.
pub(super) fn subjects_of(events: impl Iterator<Item = (u32, Place)>) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = Vec::new();
    let mut positions: HashMap<u32, usize, FixedState> = HashMap::default();
    for (number, place) in events {
        let position = *positions.entry(number).or_insert(subjects.len());
        if position == subjects.len() {
            subjects.push(Subject { number, lines: VecDeque::new() });
        }
        let lines = &mut subjects[position].lines;
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back((place.source, place.line));
    }
    subjects
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LINES_MAX, Place, subjects_of};

    proptest! {
        #[test]
        fn each_subject_has_its_last_lines(
            numbers in proptest::collection::vec(0_u32..4, 0..6 * LINES_MAX),
        ) {
            let place = |line| Place { time_ns: 0, source: 1, line };
            let events = numbers.iter().copied().zip((1..).map(place));
            let found = subjects_of(events.clone());
            let mut order: Vec<u32> = Vec::new();
            for number in &numbers {
                if !order.contains(number) {
                    order.push(*number);
                }
            }
            prop_assert_eq!(found.iter().map(|one| one.number).collect::<Vec<_>>(), order);
            for subject in found {
                let own = events.clone().filter(|(number, _)| *number == subject.number);
                let all: Vec<(u32, u64)> = own.map(|(_, place)| (1, place.line)).collect();
                let last = all.len().saturating_sub(LINES_MAX);
                prop_assert_eq!(Vec::from(subject.lines), &all[last..]);
            }
        }
    }
}
