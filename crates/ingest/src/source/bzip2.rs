//! bzip2 files, of one stream or several, decompressed from pushed bytes.

use std::io;

use super::decode::{Decode, ROOM_BYTES};

pub(super) struct Bzip2Decoder {
    decoder: bzip2::Decompress,
    /// Whether the decoder is before the first stream or after the end of one.
    is_between_streams: bool,
    /// Whether the output buffer was filled to its end, so that there may be more.
    has_more: bool,
}

impl Bzip2Decoder {
    pub(super) fn new() -> Self {
        Self { decoder: bzip2::Decompress::new(false), is_between_streams: true, has_more: false }
    }
}

impl Decode for Bzip2Decoder {
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        if self.is_between_streams {
            self.decoder = bzip2::Decompress::new(false);
            self.is_between_streams = false;
        }
        output.reserve(ROOM_BYTES);
        let before = self.decoder.total_in();
        let status = self.decoder.decompress_vec(bytes, output).map_err(io::Error::from)?;
        self.is_between_streams = status == bzip2::Status::StreamEnd;
        self.has_more = !self.is_between_streams && output.len() == output.capacity();
        Ok((self.decoder.total_in() - before) as usize)
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        match self.is_between_streams {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
