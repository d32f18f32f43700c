//! Generations of ids: which blocks still use ids that a sweep is about to free.
//!
//! An id may be freed only if nothing refers to it. Segments of the data set are known, but blocks
//! that are being parsed hold ids too, on other threads. Counting those is cheap: one counter for
//! even and one for odd generations.
//!
//! ```text
//! generation 0          generation 1            generation 2
//! blocks of 0 arrive    blocks of 0 are counted until the last has arrived
//!              advance ^                        ^ advance again: only now
//! ```
//!
//! `advance` is refused until the generation before the present one has no block in flight, so two
//! counters are enough for any number of generations.
//!
//! A reader that enters counts its block first and then checks that the generation is still the
//! present one. If it is not, it tries again: so no block is counted in a generation that has been
//! declared over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The generations of a data set's ids, shared by its [`Values`](super::Values) and its readers.
///
/// Readers remember ids. A sweep begins a new generation, in which readers remember nothing, and
/// then waits for the blocks that were read in the generation before.
///
/// No lock is needed, because at most two generations have blocks in flight: a generation begins
/// only after all blocks of the last but one have arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Generations(Arc<Counters>);

/// Sequentially consistent throughout: entering and advancing each write one variable and read the
/// other.
#[derive(Debug, Default)]
struct Counters {
    /// The number of the current generation. It only grows.
    present: AtomicU64,
    /// The number of blocks in flight in even and in odd generations.
    in_flight: [AtomicUsize; 2],
}

impl Counters {
    /// The counter of a generation, which it shares with every second one.
    fn in_flight(&self, generation: u64) -> &AtomicUsize {
        &self.in_flight[usize::from(!generation.is_multiple_of(2))]
    }
}

/// Counts a block as in flight until this guard is dropped. Such a block was read with the ids of a
/// generation and has not arrived in the data set.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    counters: Arc<Counters>,
    generation: u64,
}

impl Generations {
    /// Returns the number of the current generation.
    pub(crate) fn present(&self) -> u64 {
        self.0.present.load(Ordering::SeqCst)
    }

    /// Counts a block of the current generation as in flight.
    pub(crate) fn enter(&self) -> InFlightGuard {
        loop {
            let guard = InFlightGuard::new(&self.0, self.present());
            // The block counts only if the generation did not end before the increment.
            if guard.generation == self.present() {
                return guard;
            }
        }
    }

    /// Begins a new generation and returns the number of the previous one. Returns `None` and does
    /// nothing while blocks of the generation before the current one are in flight.
    pub(super) fn advance(&self) -> Option<u64> {
        let present = self.present();
        let is_free = self.0.in_flight(present + 1).load(Ordering::SeqCst) == 0;
        is_free.then(|| {
            self.0.present.store(present + 1, Ordering::SeqCst);
            present
        })
    }

    /// Returns whether a generation is not the current one and has no blocks in flight.
    pub(super) fn is_over(&self, generation: u64) -> bool {
        self.0.in_flight(generation).load(Ordering::SeqCst) == 0
    }
}

impl InFlightGuard {
    fn new(counters: &Arc<Counters>, generation: u64) -> Self {
        counters.in_flight(generation).fetch_add(1, Ordering::SeqCst);
        Self { counters: counters.clone(), generation }
    }

    /// Returns the number of the block's generation.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }
}

impl Clone for InFlightGuard {
    /// Counts another block of the same generation. The generation cannot end while this guard
    /// exists.
    fn clone(&self) -> Self {
        Self::new(&self.counters, self.generation)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.counters.in_flight(self.generation).fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::Generations;

    #[test]
    fn a_generation_is_over_when_its_blocks_have_arrived() {
        let generations = Generations::default();
        let first = generations.enter();
        let second = first.clone();
        assert_eq!(generations.advance(), Some(0));
        assert_eq!(generations.advance(), None, "blocks of generation 0 are in flight");
        let next = generations.enter();
        assert_eq!((first.generation(), next.generation()), (0, 1));
        drop(first);
        assert!(!generations.is_over(0));
        drop(second);
        assert!(generations.is_over(0) && !generations.is_over(1));
        assert_eq!((generations.advance(), generations.present()), (Some(1), 2));
    }
}
