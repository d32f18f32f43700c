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
    /// Whether the data ends too early.
    pub is_truncated: bool,
    /// What is wrong with data that is not truncated.
    pub reason: String,
}

impl fmt::Display for StreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, at, is_truncated, reason } = self;
        let Some(packing) = packing else {
            return write!(formatter, "reading failed at byte {at}: {reason}");
        };
        write!(formatter, "the {packing} data is ")?;
        if *is_truncated {
            write!(formatter, "cut short")?;
        } else {
            write!(formatter, "damaged ({reason})")?;
        }
        write!(formatter, " at byte {at}; the lines before it are kept")
    }
}

impl Error for StreamError {}

impl StreamError {
    /// The failure of a read at offset `at`.
    pub(crate) fn of_read(error: &io::Error, at: u64) -> Self {
        Self { packing: None, at, is_truncated: false, reason: error.to_string() }
    }

    /// An I/O error that carries this error through the layers above.
    pub(crate) fn into_io_error(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }

    /// The stream error that an I/O error carries.
    pub(crate) fn carried_by(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}
