//! A stream that the parsers read themselves.

use std::io::{self, Read};
use std::sync::mpsc::{Sender, channel};

use super::SourceWriter;
use crate::error::ReadError;
use crate::error::StopReason;
use crate::error::StreamError;
use crate::queue::{Job, PullSource};

/// A stream, and the writer of the source that it becomes.
struct PulledStream {
    /// `None` when the end is told.
    writer: Option<SourceWriter>,
    stream: Box<dyn Read + Send>,
    told: Sender<(SourceWriter, Result<(), ReadError>)>,
}

impl SourceWriter {
    /// Has the parsers read a stream to its end, and waits for that; gives back the writer, to
    /// [finish](Self::finish) it, and how the reading went. Nothing is handed from one core to
    /// another so, which makes it the fastest way for what can be read at any time, such as a
    /// file. A stream that makes its reader wait holds up a parser.
    ///
    /// # Errors
    /// Where the pipeline is gone.
    pub fn fetch(
        self,
        stream: Box<dyn Read + Send>,
    ) -> Result<(Self, Result<(), ReadError>), StopReason> {
        let (told, end) = channel();
        let queue = self.queue().clone();
        queue.add_pull_source(Box::new(PulledStream { writer: Some(self), stream, told }))?;
        end.recv().map_err(|_| StopReason::Cancelled)
    }
}

impl PullSource for PulledStream {
    fn pull(&mut self, buffer: Option<Vec<u8>>) -> Vec<Job> {
        let Some(writer) = &mut self.writer else { return Vec::new() };
        if let Some(buffer) = buffer {
            writer.move_to(buffer);
        }
        let result = match next_block(writer, &mut self.stream) {
            Ok(jobs) if !jobs.is_empty() => return jobs,
            result => result.map(|_| ()),
        };
        if let Some(writer) = self.writer.take() {
            // Whoever waits for it may have given up.
            let _ = self.told.send((writer, result));
        }
        Vec::new()
    }
}

/// Reads until there is a block; none at the stream's end, where the writer keeps the rest.
fn next_block(writer: &mut SourceWriter, stream: &mut dyn Read) -> Result<Vec<Job>, ReadError> {
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
