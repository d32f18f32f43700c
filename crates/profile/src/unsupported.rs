//! The same API for systems without sampling: everything fails with [`ProfileError::Unsupported`].

use std::convert::Infallible;
use std::sync::Arc;

use crate::error::ProfileError;
use crate::profile::{Profile, ProfileKind};
use crate::sample_rate::SampleRate;

/// A running profile; it does not exist on this system.
#[derive(Debug)]
pub struct Sampling(Infallible);

impl Sampling {
    /// Starts sampling.
    ///
    /// # Errors
    /// Always on this system.
    pub fn start(_kind: ProfileKind, _sample_rate: SampleRate) -> Result<Self, ProfileError> {
        Err(ProfileError::Unsupported)
    }

    /// Stops sampling, and resolves function names.
    pub fn finish(self) -> Profile {
        match self.0 {}
    }
}

/// The call stack of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStack {
    /// The thread's number in the operating system.
    pub id: i32,
    /// The thread's name.
    pub name: String,
    /// The thread's state.
    pub state: char,
    /// The functions, outermost first.
    pub functions: Vec<Arc<str>>,
}

/// Returns the stacks of all threads.
///
/// # Errors
/// Always on this system.
pub fn thread_stacks() -> Result<Vec<ThreadStack>, ProfileError> {
    Err(ProfileError::Unsupported)
}
