//! Parts of plain files that are read again as a whole.

use std::io::{Read, Seek, SeekFrom};

use crate::plain_file::{PlainFile, ReadBackError};

/// Bytes of a plain file that a source was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpan {
    file: PlainFile,
    /// The offset of the first byte in the file.
    start: u64,
    length: u64,
}

/// The size of a read in bytes, as of a file that is read for the first time.
const READ_BYTES: usize = 256 << 10;

impl FileSpan {
    pub(crate) fn new(file: PlainFile, start: u64, length: u64) -> Self {
        Self { file, start, length }
    }

    /// Reads the bytes again and passes them on, piece by piece, until `take` returns false.
    ///
    /// # Errors
    /// If the file cannot be read, another one is at its path, or it has become shorter.
    pub fn read(&self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), ReadBackError> {
        let mut file = self.file.reopen()?;
        file.seek(SeekFrom::Start(self.start))?;
        let mut buffer = vec![0; READ_BYTES];
        let mut left = self.length;
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = file.read(&mut buffer[..wanted])?;
            if read == 0 {
                return Err(ReadBackError::Changed);
            }
            left -= read as u64;
            if !take(&buffer[..read]) {
                return Ok(());
            }
        }
        Ok(())
    }
}
