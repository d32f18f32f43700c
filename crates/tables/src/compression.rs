//! Unpacks the pages.

use std::io::{self, Read};

use crate::error::TableError;

/// The codec of bytes that are not packed.
pub(crate) const PLAIN: i64 = 0;

/// Unpacks bytes of a page, which have to fill `unpacked` exactly. Nothing else takes memory that
/// depends on what the bytes say.
pub(crate) fn unpack(codec: i64, packed: &[u8], unpacked: &mut [u8]) -> Result<(), TableError> {
    let size = match codec {
        1 => snappy(packed, unpacked)?,
        2 => gzip(packed, unpacked)?,
        6 => zstd::bulk::Decompressor::new()?
            .decompress_to_buffer(packed, unpacked)
            .map_err(damaged)?,
        7 => lz4_flex::block::decompress_into(packed, unpacked).map_err(damaged)?,
        codec => return Err(TableError::refused(refusal(codec))),
    };
    match size == unpacked.len() {
        true => Ok(()),
        false => Err(other_size()),
    }
}

/// Why pages of a codec are not unpacked.
fn refusal(codec: i64) -> String {
    let name = match codec {
        3 => "LZO",
        4 => "Brotli",
        5 => "LZ4 as Hadoop writes it",
        _ => "an unknown method",
    };
    format!(
        "is compressed with {name}, which Weir does not unpack; write it again with Zstandard or Snappy"
    )
}

fn snappy(packed: &[u8], unpacked: &mut [u8]) -> Result<usize, TableError> {
    if snap::raw::decompress_len(packed).map_err(damaged)? != unpacked.len() {
        return Err(other_size());
    }
    snap::raw::Decoder::new().decompress(packed, unpacked).map_err(damaged)
}

fn gzip(packed: &[u8], unpacked: &mut [u8]) -> Result<usize, TableError> {
    let mut stream = flate2::read::MultiGzDecoder::new(packed);
    stream.read_exact(unpacked).map_err(damaged::<io::Error>)?;
    // The checksum comes after the last byte.
    let more = stream.read(&mut [0]).map_err(damaged::<io::Error>)?;
    Ok(unpacked.len() + more)
}

fn other_size() -> TableError {
    TableError::damaged("a page has another size than it states")
}

fn damaged<E: std::fmt::Display>(error: E) -> TableError {
    TableError::damaged(format_args!("a page cannot be unpacked ({error})"))
}
