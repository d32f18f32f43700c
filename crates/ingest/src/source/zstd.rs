//! zstd frames (RFC 8878), decompressed by the library of their authors.

use std::io;

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer, WriteBuf};

use super::compression::ZSTD_WINDOW_LOG_MAX;
use super::decode::{Decode, DecodeInto, ROOM_BYTES, Step, too_much_memory};

/// The message of zstd for a window over the limit (`ZSTD_error_frameParameter_windowTooLarge`),
/// which has no I/O error kind of its own.
const WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// The length of the header of a block (RFC 8878, 3.1.1.2).
const BLOCK_HEADER_BYTES: usize = 3;

/// zstd's own streaming decoder, which keeps all output from before an error.
///
/// A call of the library that fails loses what it has written before. Each call here therefore
/// takes one part of a frame at most: a header, a block or a checksum.
pub(super) struct ZstdDecoder {
    decoder: Decoder<'static>,
    /// The length of the rest of the next part, plus that of the block header after it. 0 between
    /// frames.
    bytes_expected: usize,
    /// Whether the output buffer was filled to its end, so that there may be more.
    has_more: bool,
}

impl ZstdDecoder {
    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, bytes_expected: 0, has_more: false })
    }

    /// Decompresses the beginning of `bytes`, one part of a frame at most, and returns its length.
    /// Takes none while earlier bytes have more output.
    fn run<C: WriteBuf + ?Sized>(
        &mut self,
        bytes: &[u8],
        output: &mut OutBuffer<'_, C>,
    ) -> io::Result<usize> {
        let part_bytes = self.bytes_expected.saturating_sub(BLOCK_HEADER_BYTES).max(1);
        let length = if self.has_more { 0 } else { part_bytes.min(bytes.len()) };
        let (mut input, start) = (InBuffer::around(&bytes[..length]), output.pos());
        let run = self.decoder.run(&mut input, output);
        let bytes_expected = run.map_err(decode_error)?;
        // A call that makes no progress returns the hint for the next frame.
        if input.pos() > 0 || output.pos() > start {
            self.bytes_expected = bytes_expected;
        }
        self.has_more = output.pos() == output.capacity();
        Ok(input.pos())
    }
}

/// Converts an error of zstd, with its own kind if the window is too large.
fn decode_error(error: io::Error) -> io::Error {
    match error.to_string() == WINDOW_TOO_LARGE {
        true => too_much_memory(1 << ZSTD_WINDOW_LOG_MAX),
        false => error,
    }
}

impl Decode for ZstdDecoder {
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        output.reserve(ROOM_BYTES);
        let start = output.len();
        self.run(bytes, &mut OutBuffer::around_pos(output, start))
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        match self.bytes_expected {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl DecodeInto for ZstdDecoder {
    fn step_into(&mut self, bytes: &[u8], buffer: &mut [u8]) -> Step {
        let mut output = OutBuffer::around(buffer);
        let run = self.run(bytes, &mut output);
        let written = output.pos();
        match run {
            Ok(taken) => Step { taken, written, result: Ok(()) },
            Err(error) => Step { taken: 0, written, result: Err(error) },
        }
    }
}
