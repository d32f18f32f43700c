//! zstd frames (RFC 8878), decompressed by the library of their authors.

use std::io;

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::compression::ZSTD_WINDOW_LOG_MAX;
use super::decode::{Decompress, Step, check_end, too_much_memory};

/// The message of zstd for a window over the limit (`ZSTD_error_frameParameter_windowTooLarge`),
/// which has no I/O error kind of its own.
const WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// The length of the header of a block (RFC 8878, 3.1.1.2).
const BLOCK_HEADER_BYTES: usize = 3;

/// zstd's own streaming decoder.
///
/// A call of the library that fails loses what it has written before. Each call here therefore
/// takes one part of a frame at most: a header, a block or a checksum.
pub(super) struct ZstdDecoder {
    decoder: Decoder<'static>,
    /// The length of the rest of the next part, plus that of the block header after it. 0 between
    /// frames.
    bytes_expected: usize,
}

impl ZstdDecoder {
    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, bytes_expected: 0 })
    }
}

impl Decompress for ZstdDecoder {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let part_bytes = self.bytes_expected.saturating_sub(BLOCK_HEADER_BYTES).max(1);
        let mut part = InBuffer::around(&input[..part_bytes.min(input.len())]);
        let mut output = OutBuffer::around(output);
        let run = self.decoder.run(&mut part, &mut output);
        let (taken, written) = (part.pos(), output.pos());
        let result = run.map_err(decode_error).map(|bytes_expected| {
            // A call that makes no progress returns the hint for the next frame.
            if taken > 0 || written > 0 {
                self.bytes_expected = bytes_expected;
            }
        });
        Step { taken: if result.is_ok() { taken } else { 0 }, written, result }
    }

    fn end(&mut self) -> io::Result<()> {
        check_end(self.bytes_expected == 0)
    }
}

/// Converts an error of zstd, with its own kind if the window is too large.
fn decode_error(error: io::Error) -> io::Error {
    match error.to_string() == WINDOW_TOO_LARGE {
        true => too_much_memory(1 << ZSTD_WINDOW_LOG_MAX),
        false => error,
    }
}
