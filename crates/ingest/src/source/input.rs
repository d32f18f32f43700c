//! Inputs that a person names: a file, or standard input.

use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek};
use std::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::byte_counter::ByteCounter;
use super::stream_head::{HEAD_BYTES, is_packed};
use super::timeout_reader::TimeoutReader;
use super::unpack::{Text, unpack};
use super::whole_file::WholeFile;
use crate::error::{Fault, ReadError};
use crate::file_reads::FileReads;
use crate::first_length::FirstLength;
use crate::log_year::LastTime;
use crate::packed_file::PackedFile;
use crate::plain_file::PlainFile;

/// An input to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file, which may be a FIFO or a device.
    File(InputFile),
    /// Standard input, of which these bytes have already been read.
    Stdin(Vec<u8>),
}

/// The path of a file, and what the other logs of its rotated set say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    path: PathBuf,
    /// The first or the last time of the log that goes on after it, if that tells its years.
    next_log: Option<SystemTime>,
}

impl From<PathBuf> for InputFile {
    fn from(path: PathBuf) -> Self {
        Self { path, next_log: None }
    }
}

impl Deref for InputFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for InputFile {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// An open input that is not packed.
pub(super) struct PlainInput {
    pub(super) bytes: PlainBytes,
    /// The file, if it can be opened again.
    pub(super) file: Option<PlainFile>,
}

/// The bytes of an open input.
pub(super) enum PlainBytes {
    /// They come in their order.
    Stream(Box<dyn Read + Send>),
    /// They can be read at any offset.
    File(FileReads),
}

/// The name of standard input.
const STDIN_NAME: &str = "standard input";

impl Input {
    /// The name to show.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin(_) => STDIN_NAME.to_owned(),
        }
    }

    /// The size of a regular file in bytes. Files of /proc have none.
    pub fn bytes_total(&self) -> Option<u64> {
        let Self::File(path) = self else { return None };
        let metadata = std::fs::metadata(path).ok()?;
        (metadata.is_file() && metadata.len() > 0).then_some(metadata.len())
    }

    /// The time that no line of a regular file is much later than.
    pub(super) fn last_time(&self) -> Option<LastTime> {
        match self {
            Self::File(InputFile { next_log: Some(at), .. }) => {
                Some(LastTime { at: *at, is_of_next_log: true })
            }
            _ => self.written().map(LastTime::from),
        }
    }

    /// When a regular file was last written.
    fn written(&self) -> Option<SystemTime> {
        let metadata = self.metadata().ok()?;
        metadata.is_file().then(|| metadata.modified().ok()).flatten()
    }

    /// Notes a time of the log that goes on after this one, which no line of this one is much later than.
    pub(super) fn set_next_log(&mut self, at: SystemTime) {
        if let Self::File(file) = self {
            file.next_log = Some(at);
        }
    }

    /// The last bytes of a file that is not packed; `None` for every other input.
    pub(super) fn plain_tail(&self, bytes: u64) -> Option<Vec<u8>> {
        let PlainBytes::File(reads) = self.open_plain().ok()??.bytes else { return None };
        let offset = self.bytes_total()?.saturating_sub(bytes);
        let mut tail = Vec::new();
        reads.reader(offset).take(bytes).read_to_end(&mut tail).ok()?;
        Some(tail)
    }

    /// Whether this input is the file with this metadata, under any name. Always false for pipes
    /// and devices, and on platforms where files have no identity.
    pub fn is_same(&self, other: &Metadata) -> bool {
        self.metadata().is_ok_and(|own| own.is_file() && is_same_file(&own, other))
    }

    fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::File(path) => std::fs::metadata(path),
            Self::Stdin(_) => stdin()?.metadata(),
        }
    }

    /// Whether this is a regular file, which can be read twice. FIFOs and devices are not.
    pub fn is_file(&self) -> bool {
        match self {
            Self::File(path) => std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()),
            Self::Stdin(_) => false,
        }
    }

    /// Whether bytes arrive over time, as from a pipe, a FIFO or a terminal.
    pub fn is_live(&self) -> bool {
        match self {
            Self::File(path) => std::fs::metadata(path).is_ok_and(|metadata| is_live(&metadata)),
            Self::Stdin(_) => is_stdin_live(),
        }
    }

    /// Calls `visit` with each text in the input, in order, until it breaks; see [`Text`]. Returns
    /// the errors of the parts that could not be read. If the input cannot be opened, that is the
    /// only error.
    pub fn read(&self, visit: &mut dyn FnMut(&mut Text<'_>) -> ControlFlow<()>) -> Vec<Fault> {
        let counter = ByteCounter::of_file(self.last_time());
        let name = self.name();
        match self.open(&counter) {
            Ok(stream) => unpack(&name, stream, &counter, visit).faults,
            Err(error) => vec![Fault::new(&name, ReadError::Open(error))],
        }
    }

    /// Opens a regular file that is not packed. Returns `None` for any other input.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub(super) fn open_plain(&self) -> io::Result<Option<PlainInput>> {
        let (mut file, path) = match self {
            Self::File(path) if self.is_file() => (File::open(path)?, Some(path)),
            Self::Stdin(start) if start.is_empty() && !is_stdin_live() => (stdin()?, None),
            _ => return Ok(None),
        };
        let first_length = FirstLength::of(&file)?;
        let plain_file = path.and_then(|path| PlainFile::new(path, &file));
        let mut head = Vec::with_capacity(HEAD_BYTES);
        let length = (&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let is_packed = is_packed(&head);
        let bytes = if is_packed || first_length.bytes() > 0 {
            // The position of standard input is shared, so these bytes have to be readable again.
            file.seek_relative(-(length as i64))?;
            PlainBytes::File(FileReads::new(file, first_length)?)
        } else {
            // Files of /proc state no length, and some of them can be read in order only.
            let rest = WholeFile::new(file, first_length)?;
            PlainBytes::Stream(Box::new(Cursor::new(head).chain(rest)))
        };
        Ok((!is_packed).then_some(PlainInput { bytes, file: plain_file }))
    }

    /// Returns the file that is read, if it can be read twice.
    pub(super) fn packed_file(&self) -> Option<PackedFile> {
        match self {
            Self::File(path) if self.is_file() => PackedFile::at(path, &self.name()),
            _ => None,
        }
    }

    fn open(&self, counter: &ByteCounter) -> io::Result<Box<dyn Read>> {
        match self {
            Self::File(path) => {
                let metadata = std::fs::metadata(path)?;
                if metadata.is_dir() {
                    return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
                }
                let file = File::open(path)?;
                let first_length = FirstLength::of(&file)?;
                match is_live(&metadata) {
                    true => Ok(Box::new(TimeoutReader::new(file, counter))),
                    false => Ok(Box::new(WholeFile::new(file, first_length)?)),
                }
            }
            Self::Stdin(start) => {
                let start = Cursor::new(start.clone());
                let file = stdin()?;
                let first_length = FirstLength::of(&file)?;
                match is_live(&file.metadata()?) {
                    true => Ok(Box::new(start.chain(TimeoutReader::new(file, counter)))),
                    false => Ok(Box::new(start.chain(WholeFile::new(file, first_length)?))),
                }
            }
        }
    }
}

#[cfg(unix)]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

fn is_live(metadata: &Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir()
}

/// Whether standard input is live. If it is closed it is not, because it ends at once.
fn is_stdin_live() -> bool {
    stdin().and_then(|file| file.metadata()).is_ok_and(|metadata| is_live(&metadata))
}

/// Opens standard input without the buffer of the standard library.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}
