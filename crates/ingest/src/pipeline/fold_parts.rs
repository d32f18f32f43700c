//! The parts of a fold that the threads of a pipeline add segments to.
//!
//! A part of its own for each thread lets all of them work at once. But a fold with lists has a place
//! for every value of the data set, so with many values there are fewer parts than threads: each is
//! taken by one thread after the other, and those that are too many are merged.

use weir_core::Fold;
use weir_sync::{Condition, Lock};

/// The parts of a fold. Each has seen other segments.
#[derive(Debug)]
pub(super) struct FoldParts<F> {
    blank: F,
    state: Lock<State<F>>,
    returned: Condition,
}

#[derive(Debug)]
struct State<F> {
    /// The parts that no thread has taken.
    idle: Vec<F>,
    taken: usize,
    /// Whether a thread has failed with a part, whose segments are lost.
    is_lost: bool,
}

impl<F: Fold + Clone> FoldParts<F> {
    /// No parts yet. Each will begin as a copy of `blank`, which has seen no segment.
    pub(super) fn new(blank: F) -> Self {
        let state = State { idle: Vec::new(), taken: 0, is_lost: false };
        Self { blank, state: Lock::new(state), returned: Condition::new() }
    }

    /// Changes one of at most `parts_max` parts. Waits while other threads have all of them.
    pub(super) fn change(&self, parts_max: usize, change: impl FnOnce(&mut F)) {
        let mut taken = Taken { parts: self, part: Some(self.take(parts_max)) };
        if let Some(part) = &mut taken.part {
            change(part);
        }
        while let Some(other) = self.surplus(parts_max) {
            if let Some(part) = &mut taken.part {
                part.merge(&other);
            }
        }
    }

    fn take(&self, parts_max: usize) -> F {
        let must_wait =
            |state: &mut State<F>| state.idle.is_empty() && state.taken >= parts_max.max(1);
        let mut state = self.returned.wait_while(self.state.lock(), must_wait);
        state.taken += 1;
        let part = state.idle.pop();
        drop(state);
        part.unwrap_or_else(|| self.blank.clone())
    }

    /// An idle part, if there are too many.
    fn surplus(&self, parts_max: usize) -> Option<F> {
        let mut state = self.state.lock();
        if state.idle.len() + state.taken > parts_max.max(1) { state.idle.pop() } else { None }
    }

    /// The fold over all segments. `None` if those of a part are lost.
    pub(super) fn merged(&self) -> Option<F> {
        let mut state = self.state.lock();
        if state.is_lost || state.taken > 0 {
            return None;
        }
        let mut whole = state.idle.pop().unwrap_or_else(|| self.blank.clone());
        while let Some(part) = state.idle.pop() {
            whole.merge(&part);
        }
        Some(whole)
    }
}

/// A part while a thread has it. It comes back however the thread ends.
struct Taken<'p, F> {
    parts: &'p FoldParts<F>,
    part: Option<F>,
}

impl<F> Drop for Taken<'_, F> {
    fn drop(&mut self) {
        let mut state = self.parts.state.lock();
        state.taken -= 1;
        state.idle.extend(self.part.take());
        state.is_lost |= std::thread::panicking();
        drop(state);
        self.parts.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use weir_core::{Fold, Segment};

    use super::FoldParts;

    /// A sum, and the number of sums that exist.
    #[derive(Debug, Clone)]
    struct Sum(u64);

    impl Fold for Sum {
        fn update(&mut self, _: &Segment) {}

        fn merge(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    #[test]
    fn few_parts_have_everything_that_many_threads_add() {
        for parts_max in [0, 1, 2, 7] {
            let parts = FoldParts::new(Sum(0));
            let (at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..7 {
                    scope.spawn(|| {
                        for number in 1..=100 {
                            parts.change(parts_max, |part| {
                                let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                                most.fetch_max(now, Ordering::SeqCst);
                                part.0 += number;
                                at_once.fetch_sub(1, Ordering::SeqCst);
                            });
                        }
                    });
                }
            });
            assert!(most.into_inner() <= parts_max.max(1));
            assert_eq!(parts.merged().map(|sum| sum.0), Some(7 * 5050));
        }
    }

    #[test]
    fn parts_are_merged_when_fewer_are_allowed() {
        let parts = FoldParts::new(Sum(0));
        let change = |parts_max: usize| parts.change(parts_max, |part| part.0 += 1);
        parts.change(3, |first| {
            first.0 += 1;
            parts.change(3, |second| {
                second.0 += 1;
                change(3);
            });
        });
        assert_eq!(parts.state.lock().idle.len(), 3);
        change(2);
        assert_eq!(parts.state.lock().idle.len(), 2);
        change(1);
        assert_eq!(parts.state.lock().idle.len(), 1);
        assert_eq!(parts.merged().map(|sum| sum.0), Some(5));
    }

    #[test]
    fn a_part_of_a_thread_that_failed_is_missed() {
        let parts = FoldParts::new(Sum(0));
        let failed = std::thread::scope(|scope| {
            scope.spawn(|| parts.change(1, |_| panic!("it fails"))).join().is_err()
        });
        assert!(failed);
        // The others do not wait for it.
        parts.change(1, |part| part.0 += 1);
        assert!(parts.merged().is_none());
    }
}
