//! xz files (the .xz file format 1.2), of one stream or several.

use std::io;

use liblzma::stream::{Action, CONCATENATED, Error, Status, Stream};

use super::decode::{Decompress, Step, check_end, too_much_memory};

/// `xz -9` needs 65 MiB. A file that needs more than this limit is assumed to be malicious.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

pub(super) struct XzDecoder(Stream);

impl XzDecoder {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Stream::new_stream_decoder(MEMORY_BYTES_MAX, CONCATENATED)?))
    }
}

impl Decompress for XzDecoder {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (taken, written) = (self.0.total_in(), self.0.total_out());
        let status = self.0.process(input, output, Action::Run);
        Step {
            taken: (self.0.total_in() - taken) as usize,
            written: (self.0.total_out() - written) as usize,
            result: status.map(|_| ()).map_err(|error| match error {
                Error::MemLimit => too_much_memory(MEMORY_BYTES_MAX),
                error => error.into(),
            }),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        check_end(self.0.process(&[], &mut [], Action::Finish)? == Status::StreamEnd)
    }
}
