//! bzip2 files, of one stream or several.

use std::io;

use super::decode::{Decompress, Step, check_end};

pub(super) struct Bzip2Decoder {
    decoder: bzip2::Decompress,
    /// Whether the decoder is before the first stream or after the end of one.
    is_between_streams: bool,
}

impl Bzip2Decoder {
    pub(super) fn new() -> Self {
        Self { decoder: bzip2::Decompress::new(false), is_between_streams: true }
    }
}

impl Decompress for Bzip2Decoder {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        if self.is_between_streams {
            // The library refuses further calls at the end of a stream.
            if input.is_empty() {
                return Step { taken: 0, written: 0, result: Ok(()) };
            }
            self.decoder = bzip2::Decompress::new(false);
        }
        let (taken, written) = (self.decoder.total_in(), self.decoder.total_out());
        let status = self.decoder.decompress(input, output);
        self.is_between_streams = matches!(status, Ok(bzip2::Status::StreamEnd));
        Step {
            taken: (self.decoder.total_in() - taken) as usize,
            written: (self.decoder.total_out() - written) as usize,
            result: status.map(|_| ()).map_err(io::Error::from),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        check_end(self.is_between_streams)
    }
}
