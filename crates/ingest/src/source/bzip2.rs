//! bzip2 files, of one stream or several, decompressed from pushed bytes.

use std::io;

use super::decode::{Decode, ROOM_BYTES};

pub(super) struct Bzip2Decoder {
    decoder: bzip2::Decompress,
    /// At the start of a stream, or after the end of one.
    is_between: bool,
    /// The output buffer was filled to its end, so there may be more.
    has_more: bool,
}

impl Bzip2Decoder {
    pub(super) fn new() -> Self {
        Self { decoder: bzip2::Decompress::new(false), is_between: true, has_more: false }
    }
}

impl Decode for Bzip2Decoder {
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        if self.is_between {
            self.decoder = bzip2::Decompress::new(false);
            self.is_between = false;
        }
        output.reserve(ROOM_BYTES);
        let before = self.decoder.total_in();
        let status = self.decoder.decompress_vec(bytes, output).map_err(io::Error::from)?;
        self.is_between = status == bzip2::Status::StreamEnd;
        self.has_more = !self.is_between && output.len() == output.capacity();
        Ok((self.decoder.total_in() - before) as usize)
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        match self.is_between {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
