//! Counts the bytes consumed of a stream, for progress and for the offsets of errors.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use crate::error::{StreamDefect, StreamError};
use crate::progress::SourceProgress;

/// The number of bytes consumed of a file or stream, shared by all layers that unpack it.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteCounter(Arc<CounterState>);

#[derive(Debug, Default)]
struct CounterState {
    used: AtomicU64,
    may_time_out: AtomicBool,
    /// When the file was last written, if known.
    written: Option<SystemTime>,
    /// The source that the stream is read for, if there is one.
    source: Option<Arc<SourceProgress>>,
}

impl ByteCounter {
    /// Creates the counter of a file that was last written at `written`.
    pub(super) fn of_file(written: Option<SystemTime>) -> Self {
        Self(Arc::new(CounterState { written, ..CounterState::default() }))
    }

    /// Creates the counter of a stream that is read for a source. Reading fails once the source has
    /// ended.
    pub(super) fn of_source(source: &Arc<SourceProgress>) -> Self {
        let source = Some(source.clone());
        Self(Arc::new(CounterState { source, ..CounterState::default() }))
    }

    /// Fails once the source has ended. Each layer checks this with each read, because a few bytes
    /// can take hours to unpack.
    pub(super) fn check(&self) -> io::Result<()> {
        match &self.0.source {
            Some(source) if source.end().is_some() => {
                let cancelled = io::Error::other("the source has ended");
                Err(StreamError::of_read(&cancelled, self.used()).into_io_error())
            }
            _ => Ok(()),
        }
    }

    /// When the file was last written, if known.
    pub(super) fn written_at(&self) -> Option<SystemTime> {
        self.0.written
    }

    /// The bytes consumed so far.
    pub(super) fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The source that the stream is read for, if there is one.
    pub(super) fn source(&self) -> Option<&SourceProgress> {
        self.0.source.as_deref()
    }

    /// Allows reads to fail with `WouldBlock` after a while without bytes. Archives do not allow it,
    /// because their readers cannot continue after such an error.
    pub(super) fn allow_timeout(&self) {
        self.0.may_time_out.store(true, Ordering::Relaxed);
    }

    /// Whether reads may fail with `WouldBlock`.
    pub(super) fn may_time_out(&self) -> bool {
        self.0.may_time_out.load(Ordering::Relaxed)
    }

    /// Converts an error of a read through `packing`. If it wraps an error of a lower layer,
    /// returns that.
    pub(super) fn error(&self, error: &io::Error, packing: Option<&'static str>) -> StreamError {
        StreamError::wrapped_in(error).cloned().unwrap_or_else(|| StreamError {
            packing,
            at: self.used(),
            defect: StreamDefect::of(error),
        })
    }
}

/// The size of a read in bytes.
const READ_BYTES: usize = 256 << 10;

/// A stream that counts the bytes that are consumed, not those that are read ahead.
pub(super) struct CountingReader<R> {
    stream: BufReader<R>,
    counter: ByteCounter,
}

impl<R: Read> CountingReader<R> {
    pub(super) fn new(stream: R, counter: ByteCounter) -> Self {
        Self { stream: BufReader::with_capacity(READ_BYTES, stream), counter }
    }

    fn count(&self, length: usize) {
        self.counter.0.used.fetch_add(length as u64, Ordering::Relaxed);
    }

    fn locate(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            _ => self.counter.error(&error, None).into_io_error(),
        }
    }
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Large reads bypass the buffer.
        let length = self.stream.read(buffer).map_err(|error| self.locate(error))?;
        self.count(length);
        Ok(length)
    }
}

impl<R: Read> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.stream.buffer().is_empty()
            && let Err(error) = self.stream.fill_buf()
        {
            return Err(self.locate(error));
        }
        Ok(self.stream.buffer())
    }

    fn consume(&mut self, length: usize) {
        self.stream.consume(length);
        self.count(length);
    }
}

/// One layer of packing. It adds the packing to its errors, and fails again after an error.
pub(super) struct Layer<R> {
    stream: R,
    packing: &'static str,
    counter: ByteCounter,
    error: Option<StreamError>,
}

impl<R> Layer<R> {
    pub(super) fn new(stream: R, packing: &'static str, counter: &ByteCounter) -> Self {
        Self { stream, packing, counter: counter.clone(), error: None }
    }
}

impl<R: Read> Read for Layer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.error {
            return Err(error.clone().into_io_error());
        }
        self.counter.check()?;
        self.stream.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            _ => {
                let error = self.counter.error(&error, Some(self.packing));
                self.error = Some(error.clone());
                error.into_io_error()
            }
        })
    }
}
