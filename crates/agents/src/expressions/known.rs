//! What is known about texts whose outlines have been seen before.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use weir_sync::Lock;

/// The most memory of what is known, in bytes. After that, all is forgotten. Agents have a few
/// thousand outlines, with a few hundred bytes each.
const KNOWN_BYTES_MAX: usize = 4 << 20;

/// An expression that may match the texts with an outline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The number of the expression.
    pub(super) number: usize,
    /// The places of the groups in each of the texts; `None` if digits decide whether it matches.
    pub(super) groups: Option<Vec<Range<usize>>>,
}

/// The expressions that may match the texts with an outline, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) candidates: Vec<Candidate>,
    /// Whether there are no others after one that certainly matches.
    pub(super) are_all: bool,
}

/// The candidates by outline.
#[derive(Debug, Default)]
pub(super) struct KnownOutlines(Lock<Known>);

#[derive(Debug, Default)]
struct Known {
    by_outline: HashMap<Box<[u8]>, Arc<Candidates>, RandomState>,
    bytes: usize,
}

impl KnownOutlines {
    /// Returns the candidates of an outline: all of them, or at least those up to one that certainly
    /// matches. They are computed unless they are known.
    pub(super) fn candidates(
        &self,
        outline: &[u8],
        needs_all: bool,
        compute: impl FnOnce() -> Candidates,
    ) -> Arc<Candidates> {
        let known = self.0.lock().by_outline.get(outline).cloned();
        if let Some(known) = known.filter(|known| known.are_all || !needs_all) {
            return known;
        }
        // Without the lock, because it takes long. Two threads may do the same.
        let candidates = Arc::new(compute());
        let bytes = outline.len() + candidates.memory_bytes();
        let mut known = self.0.lock();
        if known.bytes + bytes > KNOWN_BYTES_MAX {
            *known = Known::default();
        }
        known.bytes += bytes;
        if let Some(replaced) = known.by_outline.insert(outline.into(), candidates.clone()) {
            known.bytes -= outline.len() + replaced.memory_bytes();
        }
        candidates
    }
}

impl Candidates {
    fn memory_bytes(&self) -> usize {
        let groups = |candidate: &Candidate| {
            let groups = candidate.groups.as_ref().map_or(0, Vec::capacity);
            size_of::<Candidate>() + groups * size_of::<Range<usize>>()
        };
        let place = size_of::<(Box<[u8]>, Arc<Self>)>() + size_of::<Self>();
        place + self.candidates.iter().map(groups).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Candidates, KNOWN_BYTES_MAX, KnownOutlines};

    fn candidates(number: usize, are_all: bool) -> Candidates {
        let groups = Some(std::iter::once(0..number).collect());
        Candidates { candidates: vec![Candidate { number, groups }], are_all }
    }

    #[test]
    fn candidates_are_computed_once_unless_all_are_needed() {
        let known = KnownOutlines::default();
        let get = |needs_all: bool, number: usize, are_all: bool| {
            known.candidates(b"outline", needs_all, || candidates(number, are_all)).candidates[0]
                .number
        };
        assert_eq!(get(false, 1, false), 1);
        assert_eq!(get(false, 2, false), 1);
        assert_eq!(get(true, 3, true), 3);
        assert_eq!(get(true, 4, true), 3);
        assert_eq!(get(false, 5, false), 3);
    }

    #[test]
    fn the_memory_is_bounded() {
        let known = KnownOutlines::default();
        let mut most = 0;
        for number in 0..40_000usize {
            let outline = format!("{:0256x}", number * number);
            known.candidates(outline.as_bytes(), true, || candidates(number, true));
            let inside = known.0.lock();
            if number % 997 == 0 {
                let all = inside.by_outline.iter();
                let bytes = all.map(|(outline, it)| outline.len() + it.memory_bytes());
                assert_eq!(inside.bytes, bytes.sum::<usize>());
            }
            most = most.max(inside.bytes);
        }
        assert!((KNOWN_BYTES_MAX / 2..=KNOWN_BYTES_MAX).contains(&most), "{most}");
    }
}
