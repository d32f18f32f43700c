//! tar archives: POSIX ustar and pax (IEEE Std 1003.1, pax), with GNU's long names.
//!
//! Parsed here rather than by the crate `tar`, which reads a name of any length that a header
//! claims, and so could allocate gigabytes.

use std::io::{self, BufRead, Read};

use super::{damaged, display_name, read_bytes, skip};

const BLOCK_BYTES: usize = 512;

/// A longer name or set of pax records is assumed to be malicious.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;

/// Whether a stream with these first bytes is a tar archive: the header's checksum matches.
pub(in crate::source) fn is_tar(first_bytes: &[u8]) -> bool {
    let Some(header) = first_bytes.first_chunk::<BLOCK_BYTES>() else { return false };
    header[0] != 0 && has_valid_checksum(header)
}

/// Reads the members of a tar archive one after the other.
pub(in crate::source) struct Tar<'a> {
    stream: &'a mut dyn BufRead,
    /// Bytes of the current member that were not read yet.
    left: u64,
    /// Padding bytes after the current member, up to the next header.
    padding: u64,
}

impl<'a> Tar<'a> {
    pub(in crate::source) fn new(stream: &'a mut dyn BufRead) -> Self {
        Self { stream, left: 0, padding: 0 }
    }

    /// Returns the name of the next file, or `None` at the end. Its content is read from `self`.
    pub(in crate::source) fn next_file(&mut self) -> io::Result<Option<String>> {
        let mut extended = ExtendedHeader::default();
        loop {
            skip(self.stream, self.left)?;
            skip(self.stream, self.padding)?;
            (self.left, self.padding) = (0, 0);
            let Some(header) = self.header()? else { return Ok(None) };
            let size = parse_number(&header[124..136])?;
            let kind = header[156];
            if matches!(kind, b'L' | b'x') {
                let content = self.extension(size)?;
                match kind {
                    b'L' => extended.name = Some(until_nul(&content).to_vec()),
                    _ => extended.read(&content),
                }
                continue;
            }
            // Links and the like have no content, even if their header has a size.
            let size = match kind {
                b'1'..=b'6' => 0,
                _ => extended.size.unwrap_or(size),
            };
            self.left = size;
            self.padding = padding(size);
            if matches!(kind, 0 | b'0' | b'7') {
                let name = extended.name.take().unwrap_or_else(|| name(&header));
                // In the pre-POSIX format, a name that ends in a slash is a directory.
                if !name.ends_with(b"/") {
                    return Ok(Some(display_name(&name)));
                }
            }
            // Extended headers apply to the next header only. Those of type `g` apply to all and
            // are ignored.
            if kind != b'g' {
                extended = ExtendedHeader::default();
            }
        }
    }

    /// Returns the next header, or `None` at the end: a block of zeros, or the end of the stream.
    /// Bytes after the zeros are read and ignored, so that damage of an outer compression is found.
    fn header(&mut self) -> io::Result<Option<[u8; BLOCK_BYTES]>> {
        if self.stream.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut header = [0; BLOCK_BYTES];
        self.stream.read_exact(&mut header)?;
        if header.iter().all(|byte| *byte == 0) {
            // The checksum of an outer compression comes after the end of the archive.
            io::copy(self.stream, &mut io::sink())?;
            return Ok(None);
        }
        match has_valid_checksum(&header) {
            true => Ok(Some(header)),
            false => Err(damaged("a header's checksum does not match")),
        }
    }

    fn extension(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > EXTENSION_BYTES_MAX {
            return Err(damaged("a name is longer than a mebibyte"));
        }
        let content = read_bytes(self.stream, size as usize)?;
        skip(self.stream, padding(size))?;
        Ok(content)
    }
}

impl Read for Tar<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 {
            return Ok(0);
        }
        match self.stream.read(&mut buffer[..room])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                self.left -= length as u64;
                Ok(length)
            }
        }
    }
}

/// Values from extended headers, which override those of the next header.
#[derive(Debug, Default)]
struct ExtendedHeader {
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl ExtendedHeader {
    /// Parses pax records, `length key=value\n`, up to the first malformed one.
    fn read(&mut self, mut records: &[u8]) {
        while let Some(space) = records.iter().position(|byte| *byte == b' ') {
            let length = decimal(&records[..space]).unwrap_or(0) as usize;
            let Some(rest) = records.get(length..) else { return };
            let Some(record) = records.get(space + 1..length.saturating_sub(1)) else { return };
            if let Some(name) = record.strip_prefix(b"path=") {
                self.name = Some(name.to_vec());
            } else if let Some(size) = record.strip_prefix(b"size=") {
                self.size = decimal(size);
            }
            records = rest;
        }
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn name(header: &[u8; BLOCK_BYTES]) -> Vec<u8> {
    let name = until_nul(&header[..100]);
    let prefix = until_nul(&header[345..500]);
    // GNU's own headers store times in the bytes of POSIX's prefix.
    match &header[257..263] == b"ustar\0" && !prefix.is_empty() {
        true => [prefix, b"/", name].concat(),
        false => name.to_vec(),
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Parses a number in octal digits, or in GNU's binary form, which the first bit marks.
fn parse_number(field: &[u8]) -> io::Result<u64> {
    if field.len() > 8 && field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        if high[0] != 0x80 || high[1..].iter().any(|byte| *byte != 0) {
            return Err(damaged("a size is not valid"));
        }
        return Ok(low.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    }
    let text = until_nul(field).trim_ascii();
    let is_octal = text.iter().all(|byte| matches!(byte, b'0'..=b'7'));
    match is_octal {
        true => Ok(text.iter().fold(0, |number, byte| number << 3 | u64::from(byte - b'0'))),
        false => Err(damaged("a size is not valid")),
    }
}

/// Whether the checksum matches: the sum of all bytes, with those of the checksum field counted as
/// spaces.
fn has_valid_checksum(header: &[u8; BLOCK_BYTES]) -> bool {
    let own: u64 = header[148..156].iter().map(|byte| u64::from(*byte)).sum();
    let sum = header.iter().map(|byte| u64::from(*byte)).sum::<u64>() - own + 8 * u64::from(b' ');
    parse_number(&header[148..156]).is_ok_and(|expected| expected == sum)
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK_BYTES as u64
}
