//! Who still goes by what the dictionaries once were.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The present generation of a data set's ids. Readers remember ids; before ids are given up,
/// a new generation begins, in which readers remember nothing, and those blocks are waited for
/// that were read in the one before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Generations(Arc<Mutex<Arc<Generation>>>);

#[derive(Debug, Default)]
pub(crate) struct Generation {
    number: u64,
    in_flight: AtomicUsize,
}

/// A block that is read with the ids of a generation and has not arrived in the data set.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Generation>);

impl Generations {
    /// Begins a block of the present generation.
    pub(crate) fn enter(&self) -> InFlight {
        InFlight::new(&self.lock())
    }

    pub(crate) fn number(&self) -> u64 {
        self.lock().number
    }

    pub(crate) fn present(&self) -> Arc<Generation> {
        self.lock().clone()
    }

    /// Begins a new generation; gives the one before.
    pub(crate) fn advance(&self) -> Arc<Generation> {
        let mut present = self.lock();
        let number = present.number + 1;
        std::mem::replace(&mut present, Arc::new(Generation { number, ..Default::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Generation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generation {
    pub(crate) fn is_over(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) == 0
    }
}

impl InFlight {
    /// Begins a block of this generation, which has others on their way.
    pub(crate) fn new(generation: &Arc<Generation>) -> Self {
        generation.in_flight.fetch_add(1, Ordering::SeqCst);
        Self(generation.clone())
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    pub(crate) fn generation(&self) -> Arc<Generation> {
        self.0.clone()
    }

    pub(crate) fn is_of(&self, generation: &Arc<Generation>) -> bool {
        Arc::ptr_eq(&self.0, generation)
    }
}

impl Clone for InFlight {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}
