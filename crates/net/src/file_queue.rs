//! Files that the kernel copies into a socket, without copies through this process.
//!
//! hyper supports only bodies of bytes. So a file body passes hyper a *placeholder* of the same
//! length, memory that is never read, and puts the range of the file into the queue of its
//! connection. When hyper writes the placeholder, [`Transport`](crate::Transport) recognises its
//! address and calls sendfile(2) instead. hyper writes in order, so the front of the queue always
//! belongs to the placeholder that is written next.

use std::collections::VecDeque;
use std::fs::File;
use std::io::IoSlice;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use weir_sync::Lock;

/// The maximum length of a placeholder.
pub(crate) const SPAN_BYTES_MAX: usize = 1 << 20;

/// The placeholder. Zeroed memory takes no physical memory until it is written to.
static PLACEHOLDER: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; SPAN_BYTES_MAX]));

/// A range of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileSpan {
    pub(crate) file: Arc<File>,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The file ranges whose placeholders have not been written yet. Clones share the queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileQueue(Arc<Lock<VecDeque<FileSpan>>>);

/// The beginning of a write.
#[derive(Debug)]
pub(crate) enum WriteStart {
    /// Bytes: the first `slices` slices of the write. `is_before_file` tells whether a placeholder
    /// follows them in the same write.
    Bytes { slices: usize, is_before_file: bool },
    /// The range of the placeholder, or the part of it that the first slice covers.
    File(FileSpan),
}

impl FileQueue {
    /// Adds a range of at most [`SPAN_BYTES_MAX`] bytes, and returns its placeholder.
    pub(crate) fn push(&self, span: FileSpan) -> Bytes {
        let bytes = span.bytes as usize;
        self.0.lock().push_back(span);
        PLACEHOLDER.slice(..bytes)
    }

    /// Returns the beginning of a write: a file, or the bytes before one.
    pub(crate) fn write_start(&self, slices: &[IoSlice<'_>]) -> WriteStart {
        let queue = self.0.lock();
        let Some(front) = queue.front() else {
            return WriteStart::Bytes { slices: slices.len(), is_before_file: false };
        };
        match slices.iter().position(|slice| is_placeholder(slice)) {
            Some(0) => {
                let bytes = front.bytes.min(slices[0].len() as u64);
                WriteStart::File(FileSpan { bytes, ..front.clone() })
            }
            Some(slices) => WriteStart::Bytes { slices, is_before_file: true },
            None => WriteStart::Bytes { slices: slices.len(), is_before_file: false },
        }
    }

    /// Removes the first `sent` bytes from the front of the queue, after they were sent.
    pub(crate) fn advance(&self, sent: usize) {
        let mut queue = self.0.lock();
        let Some(front) = queue.front_mut() else { return };
        front.offset += sent as u64;
        front.bytes = front.bytes.saturating_sub(sent as u64);
        if front.bytes == 0 {
            queue.pop_front();
        }
    }
}

/// Whether a slice is a placeholder, or the rest of one that was written in part. The rest lies in
/// the same memory.
fn is_placeholder(slice: &[u8]) -> bool {
    !slice.is_empty() && PLACEHOLDER.as_ptr_range().contains(&slice.as_ptr())
}
