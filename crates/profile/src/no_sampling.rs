//! Systems without `setitimer`.

use std::convert::Infallible;

use crate::error::ProfileError;
use crate::profile::Profile;
use crate::sample_rate::SampleRate;

/// Samples that are being taken: never, on this system.
#[derive(Debug)]
pub struct Sampling(Infallible);

impl Sampling {
    /// Begins to take samples.
    ///
    /// # Errors
    /// Always, on this system.
    pub fn start(_sample_rate: SampleRate) -> Result<Self, ProfileError> {
        Err(ProfileError::Unsupported)
    }

    /// Ends it, and looks up the names of functions.
    ///
    /// # Errors
    /// Never: there is none.
    pub fn finish(self) -> Result<Profile, ProfileError> {
        match self.0 {}
    }
}
