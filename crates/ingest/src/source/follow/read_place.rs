//! How far a file was read.

use std::fs::File;

use crate::file_identity::FileIdentity;
use crate::file_reads::read_at;

/// The place up to which a file was read. Reading goes on there if the bytes before the place are
/// still the same; otherwise the file was written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadPlace {
    /// The file.
    pub(super) file: FileIdentity,
    /// Bytes read.
    pub(super) offset: u64,
    /// The last bytes before the offset, up to [`Self::BEFORE_BYTES`].
    before: Vec<u8>,
}

impl ReadPlace {
    /// The number of bytes before the offset that must be unchanged when reading goes on.
    pub(super) const BEFORE_BYTES: usize = 64;

    /// The start of a file.
    pub(super) fn start_of(file: FileIdentity) -> Self {
        Self { file, offset: 0, before: Vec::new() }
    }

    /// After these bytes of the file, the last of those that were read.
    fn after(file: FileIdentity, offset: u64, before: Vec<u8>) -> Self {
        Self { file, offset, before }
    }

    /// At this offset of a file. `None` if the file does not reach it.
    pub(super) fn in_file(identity: FileIdentity, file: &File, offset: u64) -> Option<Self> {
        let known = offset.min(Self::BEFORE_BYTES as u64);
        let mut before = vec![0; known as usize];
        let read = read_at(file, &mut before, offset - known).ok()?;
        (read as u64 == known).then(|| Self::after(identity, offset, before))
    }

    /// The same place in a copy of the file that has this many bytes, or the end of the copy.
    pub(super) fn in_copy(&self, copy: FileIdentity, length: u64) -> Self {
        let offset = self.offset.min(length);
        let before = if offset == self.offset { self.before.clone() } else { Vec::new() };
        Self { file: copy, offset, before }
    }

    /// The bytes that are read again to compare them.
    pub(super) fn before(&self) -> &[u8] {
        &self.before
    }

    /// Moves to the end of `bytes`: those before the place, and `fresh` ones after it.
    pub(super) fn advance(&mut self, bytes: &[u8], fresh: usize) {
        self.offset += fresh as u64;
        let before = &bytes[bytes.len().saturating_sub(Self::BEFORE_BYTES)..];
        self.before.clear();
        self.before.extend_from_slice(before);
    }

    /// Moves to the start of the file.
    pub(super) fn restart(&mut self) {
        self.offset = 0;
        self.before.clear();
    }
}
