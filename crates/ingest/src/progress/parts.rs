//! The files that contain the lines of a source, from which they can be read again.

use std::sync::{Arc, MutexGuard};

use super::SourceProgress;
use crate::file_parts::{FileContents, FileEnd, FileHandle, FileParts, FilePlace};
use crate::file_span::FileSpan;
use crate::packed_file::PackedFile;
use crate::place_sums::PlaceSums;
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

    /// Returns the number of changes of the files that the source was read from.
    pub(crate) fn file_changes(&self) -> u64 {
        self.lock_parts().changes()
    }

    /// Records that the bytes from `start` on are those of a file from `file_start` on.
    pub(crate) fn add_part(&self, start: u64, file: (&PlainFile, FileHandle), file_start: u64) {
        self.lock_parts().add(start, file, file_start);
    }

    /// Records a file that was read up to a place: its last part begins at these offsets of the source
    /// and of the file.
    pub(crate) fn add_read_part(&self, starts: (u64, u64), file: &PlainFile, sums: PlaceSums) {
        self.lock_parts().add_read(starts, file, sums);
    }

    /// Records a copy that has the bytes of another file up to a place. They were read before `start`.
    pub(crate) fn add_copy(
        &self,
        start: u64,
        file: &PlainFile,
        sums: PlaceSums,
        original: FileContents,
    ) {
        self.lock_parts().add_copy(start, file, sums, original);
    }

    /// Records how the bytes around the end of the last part of a file are found.
    pub(crate) fn set_file_handle(&self, file: &PlainFile, handle: FileHandle) {
        self.lock_parts().set_handle(file, handle);
    }

    /// Records that a file was truncated after it was read up to a place, which is at `end` of the
    /// source.
    pub(crate) fn truncate_parts(&self, file: &PlainFile, end: u64, sums: PlaceSums) {
        self.lock_parts().truncate(file, end, sums);
    }

    /// Records that a copy of a file was found that was truncated then.
    pub(crate) fn forget_truncated(&self, contents: &FileContents) {
        self.lock_parts().forget_truncated(contents);
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
