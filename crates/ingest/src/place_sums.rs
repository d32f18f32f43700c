//! Checksums of the bytes around a place in a file, by which it is recognised later.

use std::fs::File;

use weir_store::checksum;

use crate::file_reads::read_at;

/// The bytes at the beginning and before the place that are summed.
pub(crate) const SUM_BYTES: u64 = 256;

/// A place in a file, and the bytes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaceSums {
    /// The offset in the file.
    pub(crate) position: u64,
    /// The number of bytes before the position that were summed, and their checksum.
    pub(crate) tail: (u32, u64),
    /// The number of bytes at the beginning of the file that were summed, and their checksum.
    pub(crate) head: (u32, u64),
}

impl PlaceSums {
    /// Reads the bytes around a place. `None` if the file does not reach it.
    pub(crate) fn of(file: &File, position: u64) -> Option<Self> {
        Some(Self {
            position,
            tail: sum(file, position.saturating_sub(SUM_BYTES), position)?,
            head: sum(file, 0, position.min(SUM_BYTES))?,
        })
    }

    /// The place at this offset of a file that is not there any more, of which these bytes are known.
    pub(crate) fn of_bytes(position: u64, tail: &[u8], head: &[u8]) -> Self {
        let [tail, head] = [tail, head].map(|bytes| (bytes.len() as u32, checksum(bytes)));
        Self { position, tail, head }
    }

    /// A place in the same file. Of another one, only the beginning of the file is known.
    pub(crate) fn at(self, position: u64) -> Self {
        let tail = if position == self.position { self.tail } else { (0, checksum(b"")) };
        Self { position, tail, ..self }
    }

    /// Whether a file has the bytes around the place.
    pub(crate) fn are_in(&self, file: &File) -> bool {
        let Some(tail_start) = self.position.checked_sub(self.tail.0.into()) else { return false };
        let is_long = file.metadata().is_ok_and(|metadata| metadata.len() >= self.position);
        is_long
            && sum(file, tail_start, self.position) == Some(self.tail)
            && sum(file, 0, self.head.0.into()) == Some(self.head)
    }
}

/// The length and the checksum of a range of a file, if it has so many bytes.
fn sum(file: &File, start: u64, end: u64) -> Option<(u32, u64)> {
    let mut bytes = [0; SUM_BYTES as usize];
    let bytes = bytes.get_mut(..usize::try_from(end - start).ok()?)?;
    // A short read of a regular file ends it.
    let read = read_at(file, bytes, start).ok()?;
    (read == bytes.len()).then(|| (read as u32, checksum(bytes)))
}
