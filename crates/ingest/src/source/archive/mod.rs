//! Archives, read in one pass from the start, so that pipes and truncated files work too.

mod tar;
mod zip;

pub(super) use tar::{Tar, is_tar};
pub(super) use zip::{Zip, is_zip};

use std::io::{self, BufRead, Read};

/// The most bytes of a member's name that are kept; file systems allow 4,096.
const NAME_BYTES_MAX: usize = 4096;

/// Returns the name of a member for display, without a leading `./` or `/`.
fn display_name(bytes: &[u8]) -> String {
    let name = String::from_utf8_lossy(&bytes[..bytes.len().min(NAME_BYTES_MAX)]).into_owned();
    name.trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// Reads `length` bytes, which the caller has bounded.
fn read_bytes(stream: &mut dyn BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Skips `length` bytes.
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
