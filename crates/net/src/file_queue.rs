//! Files that the kernel copies into a socket, without a way through this process.
//!
//! hyper knows bodies of bytes only. So a file body hands hyper a *place-holder* of the same length,
//! memory that is never looked at, and puts the range of the file into the queue of its connection.
//! When hyper writes the place-holder, [`Transport`](crate::Transport) recognises its address and
//! calls sendfile(2) instead. hyper keeps the order of what it writes, so the front of the queue
//! always belongs to the place-holder that is written next.

use std::collections::VecDeque;
use std::fs::File;
use std::io::IoSlice;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The longest range that a place-holder stands for.
pub(crate) const SPAN_BYTES_MAX: usize = 1 << 20;

/// The place-holder. Zeroed memory takes no room in the process until it is written to.
static PLACE_HOLDER: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; SPAN_BYTES_MAX]));

/// A range of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileSpan {
    pub(crate) file: Arc<File>,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The ranges whose place-holders have not been written yet. Clones share the queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileQueue(Arc<Mutex<VecDeque<FileSpan>>>);

/// What a write begins with.
#[derive(Debug)]
pub(crate) enum WriteStart {
    /// Bytes: all slices of the write, or so many before a file.
    Bytes {
        slices: usize,
        is_before_file: bool,
    },
    File(FileSpan),
}

impl FileQueue {
    /// Adds a range of at most [`SPAN_BYTES_MAX`] bytes, and returns its place-holder.
    pub(crate) fn push(&self, span: FileSpan) -> Bytes {
        let bytes = span.bytes as usize;
        self.lock().push_back(span);
        PLACE_HOLDER.slice(..bytes)
    }

    /// Tells what a write begins with.
    pub(crate) fn start_of(&self, slices: &[IoSlice<'_>]) -> WriteStart {
        let queue = self.lock();
        let Some(front) = queue.front() else {
            return WriteStart::Bytes { slices: slices.len(), is_before_file: false };
        };
        match slices.iter().position(|slice| is_place_holder(slice)) {
            Some(0) => {
                let bytes = front.bytes.min(slices[0].len() as u64);
                WriteStart::File(FileSpan { bytes, ..front.clone() })
            }
            Some(slices) => WriteStart::Bytes { slices, is_before_file: true },
            None => WriteStart::Bytes { slices: slices.len(), is_before_file: false },
        }
    }

    /// Notes that so many bytes of the front were sent.
    pub(crate) fn advance(&self, sent: usize) {
        let mut queue = self.lock();
        let Some(front) = queue.front_mut() else { return };
        front.offset += sent as u64;
        front.bytes = front.bytes.saturating_sub(sent as u64);
        if front.bytes == 0 {
            queue.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<FileSpan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a slice is what is left of a place-holder. A place-holder that is written in part ends
/// within the same memory.
fn is_place_holder(slice: &[u8]) -> bool {
    !slice.is_empty() && PLACE_HOLDER.as_ptr_range().contains(&slice.as_ptr())
}
