//! The frame of a stored data set: a header, and records with lengths and checksums.
//!
//! ```text
//! header   "WEIRDATA"  version u32  0 u32
//! record   kind u64    length u64   checksum u64   payload
//! ```
//!
//! The checksum is XXH3 with 64 bits (xxhash.com), of the payload, with the kind and the length as
//! its seed: a record with another length is another record. It finds damage. It does not stop
//! anyone from writing a file of their own, so the payload is checked as well.

use std::io::{self, Read, Write};

use twox_hash::XxHash3_64;

use crate::error::StoreError;

/// The version of the encoding. It grows when older programs would read a data set wrongly.
pub(crate) const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"WEIRDATA";

/// The size of the header, in bytes.
pub(crate) const HEADER_BYTES: u64 = 16;

/// The size of what stands before a payload, in bytes.
pub(crate) const FRAME_BYTES: u64 = 24;

/// The largest payload. A record of a writer is a few megabytes, or one segment.
const PAYLOAD_BYTES_MAX: u64 = 1 << 30;

/// What a record does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// Its sections belong to the next commit.
    Part = 1,
    /// With its sections, the data set is complete.
    Commit = 2,
}

/// Returns the checksum of some bytes, as records have it.
pub fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Returns whether a file that begins with these bytes is a stored data set, perhaps of another
/// version.
pub fn is_stored(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Writes the header.
pub(crate) fn write_header(output: &mut impl Write) -> io::Result<()> {
    output.write_all(MAGIC)?;
    output.write_all(&VERSION.to_le_bytes())?;
    output.write_all(&[0; 4])
}

/// Reads the header.
pub(crate) fn read_header(input: &mut impl Read) -> Result<(), StoreError> {
    let mut header = Vec::new();
    input.take(HEADER_BYTES).read_to_end(&mut header)?;
    let (Some(magic), Some(version)) = (header.first_chunk(), header.get(8..12)) else {
        return Err(StoreError::NotADataSet);
    };
    if magic != MAGIC || header.len() < HEADER_BYTES as usize {
        return Err(StoreError::NotADataSet);
    }
    match version.try_into().map(u32::from_le_bytes) {
        Ok(VERSION) => Ok(()),
        version => Err(StoreError::Version(version.unwrap_or_default())),
    }
}

/// Writes a record. Returns its size in bytes.
pub(crate) fn write_record(
    output: &mut impl Write,
    kind: RecordKind,
    payload: &[u8],
) -> io::Result<u64> {
    let length = payload.len() as u64;
    if length > PAYLOAD_BYTES_MAX {
        return Err(io::Error::other("a record is larger than a gigabyte"));
    }
    let mut frame = [0; FRAME_BYTES as usize];
    frame[..8].copy_from_slice(&(kind as u64).to_le_bytes());
    frame[8..16].copy_from_slice(&length.to_le_bytes());
    frame[16..].copy_from_slice(&sum(kind as u64, payload).to_le_bytes());
    output.write_all(&frame)?;
    output.write_all(payload)?;
    Ok(FRAME_BYTES + length)
}

/// The checksum of a record.
fn sum(kind: u64, payload: &[u8]) -> u64 {
    let seed = (payload.len() as u64) << 8 | kind;
    XxHash3_64::oneshot_with_seed(seed, payload)
}

/// Corrects the checksums of the records in `bytes`, so that a test reaches the code behind them.
pub fn reseal(bytes: &mut [u8]) {
    let mut rest = bytes.get_mut(HEADER_BYTES as usize..).unwrap_or_default();
    while let Some((frame, after)) = rest.split_first_chunk_mut::<{ FRAME_BYTES as usize }>() {
        let number = |at: usize| {
            let bytes: [u8; 8] = std::array::from_fn(|byte| frame[at + byte]);
            u64::from_le_bytes(bytes)
        };
        let length = usize::try_from(number(8)).unwrap_or(usize::MAX).min(after.len());
        let (payload, next) = after.split_at_mut(length);
        let sum = sum(number(0), payload);
        frame[8..16].copy_from_slice(&(length as u64).to_le_bytes());
        frame[16..].copy_from_slice(&sum.to_le_bytes());
        rest = next;
    }
}

/// Reads the next record into `payload`. `None` at the end of the input. Also an error if the record
/// is not whole.
pub(crate) fn read_record(
    input: &mut impl Read,
    payload: &mut Vec<u8>,
) -> Result<Option<RecordKind>, Torn> {
    payload.clear();
    let mut frame = Vec::with_capacity(FRAME_BYTES as usize);
    input.by_ref().take(FRAME_BYTES).read_to_end(&mut frame)?;
    if frame.is_empty() {
        return Ok(None);
    }
    let number = |at: usize| {
        let bytes = frame.get(at..at + 8)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    let (Some(kind), Some(length), Some(expected)) = (number(0), number(8), number(16)) else {
        return Err(Torn::Record("it ends inside a record"));
    };
    if length > PAYLOAD_BYTES_MAX {
        return Err(Torn::Record("a record has an impossible length"));
    }
    // The room grows with what is read, so a wrong length allocates nothing.
    payload.reserve(usize::try_from(length).unwrap_or(usize::MAX).min(8 << 20));
    input.by_ref().take(length).read_to_end(payload)?;
    if payload.len() as u64 != length {
        return Err(Torn::Record("it ends inside a record"));
    }
    if sum(kind, payload) != expected {
        return Err(Torn::Record("a checksum is wrong"));
    }
    match kind {
        1 => Ok(Some(RecordKind::Part)),
        2 => Ok(Some(RecordKind::Commit)),
        _ => Err(Torn::Record("a record is of an unknown kind")),
    }
}

/// A record that could not be read to its end.
#[derive(Debug)]
pub(crate) enum Torn {
    Io(io::Error),
    Record(&'static str),
}

impl From<io::Error> for Torn {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        HEADER_BYTES, RecordKind, StoreError, read_header, read_record, write_header, write_record,
    };

    #[test]
    fn every_changed_bit_of_a_record_is_noticed() {
        let mut whole = Vec::new();
        write_record(&mut whole, RecordKind::Commit, b"some payload").unwrap();
        let mut payload = Vec::new();
        let read = read_record(&mut &whole[..], &mut payload).unwrap();
        assert_eq!((read, &payload[..]), (Some(RecordKind::Commit), &b"some payload"[..]));
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_record(&mut &damaged[..], &mut payload).is_err(), "{bit}");
        }
        for length in 1..whole.len() {
            assert!(read_record(&mut &whole[..length], &mut payload).is_err(), "{length}");
        }
        assert_eq!(read_record(&mut &whole[..0], &mut payload).unwrap(), None);
    }

    #[test]
    fn other_versions_and_other_files_are_told_apart() {
        let mut header = Vec::new();
        write_header(&mut header).unwrap();
        assert_eq!(header.len() as u64, HEADER_BYTES);
        assert!(read_header(&mut &header[..]).is_ok());
        header[8] = 9;
        assert!(matches!(read_header(&mut &header[..]), Err(StoreError::Version(9))));
        for other in [&b"192.0.2.1 - - ["[..], b"", b"WEIRDATA\x01\0\0\0"] {
            assert!(matches!(read_header(&mut &other[..]), Err(StoreError::NotADataSet)));
        }
    }
}
