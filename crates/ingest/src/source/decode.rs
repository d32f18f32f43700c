//! The interface of decoders, and the loop that runs them.

use std::io;

/// A decoder that receives packed bytes. Each codec defines one step; [`Self::push`] repeats it.
pub(super) trait Decode {
    /// Takes the beginning of `bytes`, appends its decoded form to `output`, and returns its
    /// length. Called without bytes if earlier bytes have more output.
    ///
    /// # Errors
    /// If the data is damaged. The output from before the damage has been appended.
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize>;

    /// Takes the beginning of `piece` and returns its length. Appends to `output` until that holds
    /// `output_bytes`, which one step may exceed.
    ///
    /// # Errors
    /// If the data is damaged. The output from before the damage has been appended.
    fn push(
        &mut self,
        piece: &[u8],
        output: &mut Vec<u8>,
        output_bytes: usize,
    ) -> io::Result<usize> {
        let mut taken = 0;
        while output.len() < output_bytes && (taken < piece.len() || self.has_more()) {
            taken += self.step(&piece[taken..], output)?;
        }
        Ok(taken)
    }

    /// Whether the bytes taken so far have more output.
    fn has_more(&self) -> bool {
        false
    }

    /// Ends the input, and appends the output that was waiting for more of it. Fails if the input
    /// is truncated.
    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()>;
}

/// A decoder that can also write into a slice, which saves a copy of all output. It holds back no
/// output until the end.
pub(super) trait DecodeInto: Decode {
    /// Runs one step that writes to the start of `buffer`, which is not empty.
    fn step_into(&mut self, bytes: &[u8], buffer: &mut [u8]) -> Step;

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

/// Room for the output of one step, in bytes.
pub(super) const ROOM_BYTES: usize = 128 << 10;

/// Creates the error for valid data that needs more memory than is allowed.
pub(super) fn too_much_memory(bytes_max: u64) -> io::Error {
    let reason = format!("more than {} MiB of memory", bytes_max >> 20);
    io::Error::new(io::ErrorKind::OutOfMemory, reason)
}

/// Creates the error for invalid data.
pub(super) fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
