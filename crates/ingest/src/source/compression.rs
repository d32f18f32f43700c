//! Compressed sources, told by their first bytes.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use super::push::PushDecoder;

/// How a source is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952), of one member or several.
    Gzip,
    /// Zstandard (RFC 8878), of one frame or several.
    Zstd,
    /// bzip2, of one stream or several.
    Bzip2,
    /// xz (the .xz file format 1.2), of one stream or several.
    Xz,
    /// LZ4 frames (lz4_Frame_format.md 1.6), one or several.
    Lz4,
}

/// Bytes needed to tell a compression.
pub(crate) const MAGIC_BYTES: usize = 4;

/// A zstd frame may ask for a window of any size; 128 MiB is what the zstd tool accepts
/// without being told otherwise.
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 27;

impl Compression {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
        }
    }
}

/// How the source with these first bytes is compressed; `None` where it is not.
pub fn compression_of(first_bytes: &[u8]) -> Option<Compression> {
    match first_bytes {
        [0x1F, 0x8B, 0x08, ..] => Some(Compression::Gzip),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Compression::Zstd),
        // A skippable frame may come first. LZ4 has the same ones, but nothing writes them in
        // front.
        [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Compression::Bzip2),
        [0xFD, b'7', b'z', b'X', ..] => Some(Compression::Xz),
        [0x04, 0x22, 0x4D, 0x18, ..] => Some(Compression::Lz4),
        _ => None,
    }
}

/// The decompressed bytes of a stream.
///
/// # Errors
/// Where the library cannot be set up.
pub(super) fn decompressed<'a>(
    compression: Compression,
    stream: impl BufRead + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(stream)),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(stream)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
        Compression::Bzip2 | Compression::Xz | Compression::Lz4 => {
            let decoder = PushDecoder::new(compression)?;
            Box::new(PushedRead { stream, decoder, given: 0, is_finished: false })
        }
    })
}

/// Reads what a push decoder makes of a stream.
struct PushedRead<R> {
    stream: R,
    decoder: PushDecoder,
    /// Bytes of the decoder's output that were read.
    given: usize,
    is_finished: bool,
}

impl<R: BufRead> PushedRead<R> {
    /// Pushes until there is output; false where none will come any more.
    fn fill(&mut self) -> io::Result<bool> {
        self.decoder.output().clear();
        self.given = 0;
        while self.decoder.output().is_empty() {
            if self.is_finished {
                return Ok(false);
            }
            let piece = self.stream.fill_buf()?;
            if piece.is_empty() && !self.decoder.has_more() {
                self.is_finished = true;
                // What came out at the end is given before the error.
                if let Err(error) = self.decoder.finish() {
                    self.is_finished = false;
                    return Err(error);
                }
                continue;
            }
            let length = self.decoder.push_some(piece)?;
            self.stream.consume(length);
        }
        Ok(true)
    }
}

impl<R: BufRead> Read for PushedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.decoder.output().len() && !self.fill_or_keep()? {
            return Ok(0);
        }
        let output = &self.decoder.output()[self.given..];
        let length = output.len().min(buffer.len());
        buffer[..length].copy_from_slice(&output[..length]);
        self.given += length;
        Ok(length)
    }
}

impl<R: BufRead> PushedRead<R> {
    /// As [`Self::fill`], where what came out before an error is given first: the error
    /// comes again with the next read, for a damaged decoder stays damaged.
    fn fill_or_keep(&mut self) -> io::Result<bool> {
        match self.fill() {
            Err(_) if !self.decoder.output().is_empty() => Ok(true),
            result => result,
        }
    }
}
