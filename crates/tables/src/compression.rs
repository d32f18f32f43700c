//! Unpacks the pages.

use std::io::{self, Read};

use crate::error::TableError;

/// Unpacks bytes of a page, which have to become exactly `size` bytes.
pub(crate) fn unpack(codec: i64, packed: Vec<u8>, size: usize) -> Result<Vec<u8>, TableError> {
    let unpacked = match codec {
        0 => packed,
        1 => snappy(&packed, size)?,
        2 => read_to_end(flate2::read::MultiGzDecoder::new(&packed[..]), size)?,
        6 => read_to_end(zstd::stream::read::Decoder::new(&packed[..])?, size)?,
        7 => lz4_flex::block::decompress(&packed, size).map_err(damaged)?,
        codec => return Err(TableError::refused(refusal(codec))),
    };
    match unpacked.len() == size {
        true => Ok(unpacked),
        false => Err(TableError::damaged("a page has another size than it states")),
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

fn snappy(packed: &[u8], size: usize) -> Result<Vec<u8>, TableError> {
    if snap::raw::decompress_len(packed).map_err(damaged)? != size {
        return Err(TableError::damaged("a page has another size than it states"));
    }
    snap::raw::Decoder::new().decompress_vec(packed).map_err(damaged)
}

fn read_to_end(stream: impl Read, size: usize) -> Result<Vec<u8>, TableError> {
    let mut unpacked = Vec::with_capacity(size);
    stream.take(size as u64 + 1).read_to_end(&mut unpacked).map_err(damaged::<io::Error>)?;
    Ok(unpacked)
}

fn damaged<E: std::fmt::Display>(error: E) -> TableError {
    TableError::damaged(format_args!("a page cannot be unpacked ({error})"))
}
