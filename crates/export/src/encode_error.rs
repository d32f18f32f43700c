//! The error of an encoder.

use std::fmt;

use parquet::errors::ParquetError;

/// A table could not be encoded. No content of a log causes this.
#[derive(Debug)]
pub struct EncodeError(pub(crate) String);

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the table could not be encoded: {}", self.0)
    }
}

impl std::error::Error for EncodeError {}

impl From<ParquetError> for EncodeError {
    fn from(error: ParquetError) -> Self {
        Self(error.to_string())
    }
}
