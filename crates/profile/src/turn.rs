//! Whose turn it is: the handler of interrupts, and the timer, are the process's own.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::ProfileError;

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The one that takes samples at the moment.
#[derive(Debug)]
pub(crate) struct Turn(());

impl Turn {
    /// Takes the turn until it is dropped.
    ///
    /// # Errors
    /// If somebody else has it.
    pub(crate) fn take() -> Result<Self, ProfileError> {
        match IS_TAKEN.swap(true, Ordering::Acquire) {
            true => Err(ProfileError::Running),
            false => Ok(Self(())),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        IS_TAKEN.store(false, Ordering::Release);
    }
}
