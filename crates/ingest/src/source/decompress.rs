//! Decompresses a stream while it is read.

use std::io::{self, BufRead, Read};

use super::compression::Compression;
use super::decode::DecodeInto;
use super::flate::FlateDecoder;
use super::packing::Packing;
use super::push::PushDecoder;
use super::zstd::ZstdDecoder;

/// Returns a reader that removes the outermost layer of a stream.
///
/// # Errors
/// If the decompression library cannot be set up.
pub(super) fn open_layer<'a>(
    packing: Packing,
    stream: impl BufRead + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Compression(Compression::Gzip) => {
            Box::new(DirectReader::new(stream, FlateDecoder::gzip()))
        }
        Packing::Compression(Compression::Zstd) => {
            Box::new(DirectReader::new(stream, ZstdDecoder::new()?))
        }
        other => {
            let decoder = PushDecoder::of(other)?;
            Box::new(DecoderReader { stream, decoder, returned: 0, is_finished: false })
        }
    })
}

/// Returns a reader of deflate data without headers, up to its end. The bytes after it stay in the
/// stream.
pub(super) fn inflate(stream: impl BufRead) -> impl Read {
    DirectReader::new(stream, FlateDecoder::bare())
}

/// Decodes a stream into the buffer of each read.
struct DirectReader<R, D> {
    stream: R,
    decoder: D,
    /// The error of the last step, if output from before it was returned first.
    damage: Option<io::Error>,
}

impl<R, D> DirectReader<R, D> {
    fn new(stream: R, decoder: D) -> Self {
        Self { stream, decoder, damage: None }
    }
}

impl<R: BufRead, D: DecodeInto> Read for DirectReader<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        while !buffer.is_empty() && !self.decoder.is_finished() {
            // Pending output is returned before the stream is read, because that may block.
            let has_more = self.decoder.has_more();
            let bytes = if has_more { &[][..] } else { self.stream.fill_buf()? };
            if bytes.is_empty() && !has_more {
                return self.decoder.finish(&mut Vec::new()).map(|()| 0);
            }
            let step = self.decoder.step_into(bytes, buffer);
            self.stream.consume(step.taken);
            if step.written > 0 {
                self.damage = step.result.err();
                return Ok(step.written);
            }
            step.result?;
        }
        Ok(0)
    }
}

/// Reads the output of a push decoder whose input is a stream.
struct DecoderReader<R> {
    stream: R,
    decoder: PushDecoder,
    /// The number of output bytes that were already returned.
    returned: usize,
    is_finished: bool,
}

impl<R: BufRead> DecoderReader<R> {
    /// Pushes until there is output. Returns false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.decoder.output().clear();
        self.returned = 0;
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
        if self.returned == self.decoder.output().len() && !self.fill_or_keep()? {
            return Ok(0);
        }
        let output = &self.decoder.output()[self.returned..];
        let length = output.len().min(buffer.len());
        buffer[..length].copy_from_slice(&output[..length]);
        self.returned += length;
        Ok(length)
    }
}

impl<R: BufRead> DecoderReader<R> {
    /// [`Self::fill`], but returns output from before an error first. The next read returns the
    /// error again, because a damaged decoder stays damaged.
    fn fill_or_keep(&mut self) -> io::Result<bool> {
        match self.fill() {
            Err(_) if !self.decoder.output().is_empty() => Ok(true),
            result => result,
        }
    }
}
