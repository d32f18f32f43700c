//! Why a stream could not be read to its end.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a stream could not be read to its end, and at which offset. Lines before it are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamError {
    /// The compression or archive format, such as `gzip`. `None` if reading itself failed.
    pub packing: Option<&'static str>,
    /// The offset in the file or stream that was being unpacked, in bytes.
    pub at: u64,
    /// The problem.
    pub defect: StreamDefect,
}

/// A problem with a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamDefect {
    /// It ends too early.
    Truncated,
    /// It is damaged, or cannot be read. The text is the reason.
    Damaged(String),
    /// It is sound, but unpacking it needs more memory than is allowed. The text is the amount,
    /// such as `more than 256 MiB of memory`.
    NeedsMemory(String),
}

impl StreamDefect {
    /// Returns the defect that an I/O error of a read or a decoder means.
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            io::ErrorKind::OutOfMemory => Self::NeedsMemory(error.to_string()),
            _ => Self::Damaged(error.to_string()),
        }
    }

    /// Returns a clause with the name of the packing, such as `the gzip data is cut short`.
    pub fn clause(&self, packing: &str) -> String {
        match self {
            Self::Truncated => format!("the {packing} data is cut short"),
            Self::Damaged(reason) => format!("the {packing} data is damaged ({reason})"),
            Self::NeedsMemory(amount) => format!("the {packing} data needs {amount} to unpack"),
        }
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, at, defect } = self;
        match (packing, defect) {
            (Some(packing), StreamDefect::NeedsMemory(_)) => {
                write!(formatter, "{}; unpack it first", defect.clause(packing))
            }
            (Some(packing), _) => {
                let clause = defect.clause(packing);
                write!(formatter, "{clause} at byte {at}; the lines before it are kept")
            }
            (None, StreamDefect::Truncated) => {
                write!(formatter, "reading ended early at byte {at}")
            }
            (None, StreamDefect::Damaged(reason) | StreamDefect::NeedsMemory(reason)) => {
                write!(formatter, "reading failed at byte {at}: {reason}")
            }
        }
    }
}

impl Error for StreamError {}

impl StreamError {
    /// Creates the error of a failed read at offset `at`.
    pub(crate) fn of_read(error: &io::Error, at: u64) -> Self {
        Self { packing: None, at, defect: StreamDefect::Damaged(error.to_string()) }
    }

    /// Wraps this error in an I/O error, so that it passes through the readers above.
    pub fn into_io_error(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }

    /// Returns the stream error that an I/O error wraps, if it wraps one.
    pub(crate) fn wrapped_in(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}
