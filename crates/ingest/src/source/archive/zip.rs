//! zip archives (APPNOTE.TXT 6.3.10), read by their local headers.
//!
//! The central directory at the end is not read, so that one pass is enough for pipes, truncated
//! archives and archives in archives.

use std::io::{self, BufRead, Read};

use flate2::Crc;

use super::super::byte_counter::ByteCounter;
use super::super::compression::Compression;
use super::super::decompress;
use super::super::packing::Packing;
use super::{damaged, display_name, read_bytes, skip};

const LOCAL_HEADER: u32 = 0x0403_4B50;
const DESCRIPTOR: u32 = 0x0807_4B50;

/// The signatures of the structures after the last member.
const AFTER_MEMBERS: [u32; 4] = [0x0201_4B50, 0x0605_4B50, 0x0606_4B50, 0x0806_4B50];

/// Whether a stream with these first bytes is a zip archive.
pub(in crate::source) fn is_zip(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(b"PK\x03\x04") || first_bytes.starts_with(b"PK\x05\x06")
}

/// Reads the members of a zip archive one after the other.
pub(in crate::source) struct Zip<'a> {
    stream: &'a mut dyn BufRead,
    counter: &'a ByteCounter,
    /// Whether the archive was packed itself.
    is_nested: bool,
}

/// The local header of a member.
#[derive(Debug)]
pub(in crate::source) struct ZipMember {
    pub(in crate::source) name: String,
    /// Why the content cannot be read, if it cannot.
    pub(in crate::source) refusal: Option<String>,
    method: u16,
    crc: u32,
    /// The compressed length in bytes; `None` if it is only stored after the content.
    packed_bytes: Option<u64>,
    has_long_descriptor: bool,
}

impl<'a> Zip<'a> {
    pub(in crate::source) fn new(
        stream: &'a mut dyn BufRead,
        counter: &'a ByteCounter,
        is_nested: bool,
    ) -> Self {
        Self { stream, counter, is_nested }
    }

    /// Returns the next member, or `None` after the last. Each has to be read with [`Self::read`].
    pub(in crate::source) fn next_member(&mut self) -> io::Result<Option<ZipMember>> {
        let signature = u32_at(&read_bytes(self.stream, 4)?, 0);
        if AFTER_MEMBERS.contains(&signature) {
            // The checksum of an outer compression comes after the end of the archive.
            io::copy(self.stream, &mut io::sink())?;
            return Ok(None);
        }
        if signature != LOCAL_HEADER {
            return Err(damaged("no member begins here"));
        }
        let header = read_bytes(self.stream, 26)?;
        let flags = u16_at(&header, 2);
        let name = read_bytes(self.stream, u16_at(&header, 22).into())?;
        let extra = read_bytes(self.stream, u16_at(&header, 24).into())?;
        let long = long_sizes(&extra);
        let packed_bytes = match (flags & 8 != 0, u32_at(&header, 14)) {
            (true, _) => None,
            (false, u32::MAX) => long.and_then(|sizes| sizes.get(8..16)).map(u64_of),
            (false, length) => Some(length.into()),
        };
        let method = u16_at(&header, 4);
        let refusal = match (flags & 1 != 0, method) {
            (true, _) => Some("is encrypted; decrypt it first".to_owned()),
            (false, 0) if packed_bytes.is_none() => {
                Some("was stored without its length; unpack it first".to_owned())
            }
            (false, 0 | 8 | 12 | 93 | 95) => None,
            (false, method) => Some(format!(
                "is packed by zip's method {method}, which is not known; unpack it first"
            )),
        };
        let has_long_descriptor = long.is_some();
        let (name, crc) = (display_name(&name), u32_at(&header, 10));
        Ok(Some(ZipMember { name, refusal, method, crc, packed_bytes, has_long_descriptor }))
    }

    /// Reads a member: calls `visit` with its content, then moves to the next member.
    pub(in crate::source) fn read<T>(
        &mut self,
        member: &ZipMember,
        visit: impl FnOnce(&mut dyn Read) -> T,
    ) -> io::Result<T> {
        let Some(length) = member.packed_bytes else {
            return self.read_without_length(member, visit);
        };
        let mut packed = (&mut *self.stream).take(length);
        let content = open_member(member.method, &mut packed)?;
        let mut checked = ChecksumReader::new(content, Some(member.crc), self.counter);
        let value = visit(&mut checked);
        drop(checked);
        let left = packed.limit();
        skip(self.stream, left)?;
        Ok(value)
    }

    /// Skips a member.
    pub(in crate::source) fn skip_member(&mut self, member: &ZipMember) -> io::Result<()> {
        match member.packed_bytes {
            Some(length) => skip(self.stream, length),
            None => Err(damaged("the length of a member is not known")),
        }
    }

    /// Reads a member whose length follows its content; the compressed data marks its own end.
    fn read_without_length<T>(
        &mut self,
        member: &ZipMember,
        visit: impl FnOnce(&mut dyn Read) -> T,
    ) -> io::Result<T> {
        if member.method != 8 {
            return Err(damaged("the length of a member is not known"));
        }
        let content = decompress::inflate(&mut *self.stream);
        let mut checked = ChecksumReader::new(content, None, self.counter);
        let value = visit(&mut checked);
        drain(&mut checked, self.counter, self.is_nested)?;
        let crc = checked.crc.sum();
        drop(checked);
        let first = u32_at(&read_bytes(self.stream, 4)?, 0);
        // The signature of a data descriptor is optional.
        let expected = match first {
            DESCRIPTOR => u32_at(&read_bytes(self.stream, 4)?, 0),
            crc => crc,
        };
        skip(self.stream, if member.has_long_descriptor { 16 } else { 8 })?;
        match expected == crc {
            true => Ok(value),
            false => Err(damaged("the checksum of a member does not match")),
        }
    }
}

/// Reads the rest of a member in order to find its end. What it unpacks to is counted like what is
/// visited.
fn drain(content: &mut impl Read, counter: &ByteCounter, is_nested: bool) -> io::Result<()> {
    let mut buffer = [0; 8 << 10];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(()),
            length if is_nested => counter.add_nested(length)?,
            _ => {}
        }
    }
}

fn open_member<'a>(method: u16, packed: &'a mut dyn BufRead) -> io::Result<Box<dyn Read + 'a>> {
    let compression = match method {
        8 => return Ok(Box::new(decompress::inflate(packed))),
        12 => Compression::Bzip2,
        93 => Compression::Zstd,
        95 => Compression::Xz,
        _ => return Ok(Box::new(packed)),
    };
    decompress::open_layer(Packing::Compression(compression), packed)
}

/// Reads content and computes its checksum, which is compared at the end if it is known.
struct ChecksumReader<'a, R> {
    content: R,
    crc: Crc,
    expected: Option<u32>,
    counter: &'a ByteCounter,
}

impl<'a, R> ChecksumReader<'a, R> {
    fn new(content: R, expected: Option<u32>, counter: &'a ByteCounter) -> Self {
        Self { content, crc: Crc::new(), expected, counter }
    }
}

impl<R: Read> Read for ChecksumReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Checked here too: content that a visitor leaves unread is skipped without a layer around
        // this reader.
        self.counter.check()?;
        let length = self.content.read(buffer)?;
        self.crc.update(&buffer[..length]);
        let is_end = length == 0 && !buffer.is_empty();
        // Reported once: the data after this member can still be read.
        match is_end.then(|| self.expected.take()).flatten() {
            Some(expected) if expected != self.crc.sum() => {
                Err(damaged("the checksum does not match"))
            }
            _ => Ok(length),
        }
    }
}

/// The content of the zip64 extra field, for sizes of 4 GiB and more.
fn long_sizes(mut extra: &[u8]) -> Option<&[u8]> {
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let content = extra.get(4..4 + length)?;
        if id == 1 {
            return Some(content);
        }
        extra = &extra[4 + length..];
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
