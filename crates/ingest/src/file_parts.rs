//! The parts of files that a source was read from, and the places of its lines in them.

use std::fs::File;
use std::sync::Weak;

use crate::file_span::FileSpan;
use crate::file_sums::{FileChunk, FileSums};
use crate::place_sums::PlaceSums;
use crate::plain_file::PlainFile;

/// The most parts of files that a source remembers. A file that is rotated every hour has this many
/// in a week.
pub(crate) const PARTS_MAX: usize = 168;

/// The parts of files that a source was read from, in the order of their offsets in it.
#[derive(Debug, Default)]
pub(crate) struct FileParts {
    parts: Vec<FilePart>,
    /// The sums of the bytes; `None` if the lines are never read again.
    sums: Option<FileSums>,
    /// The number of changes, without new ends.
    changes: u64,
}

/// A part of a source that was read from one file without a gap.
#[derive(Debug)]
struct FilePart {
    /// The offset in the source at which the part begins.
    start: u64,
    file: PlainFile,
    /// The offset in the file at which the part begins.
    file_start: u64,
    /// The offset in the source at which the bytes of the file end, if others follow that no part
    /// has: a line feed that the file did not have, or those of a file that was not found again.
    file_end: Option<u64>,
    handle: FileHandle,
}

/// How the bytes around the end of a part are found.
#[derive(Debug, Clone, Default)]
pub(crate) enum FileHandle {
    /// In the file at its path.
    #[default]
    Path,
    /// In the open file, whatever its name is by now; or, if it was truncated since, by what was
    /// known of it.
    Open(Weak<File>, PlaceSums),
    /// They were summed when the file was closed, or by another process.
    Closed(PlaceSums),
    /// They were summed before the file was truncated. The part began at this offset in it.
    Truncated(PlaceSums, u64),
}

impl FilePart {
    /// How far the file was read before it was truncated, if the source was counted up to an offset that
    /// is not after the part.
    fn truncated_end(&self, counted: u64) -> Option<FileEnd> {
        let FileHandle::Truncated(sums, file_start) = self.handle else { return None };
        let position = file_start + counted.checked_sub(self.start)?;
        let is_whole = self.file_end? <= counted;
        let sums = if is_whole { sums } else { sums.at(position.min(sums.position)) };
        Some(FileEnd {
            file: self.file.clone(),
            handle: FileHandle::Closed(sums),
            is_truncated: true,
            source_start: counted,
            file_start: sums.position,
            position: sums.position,
        })
    }
}

/// How far a file was read.
#[derive(Debug)]
pub(crate) struct FileEnd {
    pub(crate) file: PlainFile,
    pub(crate) handle: FileHandle,
    /// Whether that was before it was truncated.
    pub(crate) is_truncated: bool,
    /// The offset in the source at which its last part begins.
    pub(crate) source_start: u64,
    /// The offset in the file at which that part begins.
    pub(crate) file_start: u64,
    /// The offset in the file up to which it was read.
    pub(crate) position: u64,
}

impl FileParts {
    /// Records that the bytes of the source from `start` on are those of the file from `file_start`
    /// on. Drops the oldest part if there are too many.
    pub(crate) fn add(
        &mut self,
        start: u64,
        (file, handle): (&PlainFile, FileHandle),
        file_start: u64,
    ) {
        let continued = self.parts.last_mut().filter(|last| {
            last.file == *file
                && start.checked_sub(last.start) == file_start.checked_sub(last.file_start)
                && file_start >= last.file_start
        });
        if let Some(last) = continued {
            // Another process may have ended there.
            last.file_end = last.file_end.filter(|end| *end != start);
            last.handle = handle;
            return;
        }
        if let Some(sums) = &mut self.sums {
            sums.begin_part(start);
        }
        self.push(FilePart { start, file: file.clone(), file_start, file_end: None, handle });
    }

    /// Adds what was found of a file that was read up to a place, of which the part begins at `start`
    /// in the source, and at `file_start` in the file.
    pub(crate) fn add_read(
        &mut self,
        (start, file_start): (u64, u64),
        file: &PlainFile,
        sums: PlaceSums,
    ) {
        let file_end = Some(start + sums.position.saturating_sub(file_start));
        let handle = FileHandle::Closed(sums);
        self.push(FilePart { start, file: file.clone(), file_start, file_end, handle });
    }

    /// Returns the number of changes. Those of ends are not counted.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    fn push(&mut self, part: FilePart) {
        self.changes += 1;
        if self.parts.len() == PARTS_MAX {
            self.parts.remove(0);
        }
        self.parts.push(part);
    }

    /// Records how the bytes around the end of the last part of a file are found.
    pub(crate) fn set_handle(&mut self, file: &PlainFile, handle: FileHandle) {
        if let Some(part) = self.parts.iter_mut().rev().find(|part| part.file == *file) {
            part.handle = handle;
        }
    }

    /// Returns how far each file was read when so many bytes of the source were counted, also before it
    /// was truncated.
    pub(crate) fn ends(&self, bytes_read: u64) -> Vec<FileEnd> {
        let mut ends: Vec<FileEnd> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            if part.start > bytes_read {
                continue;
            }
            if part.file_start == u64::MAX {
                let next = self.parts.get(number + 1).map_or(u64::MAX, |next| next.start);
                ends.extend(part.truncated_end(next.min(bytes_read)));
                continue;
            }
            let next = self.parts.get(number + 1).map_or(u64::MAX, |next| next.start);
            // The last line of a file may have got a line feed that the file does not have.
            let end = next.min(bytes_read).min(part.file_end.unwrap_or(u64::MAX));
            let position = part.file_start + end.saturating_sub(part.start);
            ends.retain(|known| known.is_truncated || known.file != part.file);
            let (source_start, file_start) = (part.start, part.file_start);
            let (file, handle) = (part.file.clone(), part.handle.clone());
            let is_truncated = false;
            ends.push(FileEnd { file, handle, is_truncated, source_start, file_start, position });
        }
        ends
    }

    /// Returns the number of parts.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Forgets the offsets in a file that was truncated after it was read up to a place, which is at
    /// `end` of the source.
    pub(crate) fn truncate(&mut self, file: &PlainFile, end: u64, sums: PlaceSums) {
        let is_of_file = |part: &&mut FilePart| part.file == *file && part.file_start != u64::MAX;
        let mut parts = self.parts.iter_mut().filter(is_of_file);
        let last = parts.next_back();
        for part in parts {
            (part.file_start, part.handle) = (u64::MAX, FileHandle::Path);
        }
        if let Some(last) = last {
            last.handle = FileHandle::Truncated(sums, last.file_start);
            (last.file_start, last.file_end) = (u64::MAX, Some(end));
        }
        self.changes += 1;
    }

    /// Forgets the place up to which a file was read before it was truncated, because a copy of it was
    /// found.
    pub(crate) fn forget_truncated(&mut self, file: &PlainFile, position: u64) {
        for part in &mut self.parts {
            if part.file == *file
                && part.file_start == u64::MAX
                && matches!(part.handle, FileHandle::Truncated(sums, _) if sums.position == position)
            {
                part.handle = FileHandle::Path;
                self.changes += 1;
            }
        }
    }

    /// Returns where the bytes of the source before `end` are, in their order. `None` if some of them
    /// are in no file.
    pub(crate) fn spans(&self, end: u64) -> Option<Vec<FileSpan>> {
        let mut spans = Vec::new();
        let mut covered = 0;
        for (number, part) in self.parts.iter().enumerate() {
            let part_end = self.parts.get(number + 1).map_or(end, |next| next.start.min(end));
            if part_end <= part.start {
                continue;
            }
            if part.start != covered || part.file_start == u64::MAX {
                return None;
            }
            covered = part_end;
            let file_end = part.file_end.unwrap_or(part_end).min(part_end);
            if part_end - file_end > 1 {
                return None;
            }
            let span = FileSpan::new(part.file.clone(), part.file_start, file_end - part.start);
            let span = span.with_line_feed(file_end < part_end);
            spans.push(span.with_chunks(self.chunks(part, part.start, file_end)));
        }
        (covered == end).then_some(spans)
    }

    /// Returns the file with the byte at `offset` of the source, and the offset of that byte in the
    /// file.
    pub(crate) fn find(&self, offset: u64) -> Option<FilePlace> {
        let after = self.parts.partition_point(|part| part.start <= offset);
        let part = self.parts.get(after.checked_sub(1)?)?;
        if part.file_end.is_some_and(|end| end <= offset) {
            return None;
        }
        let at = part.file_start.checked_add(offset - part.start)?;
        let next = self.parts.get(after).map_or(u64::MAX, |next| next.start);
        let end = next.min(offset.saturating_add(LINE_BYTES_MAX));
        (part.file_start != u64::MAX).then(|| FilePlace {
            file: part.file.clone(),
            offset: at,
            chunks: self.chunks(part, offset.saturating_sub(1).max(part.start), end),
        })
    }

    /// Returns the chunks of a part with the bytes between two offsets of the source. `None` if
    /// nothing is summed.
    fn chunks(&self, part: &FilePart, start: u64, end: u64) -> Option<Vec<FileChunk>> {
        let place = (part.start, part.file_start);
        self.sums.as_ref().map(|sums| sums.chunks((start, end), place))
    }

    /// Sums the bytes from now on.
    pub(crate) fn keep_sums(&mut self) {
        self.sums = Some(FileSums::default());
    }

    /// Whether the bytes are summed.
    pub(crate) fn keeps_sums(&self) -> bool {
        self.sums.is_some()
    }

    /// Adds the bytes of the source at an offset to the sums, if they are of a file.
    pub(crate) fn sum(&mut self, offset: u64, bytes: &[u8]) {
        if let (Some(sums), false) = (&mut self.sums, self.parts.is_empty()) {
            sums.add(offset, bytes);
        }
    }

    /// Records that the last file has no bytes of the source from an offset on: a line feed was added
    /// there.
    pub(crate) fn end_part(&mut self, end: u64) {
        if let Some(part) = self.parts.last_mut() {
            part.file_end = Some(end);
        }
        if let Some(sums) = &mut self.sums {
            sums.end_part(end);
        }
    }
}

/// The longest line that is looked for, with its line end, in bytes.
const LINE_BYTES_MAX: u64 = (1 << 20) + 2;

/// The place of a line in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// The file.
    pub file: PlainFile,
    /// The offset of the line in the file.
    pub offset: u64,
    /// The chunks with the bytes from before the line to its end; `None` if nothing is known about
    /// the bytes.
    pub(crate) chunks: Option<Vec<FileChunk>>,
}

impl FilePlace {
    /// The place of a line of which the bytes are not known.
    pub fn unchecked(file: PlainFile, offset: u64) -> Self {
        Self { file, offset, chunks: None }
    }
}
