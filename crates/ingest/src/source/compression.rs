//! Compressed sources, told by their first bytes.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use zstd::stream::raw::{self, Operation};

/// How a source is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952), of one member or several.
    Gzip,
    /// Zstandard (RFC 8878), of one frame or several.
    Zstd,
}

/// Bytes needed to tell a compression.
pub(crate) const MAGIC_BYTES: usize = 4;

/// A zstd frame may ask for a window of any size; 128 MiB is what the zstd tool accepts
/// without being told otherwise.
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// How the source with these first bytes is compressed; `None` where it is not.
pub fn compression_of(first_bytes: &[u8]) -> Option<Compression> {
    match first_bytes {
        [0x1F, 0x8B, 0x08, ..] => Some(Compression::Gzip),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Compression::Zstd),
        // A skippable frame may come first.
        [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
        _ => None,
    }
}

/// Decompresses what is pushed to it, as far as there is room for what comes out: a few
/// bytes can become gigabytes.
///
/// ```
/// # use weir_ingest::{Compression, PushDecoder};
/// # fn decompress(packed: &[u8]) -> std::io::Result<Vec<u8>> {
/// let mut decoder = PushDecoder::new(Compression::Zstd)?;
/// let (mut rest, mut whole) = (packed, Vec::new());
/// while !rest.is_empty() || decoder.has_more() {
///     rest = &rest[decoder.push_some(rest)?..];
///     whole.append(decoder.output());
/// }
/// decoder.finish()?;
/// whole.append(decoder.output());
/// # Ok(whole)
/// # }
/// ```
pub struct PushDecoder {
    decoder: Decoder,
}

enum Decoder {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Zstd(ZstdDecoder),
}

/// zstd's own streaming decoder, with what tells whether a frame is complete.
struct ZstdDecoder {
    decoder: raw::Decoder<'static>,
    output: Vec<u8>,
    /// 0 between frames.
    bytes_expected: usize,
    /// The output was filled to its end, so that there may be more.
    has_more: bool,
}

impl ZstdDecoder {
    const ROOM_BYTES: usize = 128 << 10;

    fn new() -> io::Result<Self> {
        let mut decoder = raw::Decoder::new()?;
        decoder.set_parameter(raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, output: Vec::new(), bytes_expected: 0, has_more: false })
    }

    fn push(&mut self, piece: &[u8], output_bytes: usize) -> io::Result<usize> {
        let mut input = raw::InBuffer::around(piece);
        while self.output.len() < output_bytes {
            self.output.reserve(Self::ROOM_BYTES);
            let (taken, start) = (input.pos(), self.output.len());
            let mut output = raw::OutBuffer::around_pos(&mut self.output, start);
            let bytes_expected = self.decoder.run(&mut input, &mut output)?;
            // Asked for more where there is none, the decoder speaks of the next frame.
            if input.pos() > taken || output.pos() > start {
                self.bytes_expected = bytes_expected;
            }
            self.has_more = output.pos() == output.capacity();
            if input.pos() == piece.len() && !self.has_more {
                break;
            }
        }
        Ok(input.pos())
    }

    fn finish(&self) -> io::Result<()> {
        match self.bytes_expected {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl PushDecoder {
    /// Bytes that are taken at once, at the most: what comes of them is at most about 1,000
    /// times as long for gzip.
    const PIECE_BYTES: usize = 4 << 10;

    /// No more is decompressed while so much waits in [`Self::output`].
    const OUTPUT_BYTES: usize = 1 << 20;

    /// A decoder at the start of a source.
    ///
    /// # Errors
    /// Where the library cannot be set up.
    pub fn new(compression: Compression) -> io::Result<Self> {
        let decoder = match compression {
            Compression::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            Compression::Zstd => Decoder::Zstd(ZstdDecoder::new()?),
        };
        Ok(Self { decoder })
    }

    /// Decompresses all of a piece, which had better be small: the output can be 32,000 times
    /// as long. [`Self::push_some`] has a bound.
    ///
    /// # Errors
    /// Where the data is damaged. What came out before is in the output.
    pub fn push(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() || self.has_more() {
            piece = &piece[self.push_within(piece, usize::MAX)?..];
        }
        Ok(())
    }

    /// Decompresses the beginning of `bytes` and says how many that were; what they became is
    /// added to [`Self::output`], which never grows beyond a few MiB if it is emptied after
    /// each call.
    ///
    /// # Errors
    /// Where the data is damaged. What came out before is in the output.
    pub fn push_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push_within(bytes, Self::OUTPUT_BYTES)
    }

    fn push_within(&mut self, bytes: &[u8], output_bytes: usize) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(Self::PIECE_BYTES)];
        match &mut self.decoder {
            Decoder::Gzip(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                Ok(piece.len())
            }
            Decoder::Zstd(decoder) => decoder.push(piece, output_bytes),
        }
    }

    /// True where more comes of the bytes that were taken already: push again, if only an
    /// empty slice, when the output is emptied.
    pub fn has_more(&self) -> bool {
        match &self.decoder {
            Decoder::Gzip(_) => false,
            Decoder::Zstd(decoder) => decoder.has_more,
        }
    }

    /// Ends the source.
    ///
    /// # Errors
    /// Where the data is cut short.
    pub fn finish(&mut self) -> io::Result<()> {
        match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Zstd(decoder) => decoder.finish(),
        }
    }

    /// What came out and was not taken yet; empty it.
    pub fn output(&mut self) -> &mut Vec<u8> {
        match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Zstd(decoder) => &mut decoder.output,
        }
    }
}

impl std::fmt::Debug for PushDecoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.decoder {
            Decoder::Gzip(_) => "gzip",
            Decoder::Zstd(_) => "zstd",
        };
        formatter.debug_tuple("PushDecoder").field(&name).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{Compression, PushDecoder};

    #[test]
    fn a_bomb_goes_off_bit_by_bit() {
        let bytes = 200 << 20;
        let bomb = zstd::encode_all(std::io::repeat(0).take(bytes), 19).expect("memory");
        assert!(bomb.len() < 40_000);
        let mut decoder = PushDecoder::new(Compression::Zstd).expect("a decoder");
        let (mut rest, mut length) = (&bomb[..], 0);
        while !rest.is_empty() || decoder.has_more() {
            rest = &rest[decoder.push_some(rest).expect("it is sound")..];
            assert!(decoder.output().len() <= 2 << 20);
            length += decoder.output().len() as u64;
            decoder.output().clear();
        }
        decoder.finish().expect("it is whole");
        assert_eq!(length, bytes);
    }
}
