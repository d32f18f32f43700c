//! A body from a range of a file.

use std::fs::File;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::JoinHandle;
use weir_observe::task::{TaskKind, TaskName};

use crate::file_queue::{FileQueue, FileSpan, SPAN_BYTES_MAX};

/// Ranges up to this size are sent together with the head of the response, if the page cache has
/// them.
const SMALL_BYTES_MAX: u64 = 16 << 10;

/// The maximum number of bytes of one read of a file that must pass through memory. The C library
/// takes larger buffers from the system anew and gives them back, which costs a fifth of the time.
const READ_BYTES: usize = 64 << 10;

/// The calls that read a part of a file on a blocking thread.
static READ: TaskKind = TaskKind::short("part of a file");

/// A range of a file that has not been sent yet.
///
/// On a connection without TLS the kernel copies the file into the socket. On others the file is
/// read: at once if the page cache has it, otherwise on a blocking thread.
#[derive(Debug)]
pub(super) struct FileRange {
    file: Arc<File>,
    offset: u64,
    end: u64,
    /// The queue of the connection's files; `None` if the connection supports only bytes.
    queue: Option<FileQueue>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl FileRange {
    pub(super) fn new(file: Arc<File>, range: Range<u64>) -> Self {
        let end = range.end.max(range.start);
        Self { file, offset: range.start, end, queue: None, reading: None }
    }

    /// Returns the number of bytes that are left.
    pub(super) fn remaining(&self) -> u64 {
        self.end - self.offset
    }

    /// Lets the kernel copy the file into the socket of this queue.
    pub(super) fn send_through(&mut self, queue: &FileQueue) {
        self.queue = Some(queue.clone());
    }

    /// Returns the next bytes, or their placeholder. Fails if the file cannot be read, or has
    /// become shorter than the range.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if self.remaining() == 0 {
            return Poll::Ready(None);
        }
        let is_small = self.remaining() <= SMALL_BYTES_MAX && self.reading.is_none();
        if is_small && let Some(bytes) = self.read_from_memory() {
            self.offset += bytes.len() as u64;
            return Poll::Ready(Some(Ok(bytes.into())));
        }
        if let Some(queue) = &self.queue {
            let bytes = self.remaining().min(SPAN_BYTES_MAX as u64);
            let span = FileSpan { file: self.file.clone(), offset: self.offset, bytes };
            self.offset += bytes;
            return Poll::Ready(Some(Ok(queue.push(span))));
        }
        let bytes = ready!(self.poll_read(context))?;
        if bytes.is_empty() {
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter");
            return Poll::Ready(Some(Err(error)));
        }
        self.offset += bytes.len() as u64;
        Poll::Ready(Some(Ok(bytes.into())))
    }

    /// Returns the maximum size of the next read.
    fn bytes_max(&self) -> usize {
        self.remaining().min(READ_BYTES as u64) as usize
    }

    /// Returns the next bytes of the file, if the page cache has them.
    fn read_from_memory(&self) -> Option<Vec<u8>> {
        read_from_memory(&self.file, self.offset, self.bytes_max())
    }

    /// Returns the next bytes of the file, read on a blocking thread if necessary.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        if self.reading.is_none()
            && let Some(bytes) = self.read_from_memory()
        {
            return Poll::Ready(Ok(bytes));
        }
        let (file, offset, bytes_max) = (&self.file, self.offset, self.bytes_max());
        let reading = self.reading.get_or_insert_with(|| {
            let file = file.clone();
            let call = move || read(&file, offset, bytes_max);
            tokio::task::spawn_blocking(READ.observe_call(TaskName::Unnamed, call))
        });
        let result = ready!(Pin::new(reading).poll(context));
        self.reading = None;
        Poll::Ready(result.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

/// Reads up to `bytes_max` bytes, if the page cache has them.
#[cfg(target_os = "linux")]
fn read_from_memory(file: &File, offset: u64, bytes_max: usize) -> Option<Vec<u8>> {
    use rustix::io::{ReadWriteFlags, preadv2};

    let mut bytes = vec![0; bytes_max];
    let mut slices = [io::IoSliceMut::new(&mut bytes)];
    let read = preadv2(file, &mut slices, offset, ReadWriteFlags::NOWAIT).ok()?;
    bytes.truncate(read);
    (read > 0).then_some(bytes)
}

/// Returns `None`: other systems cannot tell whether their page cache has a file.
#[cfg(not(target_os = "linux"))]
fn read_from_memory(_file: &File, _offset: u64, _bytes_max: usize) -> Option<Vec<u8>> {
    None
}

/// Reads up to `bytes_max` bytes, and waits for the disk.
#[cfg(unix)]
fn read(file: &File, offset: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
    use rustix::buffer::spare_capacity;

    let mut bytes = Vec::with_capacity(bytes_max);
    rustix::io::pread(file, spare_capacity(&mut bytes), offset)?;
    Ok(bytes)
}

/// Reads up to `bytes_max` bytes, and waits for the disk.
#[cfg(not(unix))]
fn read(mut file: &File, offset: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};

    let mut bytes = Vec::with_capacity(bytes_max);
    file.seek(SeekFrom::Start(offset))?;
    file.take(bytes_max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
