//! The first bytes of a stream, which show how it is packed.

use std::io::{self, BufRead, Read};

use super::archive::{is_tar, is_zip};
use super::compression::{MAGIC_BYTES, is_compress};
use super::json_records::Arrangement;
use super::packing::Packing;
use weir_tables::is_table;

/// The number of bytes that identify how a source is packed: the length of a tar header.
pub(super) const HEAD_BYTES: usize = 512;

/// Whether the first bytes of a file are those of a compressed file, UTF-16, an archive, a table, lines
/// of a container runtime, or JSON whose records are not one on each line. More bytes may change the
/// answer until [`is_identified`].
pub fn is_packed(head: &[u8]) -> bool {
    Packing::of(head).is_some()
        || is_tar(head)
        || is_zip(head)
        || is_compress(head)
        || is_table(head)
}

/// Whether these first bytes of a file are enough to tell whether it is packed. A whole line is
/// enough, because no header of an archive contains a line feed, unless it ends in the midst of an
/// object of JSON.
pub fn is_identified(head: &[u8]) -> bool {
    let is_enough = !Arrangement::is_open(head) && (head.contains(&b'\n') || is_packed(head));
    head.len() >= HEAD_BYTES || (head.len() >= MAGIC_BYTES && is_enough)
}

/// Reads as many of the first bytes of a stream as are needed to identify its packing. Does not
/// wait for more bytes of a pipe that has delivered a line.
pub(super) fn read_head(stream: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let piece = match stream.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        let length = piece.len().min(HEAD_BYTES - head.len());
        head.extend_from_slice(&piece[..length]);
        stream.consume(length);
        if length == 0 || is_identified(&head) {
            return Ok(head);
        }
    }
}

/// Whether a file with these first bytes may be a log: it has hardly any control characters. NULs
/// before a line are allowed, because rotation by truncation leaves them.
pub(super) fn is_text(head: &[u8]) -> bool {
    let mut is_line_start = true;
    let is_odd = |byte: &&u8| match **byte {
        0 => !is_line_start,
        b'\n' => {
            is_line_start = true;
            false
        }
        byte => {
            is_line_start = false;
            byte < b' ' && !matches!(byte, b'\t' | b'\r' | 0x1B | 0x0C)
        }
    };
    head.iter().filter(is_odd).count() * 20 <= head.len()
}

/// A stream whose first bytes were already read and are returned again.
pub(super) struct StreamWithHead<'a> {
    head: Vec<u8>,
    returned: usize,
    stream: &'a mut dyn BufRead,
}

impl<'a> StreamWithHead<'a> {
    pub(super) fn new(head: Vec<u8>, stream: &'a mut dyn BufRead) -> Self {
        Self { head, returned: 0, stream }
    }
}

impl Read for StreamWithHead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.returned == self.head.len() {
            return self.stream.read(buffer);
        }
        let length = (&self.head[self.returned..]).read(buffer)?;
        self.returned += length;
        Ok(length)
    }
}

impl BufRead for StreamWithHead<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.returned < self.head.len() {
            true => Ok(&self.head[self.returned..]),
            false => self.stream.fill_buf(),
        }
    }

    fn consume(&mut self, length: usize) {
        match self.returned < self.head.len() {
            true => self.returned += length,
            false => self.stream.consume(length),
        }
    }
}
