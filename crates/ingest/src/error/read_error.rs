//! Why an input could not be read.

use std::error::Error;
use std::fmt;
use std::io;

use super::source_error::SourceError;
use super::stop_reason::StopReason;
use super::stream_error::StreamError;

/// Why a source could not be read to its end. Lines read before the error are kept.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be opened, or is a directory.
    Open(io::Error),
    /// Reading failed, or the packed data is damaged or truncated.
    Stream(StreamError),
    /// The packing is not supported. The sentence includes the remedy.
    Refused(String),
    /// The pipeline accepts no more data.
    Stopped(StopReason),
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => write!(formatter, "cannot be opened: {error}"),
            Self::Stream(error) => error.fmt(formatter),
            Self::Refused(sentence) => formatter.write_str(sentence),
            Self::Stopped(StopReason::Cancelled) => write!(formatter, "reading was cancelled"),
            Self::Stopped(StopReason::MemoryFull) => SourceError::MemoryFull.fmt(formatter),
        }
    }
}

impl Error for ReadError {}

impl From<StopReason> for ReadError {
    fn from(reason: StopReason) -> Self {
        Self::Stopped(reason)
    }
}
