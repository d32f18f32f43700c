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

/// Decompresses what is pushed to it. What it gives out waits inside until it is taken,
/// so push small pieces: a kilobyte of gzip can become a megabyte.
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
}

impl ZstdDecoder {
    const ROOM_BYTES: usize = 128 << 10;

    fn new() -> io::Result<Self> {
        let mut decoder = raw::Decoder::new()?;
        decoder.set_parameter(raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, output: Vec::new(), bytes_expected: 0 })
    }

    fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let mut input = raw::InBuffer::around(piece);
        loop {
            self.output.reserve(Self::ROOM_BYTES);
            let start = self.output.len();
            let mut output = raw::OutBuffer::around_pos(&mut self.output, start);
            self.bytes_expected = self.decoder.run(&mut input, &mut output)?;
            let is_full = output.pos() == output.capacity();
            if input.pos() == piece.len() && !is_full {
                return Ok(());
            }
        }
    }

    fn finish(&self) -> io::Result<()> {
        match self.bytes_expected {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl PushDecoder {
    /// Bytes to push at once, at the most: what comes of them is at most about 1,000 times
    /// as long.
    pub const PIECE_BYTES: usize = 4 << 10;

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

    /// Decompresses a piece; what it became is in [`Self::output`].
    ///
    /// # Errors
    /// Where the data is damaged.
    pub fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.decoder {
            Decoder::Gzip(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()
            }
            Decoder::Zstd(decoder) => decoder.push(piece),
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
