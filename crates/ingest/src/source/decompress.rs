//! Decodes a stream while it is read.

use std::io::{self, BufRead, Read};

use super::bzip2::Bzip2Decoder;
use super::compression::Compression;
use super::cri::CriDecoder;
use super::decode::{Decode, Decompress};
use super::flate::FlateDecoder;
use super::json_records::JsonRecordsDecoder;
use super::lz4::Lz4Decoder;
use super::packing::Packing;
use super::query_answer::AnswerDecoder;
use super::utf16::Utf16Decoder;
use super::xz::XzDecoder;
use super::zstd::ZstdDecoder;

/// Returns a reader that removes the outermost layer of a stream. It returns all output from before
/// an error.
///
/// # Errors
/// If the decompression library cannot be set up.
pub(super) fn open_layer<'a>(
    packing: Packing,
    stream: impl BufRead + 'a,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Compression(Compression::Gzip) => {
            Box::new(Decompressor::new(stream, FlateDecoder::gzip()))
        }
        Packing::Compression(Compression::Zstd) => {
            Box::new(Decompressor::new(stream, ZstdDecoder::new()?))
        }
        Packing::Compression(Compression::Bzip2) => {
            Box::new(Decompressor::new(stream, Bzip2Decoder::new()))
        }
        Packing::Compression(Compression::Xz) => {
            Box::new(Decompressor::new(stream, XzDecoder::new()?))
        }
        Packing::Compression(Compression::Lz4) => {
            Box::new(DecoderReader::new(stream, Lz4Decoder::new()))
        }
        Packing::Utf16(order) => Box::new(DecoderReader::new(stream, Utf16Decoder::new(order))),
        Packing::Cri => Box::new(DecoderReader::new(stream, CriDecoder::default())),
        Packing::JsonRecords(arrangement) => {
            Box::new(DecoderReader::new(stream, JsonRecordsDecoder::new(arrangement)))
        }
        Packing::Answer(answer) => Box::new(DecoderReader::new(stream, AnswerDecoder::new(answer))),
    })
}

/// Returns a reader of deflate data without headers, up to its end. The bytes after it stay in the
/// stream.
pub(super) fn inflate(stream: impl BufRead) -> impl Read {
    Decompressor::new(stream, FlateDecoder::bare())
}

/// Decompresses a stream into the buffer of each read.
struct Decompressor<R, D> {
    stream: R,
    decoder: D,
    /// Whether the last step has filled its output.
    may_have_more: bool,
    /// The error of the last step, if output from before it was returned first.
    damage: Option<io::Error>,
}

impl<R, D> Decompressor<R, D> {
    fn new(stream: R, decoder: D) -> Self {
        Self { stream, decoder, may_have_more: false, damage: None }
    }
}

impl<R: BufRead, D: Decompress> Read for Decompressor<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        while !buffer.is_empty() && !self.decoder.is_finished() {
            // Pending output is returned before the stream is read, because that may block.
            let input = if self.may_have_more { &[][..] } else { self.stream.fill_buf()? };
            if input.is_empty() && !self.may_have_more {
                return self.decoder.end().map(|()| 0);
            }
            let step = self.decoder.step(input, buffer);
            self.stream.consume(step.taken);
            self.may_have_more = step.written == buffer.len();
            if step.written > 0 {
                self.damage = step.result.err();
                return Ok(step.written);
            }
            step.result?;
        }
        Ok(0)
    }
}

/// Reads the output of a decoder whose input is a stream.
struct DecoderReader<R, D> {
    stream: R,
    decoder: D,
    output: Vec<u8>,
    /// The number of output bytes that were already returned.
    returned: usize,
    /// Whether the stream has ended, or its data is damaged.
    has_ended: bool,
    /// The error that follows the output.
    damage: Option<io::Error>,
}

impl<R: BufRead, D: Decode> DecoderReader<R, D> {
    fn new(stream: R, decoder: D) -> Self {
        let output = Vec::new();
        Self { stream, decoder, output, returned: 0, has_ended: false, damage: None }
    }

    /// Decodes the next piece of the stream, or its end.
    fn fill(&mut self) -> io::Result<()> {
        let input = self.stream.fill_buf()?;
        self.output.clear();
        self.returned = 0;
        self.has_ended = input.is_empty();
        let decoded = match self.has_ended {
            true => self.decoder.finish(&mut self.output).map(|()| 0),
            false => self.decoder.push(input, &mut self.output),
        };
        match decoded {
            Ok(taken) => self.stream.consume(taken),
            Err(damage) => (self.has_ended, self.damage) = (true, Some(damage)),
        }
        Ok(())
    }
}

impl<R: BufRead, D: Decode> Read for DecoderReader<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.returned == self.output.len() {
            if let Some(damage) = self.damage.take() {
                return Err(damage);
            }
            if self.has_ended {
                return Ok(0);
            }
            self.fill()?;
        }
        let length = (&self.output[self.returned..]).read(buffer)?;
        self.returned += length;
        Ok(length)
    }
}
