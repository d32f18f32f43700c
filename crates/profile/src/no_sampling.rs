//! Systems on which threads cannot be interrupted in our way.

use std::convert::Infallible;
use std::sync::Arc;

use crate::error::ProfileError;
use crate::profile::{Profile, ProfileKind};
use crate::sample_rate::SampleRate;

/// Samples that are being taken: never, on this system.
#[derive(Debug)]
pub struct Sampling(Infallible);

impl Sampling {
    /// Begins to take samples.
    ///
    /// # Errors
    /// Always, on this system.
    pub fn start(_kind: ProfileKind, _sample_rate: SampleRate) -> Result<Self, ProfileError> {
        Err(ProfileError::Unsupported)
    }

    /// Ends it, and looks up the names of functions.
    pub fn finish(self) -> Profile {
        match self.0 {}
    }
}

/// What a thread is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStack {
    /// The number by which the system knows it.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: char,
    /// The functions, from the one that began the thread to the one that runs or waits.
    pub functions: Vec<Arc<str>>,
}

/// The stacks of all threads.
///
/// # Errors
/// Always, on this system.
pub fn thread_stacks() -> Result<Vec<ThreadStack>, ProfileError> {
    Err(ProfileError::Unsupported)
}
