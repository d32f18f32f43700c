//! A budget for retries.

use std::sync::atomic::{AtomicU32, Ordering};

/// A retry costs what this many requests earn.
const COST: u32 = 5;

/// The most that can be saved: a hundred retries.
const SAVED_MAX: u32 = 100 * COST;

/// Allows one retry for every five requests, and saves up to a hundred retries.
#[derive(Debug)]
pub(super) struct RetryBudget(AtomicU32);

impl Default for RetryBudget {
    fn default() -> Self {
        Self(AtomicU32::new(SAVED_MAX))
    }
}

impl RetryBudget {
    /// Adds the earnings of one request.
    pub(super) fn earn(&self) {
        if self.0.load(Ordering::Relaxed) < SAVED_MAX {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a retry. Returns false if the budget is exhausted.
    pub(super) fn spend(&self) -> bool {
        let less = |saved: u32| saved.checked_sub(COST);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::RetryBudget;

    #[test]
    fn retries_are_earned() {
        let budget = RetryBudget::default();
        assert_eq!((0..200).filter(|_| budget.spend()).count(), 100);
        (0..11).for_each(|_| budget.earn());
        assert_eq!((0..10).filter(|_| budget.spend()).count(), 2);
    }
}
