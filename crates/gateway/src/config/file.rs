//! Files that a configuration names, read whole.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) struct FileError {
    path: PathBuf,
    fault: FileFault,
}

#[derive(Debug)]
enum FileFault {
    Unreadable(io::Error),
    TooLarge { bytes_max: u64, purpose: &'static str },
}

/// Reads a file of at most `bytes_max` bytes. `purpose` says what it is for.
pub(super) fn read_file(
    path: &Path,
    bytes_max: u64,
    purpose: &'static str,
) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
    let fault = match read {
        Err(error) => FileFault::Unreadable(error),
        Ok(_) if bytes.len() as u64 > bytes_max => FileFault::TooLarge { bytes_max, purpose },
        Ok(_) => return Ok(bytes),
    };
    Err(FileError { path: path.to_owned(), fault })
}

/// Like [`read_file`], for a text.
pub(super) fn read_text_file(
    path: &Path,
    bytes_max: u64,
    purpose: &'static str,
) -> Result<String, FileError> {
    String::from_utf8(read_file(path, bytes_max, purpose)?).map_err(|_| {
        let error =
            io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
        FileError { path: path.to_owned(), fault: FileFault::Unreadable(error) }
    })
}

impl fmt::Display for FileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.fault {
            FileFault::Unreadable(error) => write!(formatter, "{path} cannot be read: {error}"),
            FileFault::TooLarge { bytes_max, purpose } => {
                let size = match bytes_max >> 20 {
                    0 => format!("{} KiB", bytes_max >> 10),
                    mebibytes => format!("{mebibytes} MiB"),
                };
                write!(formatter, "{path} is larger than {size}, too large for {purpose}")
            }
        }
    }
}
