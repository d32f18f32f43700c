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
    /// What was known of the file when it was truncated, if it was.
    truncated: Option<Truncation>,
    /// What the file is a copy of. It has the same bytes before the part.
    original: Option<FileContents>,
}

/// The end of what was read of a file that was truncated then.
#[derive(Debug, Clone, Copy)]
struct Truncation {
    sums: PlaceSums,
    /// Whether a copy of the file is known, so that none has to be looked for.
    is_copied: bool,
}

/// What a file has, or had before it was truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileContents {
    pub(crate) file: PlainFile,
    /// The end of what was read of it before it was truncated; `None` if it has the bytes.
    pub(crate) truncated: Option<PlaceSums>,
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
}

impl FilePart {
    fn is_of(&self, contents: &FileContents) -> bool {
        self.file == contents.file && self.truncated.map(|it| it.sums) == contents.truncated
    }

    fn contents(&self) -> FileContents {
        let truncated = self.truncated.map(|truncation| truncation.sums);
        FileContents { file: self.file.clone(), truncated }
    }

    /// Returns how far the file was read when the source was counted up to an offset, which is not
    /// before the part; `next` is where the next part begins.
    fn end(&self, counted: u64, next: u64) -> FileEnd {
        // The last line of a file may have got a line feed that the file does not have.
        let end = next.min(counted).min(self.file_end.unwrap_or(u64::MAX));
        let position = self.file_start + end.saturating_sub(self.start);
        let Some(Truncation { sums, .. }) = self.truncated else {
            return FileEnd {
                file: self.file.clone(),
                handle: self.handle.clone(),
                is_truncated: false,
                source_start: self.start,
                file_start: self.file_start,
                position,
            };
        };
        let sums = sums.at(position.min(sums.position));
        FileEnd {
            file: self.file.clone(),
            handle: FileHandle::Closed(sums),
            is_truncated: true,
            source_start: end,
            file_start: sums.position,
            position: sums.position,
        }
    }

    /// Returns how far a copy has the bytes that were counted, if that is less than what was read of
    /// its original. The part begins after that.
    fn end_as_copy(&self, original: &FileEnd) -> FileEnd {
        let position = original.position.min(self.file_start);
        FileEnd {
            file: self.file.clone(),
            handle: self.handle.clone(),
            is_truncated: false,
            source_start: original.source_start + position.saturating_sub(original.file_start),
            file_start: position,
            position,
        }
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
                && last.truncated.is_none()
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
        self.push(FilePart {
            start,
            file: file.clone(),
            file_start,
            file_end: None,
            handle,
            truncated: None,
            original: None,
        });
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
        self.push(FilePart {
            start,
            file: file.clone(),
            file_start,
            file_end,
            handle: FileHandle::Closed(sums),
            truncated: None,
            original: None,
        });
    }

    /// Adds a copy that has the bytes of another file up to a place. They were read before `start` of
    /// the source, but perhaps not counted yet.
    pub(crate) fn add_copy(
        &mut self,
        start: u64,
        file: &PlainFile,
        sums: PlaceSums,
        original: FileContents,
    ) {
        // It may have been shorter so far.
        self.parts.retain(|part| {
            part.file != *file || part.original.is_none() || part.file_end != Some(part.start)
        });
        self.push(FilePart {
            start,
            file: file.clone(),
            file_start: sums.position,
            file_end: Some(start),
            handle: FileHandle::Closed(sums),
            truncated: None,
            original: Some(original),
        });
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
        let is_of_file = |part: &&mut FilePart| part.file == *file && part.truncated.is_none();
        if let Some(part) = self.parts.iter_mut().rev().find(is_of_file) {
            part.handle = handle;
        }
    }

    /// Returns how far each file was read when so many bytes of the source were counted, also before it
    /// was truncated.
    pub(crate) fn ends(&self, bytes_read: u64) -> Vec<FileEnd> {
        let mut ends: Vec<(FileContents, FileEnd)> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let end = if part.start > bytes_read {
                let is_original = |(known, _): &&_| part.original.as_ref() == Some(known);
                ends.iter().find(is_original).map(|(_, original)| part.end_as_copy(original))
            } else {
                let next = self.parts.get(number + 1).map_or(u64::MAX, |next| next.start);
                Some(part.end(bytes_read, next))
            };
            let Some(end) = end else { continue };
            ends.retain(|(known, _)| !part.is_of(known));
            ends.push((part.contents(), end));
        }
        let is_copied = |contents: &FileContents| {
            let mut parts = self.parts.iter().filter(|part| part.is_of(contents));
            parts.any(|part| part.truncated.is_some_and(|truncation| truncation.is_copied))
        };
        ends.retain(|(contents, _)| !is_copied(contents));
        ends.into_iter().map(|(_, end)| end).collect()
    }

    /// Returns the number of parts.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Notes that a file was truncated after it was read up to a place, which is at `end` of the source.
    pub(crate) fn truncate(&mut self, file: &PlainFile, end: u64, sums: PlaceSums) {
        let of_file = FileContents { file: file.clone(), truncated: None };
        let mut is_last = true;
        for part in self.parts.iter_mut().rev() {
            if part.original.as_ref() == Some(&of_file) {
                part.original = Some(FileContents { truncated: Some(sums), ..of_file.clone() });
            }
            if part.is_of(&of_file) {
                part.truncated = Some(Truncation { sums, is_copied: false });
                if std::mem::take(&mut is_last) {
                    part.file_end = Some(end);
                }
            }
        }
        self.changes += 1;
    }

    /// Notes that a copy of a file was found that was truncated then.
    pub(crate) fn forget_truncated(&mut self, contents: &FileContents) {
        for part in self.parts.iter_mut().filter(|part| part.is_of(contents)) {
            if let Some(truncation) = &mut part.truncated {
                self.changes += u64::from(!truncation.is_copied);
                truncation.is_copied = true;
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
            if part.start != covered || part.truncated.is_some() {
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
        let at = part.file_start + (offset - part.start);
        let next = self.parts.get(after).map_or(u64::MAX, |next| next.start);
        let end = next.min(offset.saturating_add(LINE_BYTES_MAX));
        part.truncated.is_none().then(|| FilePlace {
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
