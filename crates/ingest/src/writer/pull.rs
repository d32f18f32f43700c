//! Streams that the parsers read themselves.

use std::io::{self, Read};
use std::sync::mpsc::{Sender, channel};

use super::SourceWriter;
use crate::error::{ReadError, StopReason, StreamError};
use crate::queue::{Job, PullSource};

/// A stream, and the writer of its source.
struct PulledStream {
    /// `None` after the end was reported.
    writer: Option<SourceWriter>,
    stream: Box<dyn Read + Send>,
    end: Sender<(SourceWriter, Result<(), ReadError>)>,
}

impl SourceWriter {
    /// Lets the parsers read a stream to its end, and waits for that. Returns the writer, to
    /// [finish](Self::finish) it, and the result of reading.
    ///
    /// No block passes from one core to another, so this is the fastest way for a stream that never
    /// waits, such as a file. A stream that waits would block a parser.
    ///
    /// # Errors
    /// If the pipeline was cancelled.
    pub fn pull(
        self,
        stream: Box<dyn Read + Send>,
    ) -> Result<(Self, Result<(), ReadError>), StopReason> {
        let (sender, end) = channel();
        let queue = self.submitter.queue.clone();
        queue.add_pull_source(Box::new(PulledStream {
            writer: Some(self),
            stream,
            end: sender,
        }))?;
        end.recv().map_err(|_| StopReason::Cancelled)
    }
}

impl PullSource for PulledStream {
    fn pull(&mut self, buffer: Option<Vec<u8>>) -> Vec<Job> {
        let Some(writer) = &mut self.writer else { return Vec::new() };
        if let Some(buffer) = buffer {
            writer.assembler.cutter.move_to(buffer);
        }
        let result = match next_block(writer, &mut self.stream) {
            Ok(jobs) if !jobs.is_empty() => return jobs,
            result => result.map(|_| ()),
        };
        if let Some(writer) = self.writer.take() {
            // The receiver is dropped if its thread has stopped waiting.
            let _ = self.end.send((writer, result));
        }
        Vec::new()
    }
}

/// Reads until there is a block. Returns none at the end of the stream; the writer keeps the rest.
pub(super) fn next_block(
    writer: &mut SourceWriter,
    stream: &mut dyn Read,
) -> Result<Vec<Job>, ReadError> {
    loop {
        match stream.read(writer.space()) {
            Ok(0) => return Ok(Vec::new()),
            Ok(length) => writer.advance(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(ReadError::Stream(StreamError::of_read(&error, writer.offset())));
            }
        }
        if writer.is_full() {
            let jobs = writer.cut().map_err(ReadError::Stopped)?;
            if !jobs.is_empty() {
                return Ok(jobs);
            }
        }
    }
}
