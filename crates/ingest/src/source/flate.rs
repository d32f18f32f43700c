//! gzip files (RFC 1952) and bare deflate data (RFC 1951), decompressed by zlib.

use std::io;

use flate2::{Decompress, DecompressError, FlushDecompress, Status};

use super::decode::{Decode, DecodeInto, ROOM_BYTES, Step, damaged};

/// The base-2 logarithm of the longest distance of deflate (RFC 1951).
const WINDOW_BITS: u8 = 15;

/// Decompresses the members of a gzip file, or deflate data up to its end. Keeps all output from
/// before an error.
///
/// Zeros after a member, which fill a block of a tape, are ignored, as gzip(1) does.
pub(super) struct FlateDecoder {
    member: Decompress,
    /// Whether this is deflate data without headers and checksums, which ends with its last block.
    is_bare: bool,
    /// Whether the decoder is after the end of a member.
    is_between_members: bool,
    /// Whether the output buffer was filled to its end, so that there may be more.
    has_more: bool,
}

impl FlateDecoder {
    pub(super) fn gzip() -> Self {
        Self::around(Decompress::new_gzip(WINDOW_BITS), false)
    }

    pub(super) fn bare() -> Self {
        Self::around(Decompress::new(false), true)
    }

    fn around(member: Decompress, is_bare: bool) -> Self {
        Self { member, is_bare, is_between_members: false, has_more: false }
    }

    /// Decompresses the beginning of `bytes` into `room` bytes. `run` calls zlib once; zlib counts
    /// its output even if it fails.
    fn run(
        &mut self,
        bytes: &[u8],
        room: usize,
        run: impl FnOnce(&mut Decompress, &[u8]) -> Result<Status, DecompressError>,
    ) -> Step {
        if self.is_between_members && !self.is_bare {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            if zeros > 0 {
                return Step { taken: zeros, written: 0, result: Ok(()) };
            }
            self.member = Decompress::new_gzip(WINDOW_BITS);
            self.is_between_members = false;
        }
        let (taken, written) = (self.member.total_in(), self.member.total_out());
        let status = run(&mut self.member, bytes);
        let taken = (self.member.total_in() - taken) as usize;
        let written = (self.member.total_out() - written) as usize;
        self.is_between_members = matches!(status, Ok(Status::StreamEnd));
        self.has_more = !self.is_between_members && written == room;
        Step { taken, written, result: status.map(|_| ()).map_err(|error| decode_error(&error)) }
    }
}

/// Converts an error of zlib, with its message if there is one.
fn decode_error(error: &DecompressError) -> io::Error {
    damaged(error.message().unwrap_or("its deflate data is not valid"))
}

impl Decode for FlateDecoder {
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        output.reserve(ROOM_BYTES);
        let room = output.capacity() - output.len();
        let step = self.run(bytes, room, |member, bytes| {
            member.decompress_vec(bytes, output, FlushDecompress::None)
        });
        step.result.map(|()| step.taken)
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        match self.is_between_members {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl DecodeInto for FlateDecoder {
    fn step_into(&mut self, bytes: &[u8], buffer: &mut [u8]) -> Step {
        self.run(bytes, buffer.len(), |member, bytes| {
            member.decompress(bytes, buffer, FlushDecompress::None)
        })
    }

    fn is_finished(&self) -> bool {
        self.is_bare && self.is_between_members
    }
}
