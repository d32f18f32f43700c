//! zstd frames (RFC 8878), decompressed from pushed bytes or while a stream is read.

use std::io::{self, BufRead, Read};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer, WriteBuf};

use super::compression::ZSTD_WINDOW_LOG_MAX;
use super::decode::Decode;
use super::push::{ROOM_BYTES, too_much_memory};

/// The sentence of zstd for a window over the limit (`ZSTD_error_frameParameter_windowTooLarge`),
/// which has no code of its own.
const WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// The length of the header of a block (RFC 8878, 3.1.1.2).
const BLOCK_HEADER_BYTES: usize = 3;

/// zstd's own streaming decoder, which keeps all output from before an error.
///
/// A call of the library that fails loses what it has written before. Each call here therefore
/// takes one part of a frame at most: a header, a block or a checksum.
pub(super) struct ZstdDecoder {
    decoder: Decoder<'static>,
    /// The length of the rest of the part that comes next, and of the block header after it. 0
    /// between frames.
    bytes_expected: usize,
    /// The output buffer was filled to its end, so there may be more.
    has_more: bool,
}

impl ZstdDecoder {
    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, bytes_expected: 0, has_more: false })
    }

    /// Decompresses the beginning of `bytes`, one part of a frame at most, and returns its length.
    /// Takes none while there is more output of those before.
    fn step<C: WriteBuf + ?Sized>(
        &mut self,
        bytes: &[u8],
        output: &mut OutBuffer<'_, C>,
    ) -> io::Result<usize> {
        let part_bytes = self.bytes_expected.saturating_sub(BLOCK_HEADER_BYTES).max(1);
        let length = if self.has_more { 0 } else { part_bytes.min(bytes.len()) };
        let (mut input, start) = (InBuffer::around(&bytes[..length]), output.pos());
        let run = self.decoder.run(&mut input, output);
        let bytes_expected = run.map_err(named_error)?;
        // A call that makes no progress returns the hint for the next frame.
        if input.pos() > 0 || output.pos() > start {
            self.bytes_expected = bytes_expected;
        }
        self.has_more = output.pos() == output.capacity();
        Ok(input.pos())
    }

    /// Fails inside a frame.
    fn check_end(&self) -> io::Result<()> {
        match self.bytes_expected {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// An error of zstd, with a kind of its own if the window is too large.
fn named_error(error: io::Error) -> io::Error {
    match error.to_string() == WINDOW_TOO_LARGE {
        true => too_much_memory(1 << ZSTD_WINDOW_LOG_MAX),
        false => error,
    }
}

impl Decode for ZstdDecoder {
    fn push(
        &mut self,
        piece: &[u8],
        output: &mut Vec<u8>,
        output_bytes: usize,
    ) -> io::Result<usize> {
        let mut taken = 0;
        while output.len() < output_bytes && (taken < piece.len() || self.has_more) {
            output.reserve(ROOM_BYTES);
            let start = output.len();
            taken += self.step(&piece[taken..], &mut OutBuffer::around_pos(output, start))?;
        }
        Ok(taken)
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        self.check_end()
    }
}

/// Reads the frames of a stream.
pub(super) struct ZstdReader<R> {
    stream: R,
    decoder: ZstdDecoder,
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(stream: R) -> io::Result<Self> {
        Ok(Self { stream, decoder: ZstdDecoder::new()? })
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut output = OutBuffer::around(buffer);
        while output.pos() == 0 {
            // What the decoder has left is returned before the stream is read, which may wait.
            let bytes = if self.decoder.has_more { &[][..] } else { self.stream.fill_buf()? };
            if bytes.is_empty() && !self.decoder.has_more {
                self.decoder.check_end()?;
                return Ok(0);
            }
            let taken = self.decoder.step(bytes, &mut output)?;
            self.stream.consume(taken);
        }
        Ok(output.pos())
    }
}
