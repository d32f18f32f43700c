//! The end of a source.

use crate::error::{ReadError, SourceError, StopReason};

/// How a source ended. Lines that were read are kept in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceEnd {
    /// Read to its end.
    Done,
    /// Failed before its end.
    Failed(SourceError),
    /// Ended by the user.
    Cancelled,
}

impl From<StopReason> for SourceEnd {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Cancelled => Self::Cancelled,
            StopReason::MemoryFull => Self::Failed(SourceError::MemoryFull),
        }
    }
}

impl From<&ReadError> for SourceEnd {
    fn from(error: &ReadError) -> Self {
        match error {
            ReadError::Open(error) => Self::Failed(SourceError::Open(error.to_string())),
            ReadError::Stream(error) => Self::Failed(SourceError::Stream(error.clone())),
            ReadError::Refused(why) => Self::Failed(SourceError::Refused(why.clone())),
            ReadError::Stopped(reason) => (*reason).into(),
        }
    }
}
