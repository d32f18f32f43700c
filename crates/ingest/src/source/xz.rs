//! xz files (the .xz file format 1.2), of one stream or several, decompressed from pushed bytes.

use std::io;

use liblzma::stream::{Action, CONCATENATED, Error, Status, Stream};

use super::decode::{Decode, ROOM_BYTES, too_much_memory};

/// `xz -9` needs 65 MiB. A file that needs more than this limit is assumed to be malicious.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

pub(super) struct XzDecoder {
    stream: Stream,
    /// Whether the output buffer was filled to its end, so that there may be more.
    has_more: bool,
}

impl XzDecoder {
    pub(super) fn new() -> io::Result<Self> {
        let stream = Stream::new_stream_decoder(MEMORY_BYTES_MAX, CONCATENATED);
        Ok(Self { stream: stream.map_err(io::Error::from)?, has_more: false })
    }

    fn run(&mut self, bytes: &[u8], output: &mut Vec<u8>, action: Action) -> io::Result<Status> {
        output.reserve(ROOM_BYTES);
        let status = self.stream.process_vec(bytes, output, action);
        self.has_more = output.len() == output.capacity();
        status.map_err(|error| match error {
            Error::MemLimit => too_much_memory(MEMORY_BYTES_MAX),
            error => error.into(),
        })
    }
}

impl Decode for XzDecoder {
    fn step(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        let before = self.stream.total_in();
        self.run(bytes, output, Action::Run)?;
        Ok((self.stream.total_in() - before) as usize)
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let before = output.len();
            match self.run(&[], output, Action::Finish)? {
                Status::StreamEnd => return Ok(()),
                _ if output.len() > before => {}
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}
