//! Why there is no profile.

use std::fmt;

/// Why there is no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileError {
    /// There can be one at a time, because the handler of interrupts is the process's own.
    Running,
    /// The system refused the timer or the signal, for this reason.
    Refused(String),
    /// There are no profiles on this system.
    Unsupported,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => formatter.write_str(
                "another profile is being taken; there can be one at a time, so wait until that has ended",
            ),
            Self::Refused(reason) => {
                write!(formatter, "the system takes no samples: {reason}")
            }
            Self::Unsupported => formatter.write_str("there are no profiles on this system"),
        }
    }
}

impl std::error::Error for ProfileError {}
