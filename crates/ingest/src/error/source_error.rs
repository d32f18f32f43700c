//! Why a source failed.

use std::error::Error;
use std::fmt;

use super::stream_error::StreamError;

/// Why a source failed. Lines read before the error are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError {
    /// The file could not be opened. The text is the operating system's.
    Open(String),
    /// Reading failed, or the packed data is damaged or truncated.
    Stream(StreamError),
    /// The packing is not supported. The sentence includes the remedy.
    Refused(String),
    /// The transfer from the sender failed. The sentence is the transfer's.
    Transfer(String),
    /// The data set has reached its memory limit.
    MemoryFull,
    /// A parser thread panicked.
    ParserFailed,
}

impl fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => write!(formatter, "cannot be opened: {error}"),
            Self::Stream(error) => error.fmt(formatter),
            Self::Refused(sentence) | Self::Transfer(sentence) => formatter.write_str(sentence),
            Self::MemoryFull => {
                write!(formatter, "the memory limit is reached; the lines read so far are kept")
            }
            Self::ParserFailed => write!(formatter, "a parser failed"),
        }
    }
}

impl Error for SourceError {}
