//! Counts the bytes consumed of a stream, for progress and for the offsets of errors.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{StreamDefect, StreamError};
use crate::log_year::LastTime;
use crate::progress::SourceProgress;

/// The number of bytes consumed of a file or stream, shared by all layers that unpack it.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteCounter(Arc<CounterState>);

#[derive(Debug, Default)]
struct CounterState {
    used: AtomicU64,
    /// The bytes that came out of layers inside other layers.
    nested: AtomicU64,
    may_time_out: AtomicBool,
    /// The time that no line of the file is much later than, if known.
    last_time: Option<LastTime>,
    /// The source that the stream is read for, if there is one.
    source: Option<Arc<SourceProgress>>,
}

/// What may come out of packed files in packed files, in bytes, and for each byte that is read: what
/// deflate makes of one at most. One layer alone needs no limit but the memory of its format. Two can
/// make 100 GB of 10 kB.
pub(super) const NESTED_BYTES_MIN: u64 = 4 << 30;
pub(super) const NESTED_RATIO: u64 = 1_032;

/// The error of a stream that exceeds this.
const EXHAUSTED: &str =
    "the packed files in it hold more than 4 GiB and 1,032 times its size; unpack it first";

impl ByteCounter {
    /// Creates the counter of a file with this last time.
    pub(super) fn of_file(last_time: Option<LastTime>) -> Self {
        Self(Arc::new(CounterState { last_time, ..CounterState::default() }))
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

    /// Adds bytes that came out of a layer inside another one.
    ///
    /// # Errors
    /// If they are more than a stream of this size may unpack to.
    pub(super) fn add_nested(&self, length: usize) -> io::Result<()> {
        self.0.nested.fetch_add(length as u64, Ordering::Relaxed);
        if self.is_exhausted() { Err(io::Error::other(EXHAUSTED)) } else { Ok(()) }
    }

    /// Whether layers inside other layers have unpacked more than they may.
    pub(super) fn is_exhausted(&self) -> bool {
        let max = NESTED_BYTES_MIN.saturating_add(NESTED_RATIO.saturating_mul(self.used()));
        self.0.nested.load(Ordering::Relaxed) > max
    }

    /// The time that no line of the file is much later than, if known.
    pub(super) fn last_time(&self) -> Option<LastTime> {
        self.0.last_time
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
    /// Whether it expands what is in another layer, so that its bytes are counted.
    is_nested: bool,
}

impl<R> Layer<R> {
    pub(super) fn new(stream: R, packing: &'static str, counter: &ByteCounter) -> Self {
        Self { stream, packing, counter: counter.clone(), error: None, is_nested: false }
    }

    /// Counts the bytes if the layer is inside another one.
    pub(super) fn nested(self, is_nested: bool) -> Self {
        Self { is_nested, ..self }
    }
}

impl<R: Read> Read for Layer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.error {
            return Err(error.clone().into_io_error());
        }
        self.counter.check()?;
        let read = self.stream.read(buffer).and_then(|length| {
            if self.is_nested {
                self.counter.add_nested(length)?;
            }
            Ok(length)
        });
        read.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            _ => {
                let error = self.counter.error(&error, Some(self.packing));
                self.error = Some(error.clone());
                error.into_io_error()
            }
        })
    }
}
