//! Where and how a packed source broke.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use super::progress::SourceProgress;

/// Why the data of a source cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// What the data is, such as `gzip`; `None` where the medium itself failed.
    pub packing: Option<&'static str>,
    /// How far it was read, in bytes of the medium.
    pub at: u64,
    /// True where it ends too early.
    pub is_cut: bool,
    /// What is wrong, where it is not cut.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, at, is_cut, why } = self;
        let Some(packing) = packing else {
            return write!(formatter, "reading failed at byte {at}: {why}");
        };
        write!(formatter, "the {packing} data is ")?;
        match is_cut {
            true => write!(formatter, "cut short")?,
            false => write!(formatter, "damaged ({why})")?,
        }
        write!(formatter, " at byte {at}; what was read before it stands")
    }
}

impl Error for Broken {}

impl Broken {
    /// An error that is carried through the layers above, which keep it as it is.
    pub(super) fn into_error(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }

    /// What an error of the medium itself is, `at` so many bytes of it.
    pub(super) fn of_medium(error: &io::Error, at: u64) -> Self {
        Self { packing: None, at, is_cut: false, why: error.to_string() }
    }

    /// What an error is that came through `packing`: what a layer below has said, or this
    /// layer's own.
    pub(super) fn of(error: &io::Error, packing: Option<&'static str>, medium: &Medium) -> Self {
        if let Some(broken) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return broken.clone();
        }
        Self {
            packing,
            at: medium.taken(),
            is_cut: error.kind() == io::ErrorKind::UnexpectedEof,
            why: error.to_string(),
        }
    }
}

/// How far a medium was read.
#[derive(Debug, Clone, Default)]
pub(super) struct Medium(Arc<MediumState>);

#[derive(Debug, Default)]
struct MediumState {
    taken: AtomicU64,
    ticks: AtomicBool,
    /// When it was last written to, where that is known.
    written: Option<SystemTime>,
    /// What it is read for.
    source: Option<Arc<SourceProgress>>,
}

impl Medium {
    /// A medium that was last written to then.
    pub(super) fn written(written: Option<SystemTime>) -> Self {
        Self(Arc::new(MediumState { written, ..MediumState::default() }))
    }

    /// A medium that is read for a source: it breaks when that has ended.
    pub(super) fn of_source(source: &Arc<SourceProgress>) -> Self {
        let source = Some(source.clone());
        Self(Arc::new(MediumState { source, ..MediumState::default() }))
    }

    /// Fails once nobody wants any more what comes of it. Each layer asks this with each read, for
    /// a few bytes of the medium can be unpacked for hours.
    pub(super) fn check(&self) -> io::Result<()> {
        match &self.0.source {
            Some(source) if source.end().is_some() => {
                let given_up = io::Error::other("it was given up");
                Err(Broken::of_medium(&given_up, self.taken()).into_error())
            }
            _ => Ok(()),
        }
    }

    /// When it was last written to.
    pub(super) fn written_at(&self) -> Option<SystemTime> {
        self.0.written
    }

    /// Bytes that were used.
    pub(super) fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Lets a medium that brings nothing for now say so, by `WouldBlock`. Those who take
    /// archives apart could not go on behind that.
    pub(super) fn let_tick(&self) {
        self.0.ticks.store(true, Ordering::Relaxed);
    }

    /// Whether it may.
    pub(super) fn may_tick(&self) -> bool {
        self.0.ticks.load(Ordering::Relaxed)
    }
}

/// Bytes to read at once from a medium whose bytes are looked at here.
const READ_BYTES: usize = 256 << 10;

/// The medium: counts the bytes that are used, not those that are read ahead.
pub(super) struct Counted<R> {
    stream: BufReader<R>,
    medium: Medium,
}

impl<R: Read> Counted<R> {
    pub(super) fn new(stream: R, medium: Medium) -> Self {
        Self { stream: BufReader::with_capacity(READ_BYTES, stream), medium }
    }

    fn count(&self, length: usize) {
        self.medium.0.taken.fetch_add(length as u64, Ordering::Relaxed);
    }

    fn say(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            _ => Broken::of(&error, None, &self.medium).into_error(),
        }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Large reads pass the buffer by.
        let length = self.stream.read(buffer).map_err(|error| self.say(error))?;
        self.count(length);
        Ok(length)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.stream.buffer().is_empty()
            && let Err(error) = self.stream.fill_buf()
        {
            return Err(self.say(error));
        }
        Ok(self.stream.buffer())
    }

    fn consume(&mut self, length: usize) {
        self.stream.consume(length);
        self.count(length);
    }
}

/// Says of the errors of one layer which it was. What is broken stays so.
pub(super) struct Layer<R> {
    stream: R,
    packing: &'static str,
    medium: Medium,
    broken: Option<Broken>,
}

impl<R> Layer<R> {
    pub(super) fn new(stream: R, packing: &'static str, medium: &Medium) -> Self {
        Self { stream, packing, medium: medium.clone(), broken: None }
    }
}

impl<R: Read> Read for Layer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone().into_error());
        }
        self.medium.check()?;
        self.stream.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
            _ => {
                let broken = Broken::of(&error, Some(self.packing), &self.medium);
                self.broken = Some(broken.clone());
                broken.into_error()
            }
        })
    }
}
