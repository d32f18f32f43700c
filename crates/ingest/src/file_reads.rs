//! Blocks that are handed on before they are read.
//!
//! Reading is then not done in turns: a core reads its block beside the others, and parses it while
//! it is still in its cache.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use memchr::memrchr;
use weir_core::Block;
use weir_sync::Lock;

use crate::first_length::FirstLength;

/// A regular file from an offset on, and the blocks of it that are being read.
#[derive(Debug)]
pub(crate) struct FileReads {
    file: File,
    length: FirstLength,
    /// The offset of the first byte of the source in the file.
    start: u64,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of blocks that are not read yet.
    unread: usize,
    /// The first error in the order of the source, and its offset there.
    error: Option<(io::Error, u64)>,
    /// What to do when no block is unread.
    when_read: Option<WhenRead>,
}

/// Is called with the first error, and its offset in the source.
type WhenReadFn = Box<dyn FnOnce(Option<(io::Error, u64)>) + Send>;

struct WhenRead {
    leave_at: u64,
    call: WhenReadFn,
}

impl std::fmt::Debug for WhenRead {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WhenRead")
    }
}

impl FileReads {
    /// The file from its position on. It had this length when it was opened.
    ///
    /// # Errors
    /// If it has no position.
    pub(crate) fn new(mut file: File, length: FirstLength) -> io::Result<Self> {
        let start = file.stream_position()?;
        Ok(Self { file, length, start, state: Lock::default() })
    }

    /// A reader of the bytes from an offset in the source on.
    pub(crate) fn reader(&self, offset: u64) -> impl Read {
        FileReader { reads: self, at: self.start + offset }
    }

    /// Returns the length of the whole lines that begin at an offset in the source and end within
    /// `bytes_max` bytes. `None` if no line ends in the last of these bytes, which are read to
    /// `window`, or the file has fewer.
    pub(crate) fn whole_lines(
        &self,
        offset: u64,
        bytes_max: usize,
        window: &mut [u8],
    ) -> Option<usize> {
        let window_bytes = window.len().min(bytes_max);
        let window = &mut window[..window_bytes];
        let before = bytes_max - window_bytes;
        let read = read_at(&self.file, window, self.start + offset + before as u64).ok()?;
        let last = memrchr(b'\n', window).filter(|_| read == window_bytes)?;
        Some(before + last + 1)
    }

    /// Returns a block to read at an offset in the source.
    pub(crate) fn unread(self: &Arc<Self>, offset: u64) -> UnreadBlock {
        self.state.lock().unread += 1;
        UnreadBlock { reads: self.clone(), offset }
    }

    /// Whether a block could not be read.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.lock().error.is_some()
    }

    /// Leaves the position of the file at an offset in the source and calls a function when no block
    /// is unread: now, or on the thread that reads the last one.
    pub(crate) fn when_read(
        &self,
        leave_at: u64,
        call: impl FnOnce(Option<(io::Error, u64)>) + Send + 'static,
    ) {
        self.state.lock().when_read = Some(WhenRead { leave_at, call: Box::new(call) });
        self.call_if_read();
    }

    fn call_if_read(&self) {
        let mut state = self.state.lock();
        if state.unread > 0 {
            return;
        }
        if let Some(WhenRead { leave_at, call }) = state.when_read.take() {
            let error = state.error.take();
            drop(state);
            self.leave_at(leave_at);
            call(error);
        }
    }

    /// Whether a line begins at an offset in the source, as when the block was cut.
    fn is_line_start(&self, offset: u64) -> bool {
        let mut before = [b'\n'];
        let read = match offset {
            0 => Ok(0),
            _ => read_at(&self.file, &mut before, self.start + offset - 1),
        };
        // NULs before a line may have been skipped.
        read.is_ok() && matches!(before, [b'\n' | 0])
    }

    /// Keeps the first error in the order of the source.
    fn fail(&self, error: io::Error, at: u64) {
        let mut state = self.state.lock();
        if state.error.as_ref().is_none_or(|(_, first)| at < *first) {
            state.error = Some((error, at));
        }
    }

    /// Moves the position of the file, which standard input shares with other programs.
    fn leave_at(&self, offset: u64) {
        // Whoever reads on finds the bytes again if this fails.
        let _ = (&self.file).seek(SeekFrom::Start(self.start + offset));
    }

    /// Reads to the end of a buffer. Returns how many bytes were read before an error.
    fn fill(&self, buffer: &mut [u8], at: u64) -> Result<(), (io::Error, usize)> {
        let mut filled = 0;
        while filled < buffer.len() {
            match read_at(&self.file, &mut buffer[filled..], at + filled as u64) {
                Ok(0) => {
                    let end = self.length.check_end(&self.file, at + filled as u64);
                    return Err((end.err().unwrap_or_else(changed), filled));
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((error, filled)),
            }
        }
        // It ended there when the block was cut.
        if buffer.last().is_some_and(|last| *last != b'\n') {
            return Err((changed(), filled));
        }
        Ok(())
    }
}

fn changed() -> io::Error {
    io::Error::other("the file was written again while it was read")
}

/// A block that is still to be read.
#[derive(Debug)]
pub(crate) struct UnreadBlock {
    reads: Arc<FileReads>,
    /// Its offset in the source.
    offset: u64,
}

impl UnreadBlock {
    /// Reads the bytes of a block.
    ///
    /// # Errors
    /// If that fails. The whole lines before are kept, and the error is their end in the source.
    pub(crate) fn read_into(self, block: &mut Block) -> Result<(), u64> {
        let at = self.reads.start + self.offset;
        let (error, filled) = match self.reads.fill(block.bytes_mut(), at) {
            Ok(()) if self.reads.is_line_start(self.offset) => return Ok(()),
            Ok(()) => (changed(), 0),
            Err(error) => error,
        };
        let lines = memrchr(b'\n', &block.bytes()[..filled]).map_or(0, |last| last + 1);
        block.truncate(lines);
        self.reads.fail(error, self.offset + filled as u64);
        Err(self.offset + lines as u64)
    }
}

impl Drop for UnreadBlock {
    fn drop(&mut self) {
        self.reads.state.lock().unread -= 1;
        self.reads.call_if_read();
    }
}

/// Reads a file in order, without moving its position.
struct FileReader<'a> {
    reads: &'a FileReads,
    /// The offset in the file.
    at: u64,
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let FileReads { file, length, .. } = self.reads;
        let count = read_at(file, buffer, self.at)?;
        if count == 0 && !buffer.is_empty() {
            length.check_end(file, self.at)?;
        }
        self.at += count as u64;
        Ok(count)
    }
}

/// Reads bytes at an offset of a file, as many as one call returns.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

/// Reads bytes at an offset of a file, as many as one call returns.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}
