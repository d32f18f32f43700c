//! Why a capture cannot start.

use std::fmt;

use super::captures::PENDING_MAX;

/// Why a capture cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureError {
    /// The condition is not valid: a message with a marked excerpt.
    Condition(String),
    /// Subjects of this kind have no conditions.
    NoConditions,
    /// Too many captures are pending.
    TooMany,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition(why) => formatter.write_str(why),
            Self::NoConditions => formatter.write_str("there are no conditions; leave it out"),
            Self::TooMany => write!(
                formatter,
                "{PENDING_MAX} others are waiting already; try again when one has ended"
            ),
        }
    }
}

impl std::error::Error for CaptureError {}
