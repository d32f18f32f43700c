//! The lock that allows one sampler at a time: a process has one `SIGPROF` handler and one
//! profiling timer.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::ProfileError;

static IS_LOCKED: AtomicBool = AtomicBool::new(false);

/// The right to take samples, until this is dropped.
#[derive(Debug)]
pub(crate) struct SamplingLock(());

impl SamplingLock {
    /// Takes the lock without waiting.
    ///
    /// # Errors
    /// If another sampler holds it.
    pub(crate) fn take() -> Result<Self, ProfileError> {
        match IS_LOCKED.swap(true, Ordering::Acquire) {
            true => Err(ProfileError::Running),
            false => Ok(Self(())),
        }
    }
}

impl Drop for SamplingLock {
    fn drop(&mut self) {
        IS_LOCKED.store(false, Ordering::Release);
    }
}
