//! Decompresses a stream while it is read.

use std::io::{self, BufRead, Read};

use super::compression::Compression;
use super::gzip::GzipReader;
use super::packing::Packing;
use super::push::PushDecoder;
use super::zstd::ZstdReader;

/// The bytes of a stream without its outermost layer.
///
/// # Errors
/// If the decompression library cannot be set up.
pub(super) fn unpacked<'a>(
    packing: Packing,
    stream: impl BufRead + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Compression(Compression::Gzip) => Box::new(GzipReader::new(stream)),
        Packing::Compression(Compression::Zstd) => Box::new(ZstdReader::new(stream)?),
        other => {
            let decoder = PushDecoder::of(other)?;
            Box::new(DecoderReader { stream, decoder, given: 0, is_finished: false })
        }
    })
}

/// Reads the output of a push decoder that is fed from a stream.
struct DecoderReader<R> {
    stream: R,
    decoder: PushDecoder,
    /// Bytes of the decoder's output that were already returned.
    given: usize,
    is_finished: bool,
}

impl<R: BufRead> DecoderReader<R> {
    /// Pushes until there is output. Returns false at the end.
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
                // Output from before the error is returned first.
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

impl<R: BufRead> Read for DecoderReader<R> {
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

impl<R: BufRead> DecoderReader<R> {
    /// The same as [`Self::fill`], but output from before an error is returned first. The next
    /// read returns the error again, because a damaged decoder stays damaged.
    fn fill_or_keep(&mut self) -> io::Result<bool> {
        match self.fill() {
            Err(_) if !self.decoder.output().is_empty() => Ok(true),
            result => result,
        }
    }
}
