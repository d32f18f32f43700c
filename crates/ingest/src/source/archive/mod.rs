//! Archives, read in one pass from their beginning, so that pipes and cut files work too.

mod tar;
mod zip;

pub(super) use tar::{Tar, is_tar};
pub(super) use zip::{Zip, is_zip};

use std::io::{self, BufRead, Read};

/// Bytes from which an archive is told: a header of tar.
pub const ARCHIVE_HEAD_BYTES: usize = 512;

/// True where a stream that begins so, with [`ARCHIVE_HEAD_BYTES`] where it has as many, is an
/// archive of files.
pub fn is_archive(first_bytes: &[u8]) -> bool {
    is_zip(first_bytes) || is_tar(first_bytes)
}

/// Bytes of a member's name that are kept; file systems allow 4,096.
const NAME_BYTES_MAX: usize = 4096;

/// The name of a member as it is shown: `archive.zip/member`.
fn shown_name(bytes: &[u8]) -> String {
    let name = String::from_utf8_lossy(&bytes[..bytes.len().min(NAME_BYTES_MAX)]).into_owned();
    name.trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// Reads `length` bytes, which the caller has bounded.
fn bytes(stream: &mut dyn BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Skips so many bytes.
fn skip(stream: &mut dyn BufRead, length: u64) -> io::Result<()> {
    let skipped = io::copy(&mut stream.take(length), &mut io::sink())?;
    match skipped == length {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
