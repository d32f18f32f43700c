//! Why bytes are not a data set.

use std::error::Error;
use std::{fmt, io};

/// Why a stored data set cannot be read.
#[derive(Debug)]
pub enum StoreError {
    /// It cannot be read or written.
    Io(io::Error),
    /// It does not begin as a data set does.
    NotADataSet,
    /// It has another version, which this program does not read.
    Version(u32),
    /// The bytes at this offset are not what they were when they were written, or never were what
    /// they should be.
    Damaged {
        /// The offset of the record.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The values take more memory than is allowed.
    Memory,
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(formatter),
            Self::NotADataSet => formatter.write_str("is not a data set that weir has saved"),
            Self::Version(version) => write!(
                formatter,
                "is a data set in version {version}, and this weir reads version {}; save it again from \
                 its logs, or use the weir that has written it",
                crate::record::VERSION
            ),
            Self::Damaged { offset, reason } => write!(
                formatter,
                "is damaged at byte {offset}: {reason}; save it again from its logs, or copy it again"
            ),
            Self::Memory => formatter
                .write_str("has more values than the memory limit allows; raise it with --memory"),
        }
    }
}

impl Error for StoreError {}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
