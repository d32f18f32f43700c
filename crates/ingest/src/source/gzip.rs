//! gzip files (RFC 1952), decompressed from pushed bytes or while a stream is read.

use std::io::{self, BufRead, Read};

use flate2::{Decompress, DecompressError, FlushDecompress, Status};

use super::decode::Decode;
use super::push::ROOM_BYTES;

/// The base-2 logarithm of the longest distance of deflate (RFC 1951).
const WINDOW_BITS: u8 = 15;

/// Decompresses the members of a file, and keeps all output from before an error.
///
/// Zeros after a member, which fill a block of a tape, are ignored, as gzip(1) does.
pub(super) struct GzipDecoder {
    member: Decompress,
    /// After the end of a member.
    is_between: bool,
    /// The output buffer was filled to its end, so there may be more.
    has_more: bool,
}

/// What one call of zlib has done.
struct Step {
    /// The length of the input that it took.
    taken: usize,
    /// The length of the output, also of a call that failed.
    written: usize,
    result: io::Result<()>,
}

impl GzipDecoder {
    pub(super) fn new() -> Self {
        Self { member: Decompress::new_gzip(WINDOW_BITS), is_between: false, has_more: false }
    }

    /// Decompresses the beginning of `bytes` with one call of `run`.
    fn step(
        &mut self,
        bytes: &[u8],
        run: impl FnOnce(&mut Decompress, &[u8]) -> Result<Status, DecompressError>,
    ) -> Step {
        if self.is_between {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            if zeros > 0 {
                return Step { taken: zeros, written: 0, result: Ok(()) };
            }
            self.member = Decompress::new_gzip(WINDOW_BITS);
            self.is_between = false;
        }
        let (taken, written) = (self.member.total_in(), self.member.total_out());
        let status = run(&mut self.member, bytes);
        self.is_between = matches!(status, Ok(Status::StreamEnd));
        Step {
            taken: (self.member.total_in() - taken) as usize,
            written: (self.member.total_out() - written) as usize,
            result: status.map(|_| ()).map_err(named_error),
        }
    }

    /// Fails inside a member.
    fn check_end(&self) -> io::Result<()> {
        match self.is_between {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// An error in the words of zlib.
fn named_error(error: DecompressError) -> io::Error {
    let reason = error.message().unwrap_or("its deflate data is not valid");
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

impl Decode for GzipDecoder {
    fn push(
        &mut self,
        piece: &[u8],
        output: &mut Vec<u8>,
        output_bytes: usize,
    ) -> io::Result<usize> {
        let mut taken = 0;
        while output.len() < output_bytes && (taken < piece.len() || self.has_more) {
            output.reserve(ROOM_BYTES);
            let step = self.step(&piece[taken..], |member, bytes| {
                member.decompress_vec(bytes, output, FlushDecompress::None)
            });
            step.result?;
            taken += step.taken;
            self.has_more = !self.is_between && output.len() == output.capacity();
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

/// Reads the members of a stream.
pub(super) struct GzipReader<R> {
    stream: R,
    decoder: GzipDecoder,
    /// The error of the last step, if output from before it was returned first.
    damage: Option<io::Error>,
}

impl<R: BufRead> GzipReader<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, decoder: GzipDecoder::new(), damage: None }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        while !buffer.is_empty() {
            // What the decoder has left is returned before the stream is read, which may wait.
            let bytes = if self.decoder.has_more { &[][..] } else { self.stream.fill_buf()? };
            if bytes.is_empty() && !self.decoder.has_more {
                return self.decoder.check_end().map(|()| 0);
            }
            let step = self.decoder.step(bytes, |member, bytes| {
                member.decompress(bytes, buffer, FlushDecompress::None)
            });
            self.stream.consume(step.taken);
            self.decoder.has_more = !self.decoder.is_between && step.written == buffer.len();
            if step.written > 0 {
                self.damage = step.result.err();
                return Ok(step.written);
            }
            step.result?;
        }
        Ok(0)
    }
}
