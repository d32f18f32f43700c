//! The interfaces of decoders; `decompress` reads streams through them.

use std::io;

/// A decoder of compressed data, which writes into the buffer of its reader.
///
/// The readers of the decompression libraries are not used: if a call fails, they lose the output
/// that it has made, and with it the lines before the damage.
pub(super) trait Decompress {
    /// Decompresses the beginning of `input` to the beginning of `output`, which is not empty.
    /// `input` is empty if the last step has filled its output, so that there may be more.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step;

    /// Ends the input. Fails if it is truncated.
    fn end(&mut self) -> io::Result<()>;

    /// Whether the data has marked its end, so that the following bytes are not part of it.
    fn is_finished(&self) -> bool {
        false
    }
}

/// The result of one step of a decoder.
pub(super) struct Step {
    /// The length of the input that was taken.
    pub(super) taken: usize,
    /// The length of the output, even if the step failed.
    pub(super) written: usize,
    pub(super) result: io::Result<()>,
}

/// A decoder whose output does not depend on the room for it, and is less than a few MiB for each
/// piece of input.
pub(super) trait Decode {
    /// Takes the beginning of `input`, appends its decoded form to `output`, and returns its
    /// length.
    ///
    /// # Errors
    /// If the data is damaged. The output from before the damage has been appended.
    fn push(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize>;

    /// Ends the input, and appends the output that was waiting for more of it. Fails if the input
    /// is truncated.
    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()>;
}

/// Returns an error unless the input may end where it ends.
pub(super) fn check_end(may_end: bool) -> io::Result<()> {
    if may_end { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Creates the error for valid data that needs more memory than is allowed.
pub(super) fn too_much_memory(bytes_max: u64) -> io::Error {
    let reason = format!("more than {} MiB of memory", bytes_max >> 20);
    io::Error::new(io::ErrorKind::OutOfMemory, reason)
}

/// Creates the error for invalid data.
pub(super) fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
