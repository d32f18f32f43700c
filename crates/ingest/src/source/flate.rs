//! gzip files (RFC 1952) and bare deflate data (RFC 1951), decompressed by zlib.

use std::io;

use flate2::{DecompressError, FlushDecompress, Status};

use super::decode::{Decompress, Step, check_end, damaged};

/// The base-2 logarithm of the longest distance of deflate (RFC 1951).
const WINDOW_BITS: u8 = 15;

/// Decompresses the members of a gzip file, or deflate data up to its end.
///
/// Zeros after a member, which fill a block of a tape, are ignored, as gzip(1) does.
pub(super) struct FlateDecoder {
    member: flate2::Decompress,
    /// Whether this is deflate data without headers and checksums, which ends with its last block.
    is_bare: bool,
    /// Whether the decoder is after the end of a member.
    is_between_members: bool,
}

impl FlateDecoder {
    pub(super) fn gzip() -> Self {
        let member = flate2::Decompress::new_gzip(WINDOW_BITS);
        Self { member, is_bare: false, is_between_members: false }
    }

    pub(super) fn bare() -> Self {
        let member = flate2::Decompress::new(false);
        Self { member, is_bare: true, is_between_members: false }
    }
}

impl Decompress for FlateDecoder {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        if self.is_between_members && !input.is_empty() {
            let zeros = input.iter().take_while(|byte| **byte == 0).count();
            if zeros > 0 {
                return Step { taken: zeros, written: 0, result: Ok(()) };
            }
            self.member = flate2::Decompress::new_gzip(WINDOW_BITS);
        }
        // zlib counts its output even if it fails.
        let (taken, written) = (self.member.total_in(), self.member.total_out());
        let status = self.member.decompress(input, output, FlushDecompress::None);
        self.is_between_members = matches!(status, Ok(Status::StreamEnd));
        Step {
            taken: (self.member.total_in() - taken) as usize,
            written: (self.member.total_out() - written) as usize,
            result: status.map(|_| ()).map_err(|error| decode_error(&error)),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        check_end(self.is_between_members)
    }

    fn is_finished(&self) -> bool {
        self.is_bare && self.is_between_members
    }
}

/// Converts an error of zlib, with its message if there is one.
fn decode_error(error: &DecompressError) -> io::Error {
    damaged(error.message().unwrap_or("its deflate data is not valid"))
}
