//! Errors of taking a profile.

use std::fmt;

/// The reason why a profile cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileError {
    /// Another profile is running. There can be one at a time, because a process has one `SIGPROF`
    /// handler.
    Running,
    /// The system does not allow sampling, for this reason.
    Refused(String),
    /// Profiles are not supported on this system.
    Unsupported,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => formatter.write_str(
                "another profile is being taken; wait until it has ended, because there can be one at a time",
            ),
            Self::Refused(reason) => {
                write!(formatter, "samples cannot be taken: {reason}")
            }
            Self::Unsupported => formatter.write_str("profiles are not supported on this system"),
        }
    }
}

impl std::error::Error for ProfileError {}
