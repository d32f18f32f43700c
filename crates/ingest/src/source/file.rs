//! Reads files and streams into a pipeline.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::bufread::MultiGzDecoder;

use super::compression::{Compression, MAGIC_BYTES, ZSTD_WINDOW_LOG_MAX, compression_of};
use super::progress::{SourceEnd, SourceProgress};
use super::writer::{FormatChoice, SourceWriter};
use crate::pipeline::{Pipeline, Stopped};

/// Bytes to read from a compressed file at once.
const COMPRESSED_READ_BYTES: usize = 256 << 10;

/// A stream that brings so few lines that its format cannot be looked for in as many as one
/// would like is shown after this time all the same, read with what fits the lines so far.
const DETECTION_PATIENCE: Duration = Duration::from_millis(500);

/// Why a source could not be read to its end. What was read before stands.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be opened, or is no file.
    Open(io::Error),
    /// It could not be read on, or its compressed data is damaged or cut short.
    Read {
        /// How far it was read, in bytes of the medium.
        at: u64,
        /// What went wrong.
        error: io::Error,
        /// How it is compressed.
        compression: Option<Compression>,
    },
    /// The pipeline took no more.
    Stopped(Stopped),
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => write!(formatter, "cannot be opened: {error}"),
            Self::Read { at, error, compression } => {
                let data = match compression {
                    Some(Compression::Gzip) => "the gzip data is",
                    Some(Compression::Zstd) => "the zstd data is",
                    None => return write!(formatter, "reading failed at byte {at}: {error}"),
                };
                let cut = error.kind() == io::ErrorKind::UnexpectedEof;
                let what = if cut { "cut short".to_owned() } else { format!("damaged ({error})") };
                write!(formatter, "{data} {what} at byte {at}; what was read before it stands")
            }
            Self::Stopped(Stopped::Cancelled) => write!(formatter, "reading was cancelled"),
            Self::Stopped(Stopped::MemoryFull) => write!(
                formatter,
                "the memory limit is reached; what was read before stands (see --memory)"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<Stopped> for ReadError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Reads a file to its end, decompressed where it is compressed.
///
/// # Errors
/// Where it cannot be opened or read; the source's state says so too.
pub fn read_file(pipeline: &Pipeline, path: &Path, format: FormatChoice) -> Result<(), ReadError> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let opened = opened.and_then(|(metadata, file)| {
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        Ok((metadata, file))
    });
    let name = path.to_string_lossy();
    let (metadata, file) = opened.map_err(ReadError::Open)?;
    let bytes_total = metadata.is_file().then_some(metadata.len()).filter(|bytes| *bytes > 0);
    read_stream(pipeline, &name, bytes_total, file, format)
}

/// Reads a stream to its end, decompressed where it is compressed.
///
/// # Errors
/// Where it cannot be read; the source's state says so too.
pub fn read_stream(
    pipeline: &Pipeline,
    name: &str,
    bytes_total: Option<u64>,
    stream: impl Read,
    format: FormatChoice,
) -> Result<(), ReadError> {
    let mut writer = pipeline.source(name, bytes_total, format);
    let result = read_into(&mut writer, stream);
    let end = match &result {
        Ok(()) => SourceEnd::Done,
        Err(ReadError::Stopped(Stopped::Cancelled)) => SourceEnd::Cancelled,
        Err(error) => SourceEnd::Failed(error.to_string()),
    };
    // What was read before an error stands, its last line included.
    let finished = writer.finish(end);
    result.and(finished.map_err(ReadError::Stopped))
}

fn read_into(writer: &mut SourceWriter, mut stream: impl Read) -> Result<(), ReadError> {
    let mut magic = [0; MAGIC_BYTES];
    let length = read_full(&mut stream, &mut magic).map_err(read_error(0, None))?;
    let first = Cursor::new(magic[..length].to_vec());
    let Some(compression) = compression_of(&magic[..length]) else {
        return copy(writer, first.chain(stream), None);
    };
    let counted = Counted { stream: first.chain(stream), progress: writer.progress().clone() };
    let buffered = BufReader::with_capacity(COMPRESSED_READ_BYTES, counted);
    match compression {
        Compression::Gzip => copy(writer, MultiGzDecoder::new(buffered), Some(compression)),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(buffered)
                .and_then(|mut decoder| {
                    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                    Ok(decoder)
                })
                .map_err(read_error(0, Some(compression)))?;
            copy(writer, &mut decoder, Some(compression))
        }
    }
}

/// Reads to the end with reads as large as there is room for.
fn copy(
    writer: &mut SourceWriter,
    mut stream: impl Read,
    compression: Option<Compression>,
) -> Result<(), ReadError> {
    let start = Instant::now();
    loop {
        let space = writer.space();
        let room = space.len();
        match stream.read(space) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                writer.advance(length);
                // A short read is a pipe that has no more for now, or a file's end: let
                // what there is be seen at once, if nobody is busy.
                let is_short = length < room;
                let is_slow = start.elapsed() > DETECTION_PATIENCE;
                let may_show = writer.parsers_are_idle() || (is_slow && !writer.is_known());
                if writer.is_full() || (is_short && may_show) {
                    writer.hand_on()?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let at = match compression {
                    Some(_) => writer.progress().snapshot().bytes_done,
                    None => writer.offset(),
                };
                return Err(read_error(at, compression)(error));
            }
        }
    }
}

fn read_error(at: u64, compression: Option<Compression>) -> impl Fn(io::Error) -> ReadError {
    move |error| ReadError::Read { at, error, compression }
}

/// Reads until the buffer is full or the stream ends.
fn read_full(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match stream.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Counts what is taken from a compressed medium.
struct Counted<R> {
    stream: R,
    progress: Arc<SourceProgress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.progress.take_compressed(length as u64);
        Ok(length)
    }
}
