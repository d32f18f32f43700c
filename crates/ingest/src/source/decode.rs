//! The interface of decompressors.

use std::io;

/// A decompressor that compressed bytes are pushed to.
pub(super) trait Decode {
    /// Takes the beginning of `piece` and returns its length. Appends to `output` until that
    /// holds `output_bytes` or a little more.
    fn push(
        &mut self,
        piece: &[u8],
        output: &mut Vec<u8>,
        output_bytes: usize,
    ) -> io::Result<usize>;

    /// Whether the bytes taken so far have more output.
    fn has_more(&self) -> bool {
        false
    }

    /// Ends the input. Fails if it is truncated.
    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()>;
}
