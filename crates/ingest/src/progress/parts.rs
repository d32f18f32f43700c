//! The files that contain the lines of a source, from which they can be read again.

use std::sync::{Arc, MutexGuard};

use super::SourceProgress;
use crate::file_parts::{FileEnd, FileParts, FilePlace};
use crate::file_span::FileSpan;
use crate::packed_file::PackedFile;
use crate::plain_file::PlainFile;

impl SourceProgress {
    /// Returns the place of the line at `offset` of the source in its plain file. `None` if the
    /// line comes from elsewhere or was unpacked, or if the file was truncated since.
    pub fn file_place(&self, offset: u64) -> Option<FilePlace> {
        self.lock_parts().find(offset)
    }

    /// Returns where the parsed bytes of the source are on the disk, in their order. `None` if some
    /// of them come from elsewhere or were unpacked, or if their file was truncated since.
    pub fn file_spans(&self) -> Option<Vec<FileSpan>> {
        let parsed = *self.parsed().borrow();
        self.lock_parts().spans(parsed)
    }

    /// Returns the files that the source was read from, and how far each was read when so many bytes
    /// of the source were counted.
    pub(crate) fn file_ends(&self, bytes_read: u64) -> Vec<FileEnd> {
        self.lock_parts().ends(bytes_read)
    }

    /// Returns the file on the disk that it was unpacked from, with other sources if it is an
    /// archive.
    pub fn packed_file(&self) -> Option<&Arc<PackedFile>> {
        self.packed.get()
    }

    pub(crate) fn set_packed_file(&self, file: &Arc<PackedFile>) {
        self.packed.get_or_init(|| file.clone());
    }

    /// Records that the bytes from `start` on are those of a file from `file_start` on.
    pub(crate) fn add_part(&self, start: u64, file: &PlainFile, file_start: u64) {
        self.lock_parts().add(start, file, file_start);
    }

    /// Forgets the parts of a file that was truncated.
    pub(crate) fn forget_parts(&self, file: &PlainFile) {
        self.lock_parts().forget(file);
    }

    /// Lets the lines be compared with what they were when they are read again.
    pub(crate) fn keep_sums(&self) {
        self.lock_parts().keep_sums();
    }

    /// Whether the bytes are summed, in their order.
    pub(crate) fn keeps_sums(&self) -> bool {
        self.lock_parts().keeps_sums()
    }

    /// Adds the bytes at an offset to the sums, if they are of a file.
    pub(crate) fn sum(&self, offset: u64, bytes: &[u8]) {
        self.lock_parts().sum(offset, bytes);
    }

    /// Records that the last file has no bytes of the source from an offset on.
    pub(crate) fn end_part(&self, end: u64) {
        self.lock_parts().end_part(end);
    }

    fn lock_parts(&self) -> MutexGuard<'_, FileParts> {
        self.parts.lock()
    }
}
