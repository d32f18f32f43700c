//! Parts of plain files that are read again as a whole.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::file_sums::FileChunk;
use crate::plain_file::{PlainFile, ReadBackError};

/// Bytes of a plain file that a source was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpan {
    file: PlainFile,
    /// The offset of the first byte in the file.
    start: u64,
    length: u64,
    /// The chunks of these bytes; `None` if nothing is known about them.
    chunks: Option<Vec<FileChunk>>,
    /// Whether the source has a line feed after these bytes, which the file had not.
    adds_line_feed: bool,
}

/// The size of a read in bytes, as of a file that is read for the first time.
const READ_BYTES: usize = 256 << 10;

impl FileSpan {
    pub(crate) fn new(file: PlainFile, start: u64, length: u64) -> Self {
        Self { file, start, length, chunks: None, adds_line_feed: false }
    }

    /// The path at which the file is now, which differs if it was rotated.
    ///
    /// # Errors
    /// If it cannot be opened, or another one is at its path.
    pub fn current_path(&self) -> Result<PathBuf, ReadBackError> {
        self.file.current_path()
    }

    /// Adds a line feed after the bytes of the file, or none.
    pub(crate) fn with_line_feed(self, adds_line_feed: bool) -> Self {
        Self { adds_line_feed, ..self }
    }

    /// Sets the chunks with which the bytes are compared.
    pub(crate) fn with_chunks(self, chunks: Option<Vec<FileChunk>>) -> Self {
        Self { chunks, ..self }
    }

    /// Reads the bytes again and passes them on, piece by piece, until `take` returns false.
    ///
    /// # Errors
    /// If the file cannot be read, another one is at its path, or it has become shorter.
    pub fn read(&self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), ReadBackError> {
        if self.read_file(&mut take)? && self.adds_line_feed {
            take(b"\n");
        }
        Ok(())
    }

    /// Reads the bytes of the file. Returns false if `take` has.
    fn read_file(&self, take: &mut impl FnMut(&[u8]) -> bool) -> Result<bool, ReadBackError> {
        let mut file = self.file.reopen()?;
        file.seek(SeekFrom::Start(self.start))?;
        if let Some(chunks) = &self.chunks {
            return self.read_chunks(chunks, file, take);
        }
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
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the bytes chunk by chunk, and passes on those that are what they were. Returns false if
    /// `take` has.
    fn read_chunks(
        &self,
        chunks: &[FileChunk],
        mut file: File,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, ReadBackError> {
        let (mut left, mut at, mut buffer) = (self.length, self.start, Vec::new());
        for chunk in chunks.iter().take_while(|chunk| chunk.start < self.start + self.length) {
            buffer.resize(chunk.length, 0);
            let read = file.read_exact(&mut buffer);
            if chunk.start != at || read.is_err() || !chunk.is_sum_of(&buffer) {
                return Err(ReadBackError::Changed);
            }
            at += chunk.length as u64;
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= wanted as u64;
            if !take(&buffer[..wanted]) {
                return Ok(false);
            }
        }
        if left > 0 { Err(ReadBackError::Changed) } else { Ok(true) }
    }
}
