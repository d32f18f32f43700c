//! The beginning of an input, unpacked, to look at before it is read.

use std::io::{self, Read};

use weir_ingest::{Head, Input, ReadError};

/// Reads an input from its beginning until `is_enough`, or to the end. What had to be read of
/// standard input stays with it, to be read again.
///
/// # Errors
/// Where the input cannot be opened.
pub(crate) fn head_of(
    input: &mut Input,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<Head, ReadError> {
    let Input::Stdin(start) = input else { return Head::of(input, is_enough) };
    let mut stream = Kept { stream: io::stdin().lock(), kept: std::mem::take(start) };
    let head = Head::of_stream(&mut stream, is_enough);
    *start = stream.kept;
    head
}

/// Keeps what is read.
struct Kept<R> {
    stream: R,
    kept: Vec<u8>,
}

impl<R: Read> Read for Kept<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.kept.extend_from_slice(&buffer[..length]);
        Ok(length)
    }
}
