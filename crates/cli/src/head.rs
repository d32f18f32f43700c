//! Reads the decompressed beginning of an input, before the input itself is read.

use std::io::{self, Read};

use weir_ingest::{Head, Input, ReadError};

/// Reads an input from its beginning until `is_enough` returns true, or to its end. Bytes read from
/// standard input are kept in the input, so that they can be read again.
///
/// # Errors
/// If the input cannot be opened.
pub(crate) fn head_of(
    input: &mut Input,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<Head, ReadError> {
    let Input::Stdin(start) = input else { return Head::of(input, is_enough) };
    let mut stream = RecordingReader { stream: io::stdin().lock(), bytes: std::mem::take(start) };
    let head = Head::of_stream(&mut stream, is_enough);
    *start = stream.bytes;
    head
}

/// Keeps a copy of the bytes that are read.
struct RecordingReader<R> {
    stream: R,
    bytes: Vec<u8>,
}

impl<R: Read> Read for RecordingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..length]);
        Ok(length)
    }
}
